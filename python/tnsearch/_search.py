"""Searching: the smallest network for a tensor."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Union

from ._conduct import Callback, conduct
from ._core import Engine, Structure, strategy_options
from ._data import Shape, Split, data_options, ket_shape
from ._groups import Budget, Fit, Strategy, ungrouped
from ._keywords import known_options, unexpected
from ._labels import labels_of
from ._own import OwnEvaluation, OwnLoss, fingerprint_of, own_strategy, own_work
from ._places import open_place
from ._progress import Progress
from ._result import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

#: Where structures are evaluated: see :func:`search`.
Parallel = Any


class AskAndTell(Protocol):
    """A strategy of one's own."""

    def ask(self) -> Structure | Sequence[Structure] | None:
        """What is to be evaluated next; None at its end."""
        ...

    def tell(self, outcomes: list[dict[str, Any]], /) -> None:
        """What became of it."""


OwnStrategy = Union[AskAndTell, Callable[[list[dict[str, Any]]], "Structure | Sequence[Structure] | None"]]


def given(**values: Any) -> dict[str, Any]:
    """Those that are not None: the rest is left to the library."""
    return {name: value for name, value in values.items() if value is not None}


def order(
    function: str, settings: Mapping[str, Any], options: Mapping[str, Any], own: bool
) -> dict[str, Any]:
    """What was asked, as the engine takes it; ``options`` are those of the strategy."""
    settings, options = ungrouped(settings, options)
    known = strategy_options()
    strange = {name: value for name, value in options.items() if name.replace("_", "-") not in known}
    unexpected(function, strange, known_options(search) + [name.replace("-", "_") for name in known])
    s: dict[str, Any] = dict.fromkeys(known_options(search)) | dict(settings)
    objective = {name: s[name] for name in ("max_re", "max_rse", "max_params", "max_loss")}
    objective["lambda"] = s["lambda_"]
    if s["fidelity"] is not None:
        objective["max_rse"] = infidelity(s["fidelity"], objective)
    proposing = own_strategy(s["strategy"], s["runs"], options)
    if not own:
        objective["loss"] = s["loss"]
    fit = {name: s[name] for name in FIT} | {"method": s["fit"]}
    plain = {name: s[name] for name in SEARCH}
    strategy = given(name=s["strategy"] if proposing is None else "auto", options={n.replace("_", "-"): v for n, v in options.items()})
    template = s["template"]
    return {
        "search": given(
            objective=given(**objective),
            fit=given(**fit),
            strategy=strategy,
            template=template if template is None or isinstance(template, str) else "given",
            **plain,
        ),
        "data": data_options(**given(**{name: s[name] for name in DATA})),
        "template": template,
        "mask": s["mask"],
        "strategy": proposing,
        **{name: None if s[name] is None else os.fspath(s[name]) for name in FILES},
        "certificate_cases": s["certificate_cases"],
        "resume": bool(s["resume"]),
        "front": bool(s["front"]),
        "command": ["python", f"tnsearch.{function}"],
        "own": own,
    }


#: The options that are files, and those that go to each part.
FILES = "journal certificate report".split()
FIT = "restarts scouts max_sweeps tolerance stop_rse carry learning_rate sigma rescue".split()
SEARCH = (
    "max_rank runs seed prune shrink direct certificate_nodes max_phi max_cost max_evaluations max_seconds threads"
).split()
DATA = "split reshape column_major dtype mask_marks nan_missing max_memory".split()


def infidelity(fidelity: Any, others: Mapping[str, Any]) -> float:
    """The largest RSE with which a fidelity is reached: ``F >= 1 - RSE``.

    >>> infidelity(0.75, {"max_re": None})
    0.25
    >>> infidelity(1.5, {})
    Traceback (most recent call last):
        ...
    ValueError: fidelity is 1.5; it must be above 0 and below 1
    """
    for name, value in others.items():
        if value is not None and name != "loss":
            raise ValueError(f"fidelity and {name} were both given; only one of them can be asked for")
    if isinstance(fidelity, bool) or not 0 < fidelity < 1:
        raise ValueError(f"fidelity is {fidelity!r}; it must be above 0 and below 1")
    return 1.0 - float(fidelity)


def search(
    X: ArrayLike,
    *,
    max_re: float | None = None,
    max_rse: float | None = None,
    fidelity: float | None = None,
    max_params: int | None = None,
    lambda_: float | None = None,
    loss: str | OwnLoss | None = None,
    max_loss: float | None = None,
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    max_rank: int | None = None,
    strategy: str | Strategy | OwnStrategy = "auto",
    runs: int = 1,
    seed: int = 0,
    prune: bool = True,
    shrink: bool = True,
    direct: bool = True,
    certificate_nodes: int | None = None,
    fit: str | Fit | None = None,
    restarts: int | None = None,
    scouts: int | None = None,
    max_sweeps: int | None = None,
    tolerance: float | None = None,
    stop_rse: float | None = None,
    carry: bool = False,
    learning_rate: float | None = None,
    sigma: float | None = None,
    rescue: int | None = None,
    budget: Budget | None = None,
    max_phi: float | None = None,
    max_cost: float | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    max_memory: int | str | None = None,
    dtype: DTypeLike | str | None = None,
    mask: ArrayLike | None = None,
    mask_marks: str = "missing",
    nan_missing: bool = False,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    journal: str | os.PathLike[str] | None = None,
    resume: bool = False,
    certificate: str | os.PathLike[str] | None = None,
    certificate_cases: int | None = None,
    report: str | os.PathLike[str] | None = None,
    front: bool = False,
    callback: Callback | None = None,
    progress: bool | None = None,
    evaluate: OwnEvaluation | None = None,
    parallel: Parallel = None,
    workers: int | None = None,
    **options: Any,
) -> Result:
    """Find the smallest network for a tensor.

    Parameters
    ----------
    X
        The tensor: a NumPy array of any dtype, strides and order, or anything with ``__dlpack__`` or ``__array__``
        (PyTorch, JAX, xarray, pandas). A ket, 2^n entries in a vector or a single column, is taken as n sites of
        dimension 2. Arrays of float64 or complex128 in C order are not copied; do not change them meanwhile.
    max_re, max_rse, max_params, lambda_
        What is looked for, one of: the fewest params with a relative error of at most ``max_re`` (the default, 0.01),
        the same by its square, the smallest error with at most so many params, or the least ``phi + lambda_ * rse``.
    fidelity
        For states: the fewest params with ``|<X|Z>|^2 / (<X|X> <Z|Z>)`` of at least this. It is ``max_rse=1 - fidelity``:
        the best multiple of Z is off by exactly ``1 - F``, so that ``F >= 1 - rse``, and both are equal where Z has the
        length that fits best, as fitted networks have.
    loss, max_loss
        Another loss than the squared error (``"kl"``, ``"poisson"``, ``"huber:0.5"``), and the largest error by it. A
        function: networks are fitted by least squares, and their error is what it returns for a :class:`Network`.
    evaluate
        A function that replaces the whole evaluation: called with a :class:`Structure` and a seed, it returns the error,
        or the error and the :class:`Network`.
    template
        The format: ``"ring"``, ``"path"``, ``"tree"``, ``"peps:2x3"``, ``"any-tree"``, ``"any"``, ..., a graph as
        ``{"vertices": ..., "edges": ...}``, or a JSON file with one. Without one several formats are tried.
    max_rank
        The largest rank of an edge.
    strategy, **options
        How structures are proposed (``"tnls"``, ``"tnale"``, ``"greedy"``, ``"exact"``, ...) and the options of that
        strategy, such as ``samples=60``; or both as one object, ``tnsearch.Tnls(samples=60)``. A strategy of your own is
        an object whose ``ask()`` returns a :class:`Structure` or a list of them (None: it has ended), and whose
        ``tell(outcomes)`` is given a list of dicts with ``structure``, ``loss``, ``error``, ``params`` and ``source``; or
        a function that is given the outcomes so far and returns what ``ask()`` does. It must be a function of what it is
        told alone.
    runs, seed
        Independent runs; same seed, same data, same settings: the same result, bit for bit, at any number of workers.
    prune, shrink, direct, certificate_nodes
        Parts of the search that can be switched off, as on the command line.
    fit, restarts, scouts, max_sweeps, tolerance, stop_rse, carry, learning_rate, sigma, rescue
        How structures are fitted: ``"als"``, ``"adam"`` or ``"lm"``, and the settings of that; or both as one object,
        ``tnsearch.Als(restarts=4)``.
    budget, max_phi, max_cost, max_evaluations, max_seconds, threads, max_memory
        What it may use; ``budget=tnsearch.Budget(max_seconds=60)`` is the same as ``max_seconds=60``.
    dtype
        Compute with ``"f32"``, ``"f64"``, ``"complex64"`` or ``"complex128"``.
    mask, mask_marks, nan_missing
        Which entries are missing: an array of bool, True where one is, as in NumPy's masked arrays and on the command line
        (``mask_marks="observed"``: True where one is known), or that NaN marks them. What a masked array masks is missing,
        too. See also :func:`tnsearch.complete`.
    split, reshape, column_major
        Take the tensor in another shape: modes split into factors (``"auto"``, ``4``, ``[(4, 4), 8]``), or a shape of as
        many entries.
    journal, resume
        Keep a record of every evaluation in this file, and go on from it. The command line reads the same files. A
        function of your own (``loss``, ``evaluate``) has to say which it is, so that no journal of another is gone on
        with: by its attribute ``fingerprint``, a text.
    certificate, certificate_cases
        Write a proof of the lower bound into this file, of at most so many cases (200000), which anybody can check: with
        :func:`tnsearch.verify`, or ``docs/check_certificate.py`` and NumPy alone. Where there is none, a warning says why.
    report
        Write a page about the search: pictures and plain words in one HTML file.
    front
        Whether the networks along the Pareto front are returned, too.
    callback
        Called with a dict for every evaluation (``event="evaluated"``), as they end, and every generation
        (``event="generation"``); the search ends with the best so far where it returns True.
    parallel, workers
        Where structures are evaluated, the answer being the same everywhere: by default on all processors; ``False``: on
        one; a number or ``"threads"``: on so many threads; ``"processes"``, ``"dask"``, ``"ray"``, ``"mpi"``, a Dask
        ``Client``, any ``concurrent.futures.Executor``: there, on so many ``workers``.
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
    reshape = ket_shape(X, split, reshape)
    given_by_name = {name: value for name, value in locals().items() if name not in ("X", "options")}
    settings, options = ungrouped(given_by_name, options)
    own = own_work(loss, evaluate)
    bar = Progress(progress, max_evaluations=settings["max_evaluations"], max_seconds=settings["max_seconds"])
    asked = order("search", settings, options, own is not None)
    named = own if own is not None else asked["strategy"]
    asked.update(events=callback is not None, progress=bar.shown, fingerprint=fingerprint_of(named, journal, resume))
    place = open_place(parallel, workers, own)
    if place.threads is not None and settings["threads"] is None:
        asked["search"]["threads"] = place.threads
    asked["workers"] = place.workers
    try:
        return replace(conduct(Engine(X, asked), callback, bar, place.make), _labels=labels_of(X))
    finally:
        place.close()
