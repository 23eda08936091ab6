"""Fitting: the cores of one structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._core import Network, Structure
from ._data import Shape, Split, data_options
from ._keywords import known_options, unexpected
from ._result import fields

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

#: What functions take as a structure.
StructureLike = Union[Structure, Network, Mapping[str, Any], str]


@dataclass(frozen=True, repr=False)
class FitResult:
    """A structure with fitted cores.

    Attributes
    ----------
    network, structure
        The network, and its structure.
    params, phi, log10_cr
        The entries of all cores, that over those of the tensor, and minus its logarithm.
    rse, re
        The squared relative error ``||X - Z||^2 / ||X||^2``, and the root of it.
    error
        The error by the loss: the ``rse``, unless another was asked for.
    measure
        What that error is called.
    method, sweeps, restarts
        How it was fitted: sweeps (ALS), steps (Adam) or iterations (LM) over all starts, and the starts made.
    interrupted
        Whether Ctrl-C or the time ended it: this is then the best so far.
    """

    network: Network
    structure: Structure
    params: int
    phi: float
    log10_cr: float
    rse: float
    re: float
    error: float
    measure: dict[str, Any]
    method: str
    sweeps: int
    restarts: int
    interrupted: bool
    seed: int
    seconds: float

    def __repr__(self) -> str:
        error = f"re {self.re:.3g}"
        if self.measure["id"] != "rse":
            error = f"{self.measure['name']} {self.error:.3g}"
        return f"<FitResult: {self.params} params, {error}, {self.method}, {self.sweeps} sweeps>"


def fit(
    X: ArrayLike,
    structure: StructureLike,
    *,
    method: str = "als",
    restarts: int | None = None,
    scouts: int | None = None,
    max_sweeps: int | None = None,
    tolerance: float | None = None,
    stop_rse: float | None = None,
    learning_rate: float | None = None,
    sigma: float | None = None,
    rescue: int | None = None,
    loss: str = "squared",
    seed: int = 0,
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
    **options: Any,
) -> FitResult:
    """Fit the cores of one structure to a tensor.

    Parameters
    ----------
    X
        The tensor; see :func:`tnsearch.search`.
    structure
        A :class:`Structure`, a dict or JSON text with one, or a :class:`Network` (its structure is fitted anew, and the
        tensor is split as its own was).
    method
        ``"als"``, ``"adam"`` or ``"lm"``.
    restarts, scouts, max_sweeps, tolerance, stop_rse, learning_rate, sigma, rescue
        The settings of that; by default those of the method.
    loss
        ``"squared"``, ``"kl"``, ``"poisson"`` or ``"huber:DELTA"``.
    seed
        Decides the random starts: same seed, same answer, the one of the command line.
    max_seconds, threads, max_memory
        What it may use; memory in bytes or as ``"4GB"``.
    dtype, mask, mask_marks, nan_missing, split, reshape, column_major
        The data; see :func:`tnsearch.search`.

    Returns
    -------
    FitResult
        With ``network``, ``rse``, ``re`` and ``sweeps``. Ctrl-C returns the best so far.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:4, 0:5, 0:6]
    >>> X = np.sin(1.0 + i + 2 * j + 3 * k)
    >>> train = {"template": "path", "permutation": [0, 1, 2], "edges": [[0, 1, 2], [1, 2, 2]]}
    >>> fitted = tnsearch.fit(X, train)
    >>> fitted.params, fitted.re < 1e-6
    (40, True)
    >>> np.allclose(fitted.network.to_dense(), X, atol=1e-5)
    True
    """
    unexpected("fit", options, known_options(fit))
    asked = {
        "data": data_options(
            split=split,
            reshape=reshape,
            column_major=column_major,
            dtype=dtype,
            mask_marks=mask_marks,
            nan_missing=nan_missing,
            max_memory=max_memory,
        ),
        "fit": {
            "method": method,
            "restarts": restarts,
            "scouts": scouts,
            "max_sweeps": max_sweeps,
            "tolerance": tolerance,
            "stop_rse": stop_rse,
            "learning_rate": learning_rate,
            "sigma": sigma,
            "rescue": rescue,
        },
        "loss": loss,
        "seed": seed,
        "max_seconds": max_seconds,
        "threads": threads,
    }
    values, network = _core.fit(X, structure, mask, asked)
    return FitResult(**fields(values, network))
