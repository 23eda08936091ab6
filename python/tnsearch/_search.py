"""Searching: the smallest network for a tensor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._core import Engine, strategy_options
from ._data import Shape, Split, data_options
from ._keywords import known_options, unexpected
from ._progress import Progress
from ._result import Result, result_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

# Seconds between two looks for signals.
TICK = 0.1


def given(**values: Any) -> dict[str, Any]:
    """Those that are not None: the rest is left to the library."""
    return {name: value for name, value in values.items() if value is not None}


def search(
    X: ArrayLike,
    *,
    max_re: float | None = None,
    max_rse: float | None = None,
    max_params: int | None = None,
    lambda_: float | None = None,
    loss: str | None = None,
    max_loss: float | None = None,
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    max_rank: int | None = None,
    strategy: str = "auto",
    runs: int = 1,
    seed: int = 0,
    prune: bool = True,
    shrink: bool = True,
    direct: bool = True,
    certificate_nodes: int | None = None,
    fit: str | None = None,
    restarts: int | None = None,
    scouts: int | None = None,
    max_sweeps: int | None = None,
    tolerance: float | None = None,
    stop_rse: float | None = None,
    carry: bool = False,
    learning_rate: float | None = None,
    sigma: float | None = None,
    rescue: int | None = None,
    max_phi: float | None = None,
    max_cost: float | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    max_memory: int | str | None = None,
    dtype: DTypeLike | str | None = None,
    mask: ArrayLike | None = None,
    nan_missing: bool = False,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    journal: str | os.PathLike[str] | None = None,
    resume: bool = False,
    front: bool = False,
    callback: Callable[[dict[str, Any]], bool | None] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Find the smallest network for a tensor.

    Parameters
    ----------
    X
        The tensor: a NumPy array of any dtype, strides and order, or anything with ``__dlpack__`` or ``__array__``
        (PyTorch, JAX). Arrays of float64 or complex128 in C order are not copied; do not change them meanwhile.
    max_re, max_rse, max_params, lambda_
        What is looked for, one of: the fewest params with a relative error of at most ``max_re`` (the default, 0.01),
        the same by its square, the smallest error with at most so many params, or the least ``phi + lambda_ * rse``.
    loss, max_loss
        Another loss than the squared error (``"kl"``, ``"poisson"``, ``"huber:0.5"``), and the largest error by it.
    template
        The format: ``"ring"``, ``"path"``, ``"tree"``, ``"peps:2x3"``, ``"any-tree"``, ``"any"``, ..., a graph as
        ``{"vertices": ..., "edges": ...}``, or a JSON file with one. Without one several formats are tried.
    max_rank
        The largest rank of an edge.
    strategy, **options
        How structures are proposed (``"tnls"``, ``"tnale"``, ``"greedy"``, ``"exact"``, ...) and the options of that
        strategy, such as ``samples=60``.
    runs, seed
        Independent runs; same seed, same data, same settings: the same result, bit for bit, at any number of workers.
    prune, shrink, direct, certificate_nodes
        Parts of the search that can be switched off, as on the command line.
    fit, restarts, scouts, max_sweeps, tolerance, stop_rse, carry, learning_rate, sigma, rescue
        How structures are fitted: ``"als"``, ``"adam"`` or ``"lm"``, and the settings of that.
    max_phi, max_cost, max_evaluations, max_seconds, threads, max_memory
        What it may use.
    dtype
        Compute with ``"f32"``, ``"f64"``, ``"complex64"`` or ``"complex128"``.
    mask, nan_missing
        Which entries are known (an array of bool), or that NaN marks those that are not; see also
        :func:`tnsearch.complete`.
    split, reshape, column_major
        Take the tensor in another shape: modes split into factors (``"auto"``, ``4``, ``[(4, 4), 8]``), or a shape of as
        many entries.
    journal, resume
        Keep a record of every evaluation in this file, and go on from it. The command line reads the same files.
    front
        Whether the networks along the Pareto front are returned, too.
    callback
        Called with a dict for every evaluation (``event="evaluated"``) and generation (``event="generation"``), in the
        order of asking; the search ends with the best so far where it returns True.
    progress
        Whether a line of progress is shown; by default in terminals and notebooks.

    Returns
    -------
    Result
        With ``params``, ``re``, ``certified_optimal``, ``structure``, ``network`` and more. Ctrl-C ends the search and
        returns the best so far.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k, l = np.ogrid[0:4, 0:4, 0:4, 0:4]
    >>> found = tnsearch.search(i + 2 * j + 4 * k + 8.0 * l, template="path", max_re=1e-6)
    >>> found.params, found.certified_optimal, found.structure.ranks
    (48, True, [2, 2, 2])
    >>> np.allclose(found.network.to_dense(), i + 2 * j + 4 * k + 8 * l)
    True
    """
    known = strategy_options()
    own = {name.replace("_", "-"): value for name, value in options.items()}
    strange = {name: value for name, value in options.items() if name.replace("_", "-") not in known}
    unexpected("search", strange, known_options(search) + [name.replace("-", "_") for name in known])
    bar = Progress(progress, max_evaluations=max_evaluations, max_seconds=max_seconds)
    asked = {
        "search": given(
            objective=given(
                max_re=max_re,
                max_rse=max_rse,
                max_params=max_params,
                **{"lambda": lambda_},
                loss=loss,
                max_loss=max_loss,
            ),
            template=None if template is None else str(template),
            max_rank=max_rank,
            strategy={"name": strategy, "options": own},
            runs=runs,
            seed=seed,
            prune=prune,
            shrink=shrink,
            direct=direct,
            certificate_nodes=certificate_nodes,
            fit=given(
                method=fit,
                restarts=restarts,
                scouts=scouts,
                max_sweeps=max_sweeps,
                tolerance=tolerance,
                stop_rse=stop_rse,
                carry=carry,
                learning_rate=learning_rate,
                sigma=sigma,
                rescue=rescue,
            ),
            max_phi=max_phi,
            max_cost=max_cost,
            max_evaluations=max_evaluations,
            max_seconds=max_seconds,
            threads=threads,
        ),
        "data": data_options(
            split=split,
            reshape=reshape,
            column_major=column_major,
            dtype=dtype,
            nan_missing=nan_missing,
            max_memory=max_memory,
        ),
        "template": template,
        "mask": mask,
        "journal": None if journal is None else os.fspath(journal),
        "resume": resume,
        "front": front,
        "events": callback is not None,
        "progress": bar.shown,
        "command": ["python", "tnsearch.search"],
    }
    return conduct(Engine(X, asked), callback, bar)


def conduct(engine: Engine, callback: Callable[[dict[str, Any]], bool | None] | None, bar: Progress) -> Result:
    """Listens to a search until it ends. Ctrl-C ends it with the best so far."""
    signal: BaseException | None = None
    error: BaseException | None = None
    ended = False
    try:
        while not ended:
            try:
                for kind, *what in engine.messages(TICK):
                    if kind == "progress":
                        bar.update(what[0])
                    elif kind == "event":
                        try:
                            if error is None and callback is not None and callback(what[0]) is True:
                                engine.stop()
                        except BaseException as raised:  # noqa: BLE001 - it is raised again when the search has ended
                            error = raised
                            engine.stop()
                        finally:
                            engine.acknowledge()
                    elif kind == "end":
                        ended = True
            except KeyboardInterrupt as pressed:
                if signal is not None:
                    raise
                signal = pressed
                engine.stop()
    finally:
        engine.stop()
        bar.close()
    if error is not None:
        raise error
    result = result_of(engine.result())
    if signal is not None and result.network is None:
        raise signal
    return result
