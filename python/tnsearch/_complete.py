"""Completion: the missing entries of a tensor."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Network, Structure
from ._data import Shape, Split, data_options
from ._keywords import known_options, unexpected
from ._result import fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike, NDArray


@dataclass(frozen=True, repr=False)
class Completion:
    """A tensor with its holes filled.

    Attributes
    ----------
    tensor
        The tensor in its own shape: observed entries as they are, the others predicted.
    network, structure
        The network that predicts, and its structure.
    params, phi, log10_cr
        The entries of all cores, that over those of the tensor, and minus its logarithm.
    rse, re
        The squared relative error on the observed entries, and the root of it.
    held_out
        What to expect of the predictions: ``{"entries", "folds", "rse", "rmse"}`` on observed entries that were held
        out; None with ``method="trals"``.
    recovered
        With ``missing=SHARE``, how well the entries removed came back: ``{"entries", "rse", "re", "rmse", "psnr"}``.
    entries, observed, missing, empty_slices
        How many entries there are, were observed and are missing; (mode, index) of slices without any.
    ridge, formats, structures, sweeps
        How the structure was chosen.
    out_of_time, interrupted
        Whether the time, or Ctrl-C, ended it: this is then the best so far.
    """

    tensor: NDArray[Any]
    network: Network
    structure: Structure
    params: int
    phi: float
    log10_cr: float
    rse: float
    re: float
    held_out: dict[str, Any] | None
    recovered: dict[str, Any] | None
    entries: int
    observed: int
    missing: int
    empty_slices: list[tuple[int, int]]
    method: str
    ridge: float
    formats: list[dict[str, Any]]
    structures: int
    sweeps: int
    seed: int
    out_of_time: bool
    interrupted: bool
    seconds: float

    @property
    def re_heldout(self) -> float | None:
        """The relative error on observed entries that were held out."""
        return None if self.held_out is None else math.sqrt(self.held_out["rse"])

    @property
    def re_missing(self) -> float | None:
        """The relative error on entries that were removed with ``missing=SHARE``."""
        return None if self.recovered is None else self.recovered["re"]

    def __repr__(self) -> str:
        expected = "" if self.re_heldout is None else f", re {self.re_heldout:.3g} on entries held out"
        return f"<Completion: {self.missing} of {self.entries} entries filled, {self.params} params{expected}>"


def complete(
    X: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    mask_marks: str = "missing",
    nan_missing: bool = False,
    missing: float | None = None,
    method: str = "choose",
    rank: int | None = None,
    held_out: float | None = None,
    folds: int | None = None,
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    max_rank: int | None = None,
    ridge: float | None = None,
    max_sweeps: int | None = None,
    seed: int = 0,
    max_seconds: float | None = 60.0,
    threads: int | None = None,
    max_memory: int | str | None = None,
    dtype: DTypeLike | str | None = None,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    **options: Any,
) -> Completion:
    """Fill the holes of a tensor.

    Of the observed entries some are held out: the structure that predicts these best is fitted to all, and fills the
    holes. Nothing is proven.

    Parameters
    ----------
    X
        The tensor; see :func:`tnsearch.search`. What stands where an entry is missing does not matter.
        A masked array of NumPy: what is masked is missing.
    mask, mask_marks
        An array of bool of the tensor's shape, True where an entry is missing, as in NumPy's masked arrays and on the
        command line; with ``mask_marks="observed"``, True where one is known.
    nan_missing
        Whether NaN marks missing entries.
    missing
        Remove this share of the entries at random, by seed, and measure how well they come back.
    method, rank
        ``"choose"``: ranks grow while entries held out are predicted better; ``"trals"``: a ring with the same rank
        everywhere.
    held_out, folds
        The share of the observed entries held out, or in how many parts they are held out, each once.
    template, max_rank, ridge, max_sweeps
        The format (by default the better of ring and Tucker), the largest rank, how strongly slices are pulled to their
        mean, and the sweeps of one fit.
    seed
        Decides what is removed, what is held out and how fits begin.
    max_seconds, threads, max_memory, dtype, split, reshape, column_major
        See :func:`tnsearch.search`; 60 seconds by default.

    Returns
    -------
    Completion
        With ``tensor``, ``network``, ``re_heldout``. Ctrl-C returns the best so far.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:8, 0:8, 0:8]
    >>> X = np.sin(i / 4) * np.cos(j / 5) + k / 8
    >>> holes = (i + 3 * j + 5 * k) % 4 == 0
    >>> filled = tnsearch.complete(np.where(holes, np.nan, X), mask=holes)
    >>> filled.observed, bool(np.linalg.norm(filled.tensor - X) < 0.01 * np.linalg.norm(X))
    (384, True)
    >>> again = tnsearch.complete(np.ma.masked_array(X, holes))
    >>> bool((again.tensor == filled.tensor).all())
    True
    """
    unexpected("complete", options, known_options(complete))
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
        "method": method,
        "missing": missing,
        "rank": rank,
        "held_out": held_out,
        "folds": folds,
        "max_rank": max_rank,
        "ridge": ridge,
        "max_sweeps": max_sweeps,
        "seed": seed,
        "max_seconds": max_seconds,
        "threads": threads,
    }
    values, tensor, network = _core.complete(X, mask, template, asked)
    empty = [(mode, index) for mode, index in values["empty_slices"]]
    return Completion(**fields(values, network, tensor=tensor, empty_slices=empty))
