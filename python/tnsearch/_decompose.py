"""Networks without a search: fixed formats, and rounding."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._core import Network, Structure
from ._data import Shape, Split, data_options, ket_shape, whole
from ._keywords import known_options, unexpected
from ._result import fields, missed_text

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


@dataclass(frozen=True, repr=False)
class Decomposition:
    """What a decomposition found.

    Attributes
    ----------
    network, structure
        The network, and its structure.
    params, phi, log10_cr
        The entries of all cores, that over those of the tensor, and minus its logarithm.
    rse, re
        The squared relative error, and the root of it.
    target_reached
        Whether the error is the one asked for (``max_rse``).
    rounding
        What networks of this kind of number can reach, in words, where that is why the error was missed; else None.
    method, sweeps, settings
        How it was made; sweeps and settings of methods that iterate.
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
    target_reached: bool
    max_rse: float | None
    method: str
    sweeps: int
    settings: dict[str, Any] | None
    seed: int
    interrupted: bool
    rounding: str | None = None

    def __repr__(self) -> str:
        missed = missed_text(self.target_reached, self.rounding)
        return f"<Decomposition: {self.method}, {self.params} params, re {self.re:.3g}{missed}>"


@dataclass(frozen=True, repr=False)
class Rounded:
    """A network that was rounded.

    Attributes
    ----------
    network, structure
        The network, and its structure.
    params, params_before
        The entries of all cores, and before.
    rse, re
        The squared relative error against the network given, and the root of it.
    rse_floor
        Errors below this cannot be told from it.
    rse_tensor_at_most
        A bound on the squared relative error against the tensor; None where that of the network given is not known.
    target_reached
        Whether the error is the one asked for (``max_rse``).
    sweeps, interrupted
        Sweeps on graphs with cycles; whether Ctrl-C or the time ended it.
    """

    network: Network
    structure: Structure
    params: int
    phi: float
    log10_cr: float
    params_before: int
    rse: float
    re: float
    rse_floor: float
    rse_tensor_at_most: float | None
    target_reached: bool
    max_rse: float | None
    sweeps: int
    interrupted: bool

    def __repr__(self) -> str:
        missed = "" if self.target_reached else ", target NOT reached"
        return f"<Rounded: {self.params_before} -> {self.params} params, re {self.re:.3g}{missed}>"


def _ranks(ranks: int | Sequence[int] | None) -> list[int]:
    if ranks is None:
        return []
    several = ranks if isinstance(ranks, (Sequence, np.ndarray)) and not isinstance(ranks, (str, bytes)) else [ranks]
    return [int(whole("ranks", r)) for r in several]


def decompose(
    X: ArrayLike,
    method: str = "tt-svd",
    *,
    max_re: float | None = None,
    max_rse: float | None = None,
    ranks: int | Sequence[int] | None = None,
    shares: str = "optimal",
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    permutation: Sequence[int] | None = None,
    restarts: int | None = None,
    max_sweeps: int | None = None,
    tolerance: float | None = None,
    max_rank: int | None = None,
    seed: int = 0,
    max_seconds: float | None = None,
    max_memory: int | str | None = None,
    dtype: DTypeLike | str | None = None,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    **options: Any,
) -> Decomposition:
    """Decompose a tensor in a fixed format, without a search.

    Parameters
    ----------
    X
        The tensor; see :func:`tnsearch.search`.
    method
        By truncated SVDs ``"tt-svd"``, ``"tr-svd"``, ``"tr-lm"``, ``"ht-svd"``, ``"hosvd"``, ``"tree-svd"`` (which needs
        ``template``); by iteration ``"tr-als"``, ``"tr-als-ar"``, ``"bayes-tr"``, ``"cp-als"`` (a sum of products of vectors).
    max_re, max_rse, ranks
        The error, by default ``max_re=0.01``, or the ranks: along the path or ring, the closing edge last, of other
        trees in the order of the template's edges; one number for all alike.
    shares
        How methods by SVDs share the error out: ``"optimal"`` or ``"equal"``.
    template, permutation
        The tree of ``tree-svd``, and the vertex of each mode.
    restarts, max_sweeps, tolerance, max_rank, seed
        Of methods that iterate.
    max_seconds, max_memory, dtype, split, reshape, column_major
        See :func:`tnsearch.search`.

    Raises
    ------
    TimeoutError
        Where the time was up before there was a result.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:4, 0:5, 0:6]
    >>> tnsearch.decompose(np.sin(1.0 + i + 2 * j + 3 * k), max_re=1e-6).structure.ranks
    [2, 2]
    """
    unexpected("decompose", options, known_options(decompose))
    reshape = ket_shape(X, split, reshape)
    asked = {
        "data": data_options(
            split=split, reshape=reshape, column_major=column_major, dtype=dtype, max_memory=max_memory
        ),
        "method": method,
        "permutation": [] if permutation is None else [int(v) for v in permutation],
        "max_re": max_re,
        "max_rse": max_rse,
        "ranks": _ranks(ranks),
        "shares": shares,
        "restarts": restarts,
        "max_sweeps": max_sweeps,
        "tolerance": tolerance,
        "max_rank": max_rank,
        "seed": seed,
        "max_seconds": max_seconds,
    }
    values, network = _core.decompose(X, template, asked)
    return Decomposition(**fields(values, network))


def round(
    network: Network,
    *,
    max_re: float | None = None,
    max_rse: float | None = None,
    max_params: int | None = None,
    ranks: int | Sequence[int] | None = None,
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    permutation: Sequence[int] | None = None,
    max_seconds: float | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Rounded:
    """Round a network: smaller ranks, without forming the tensor.

    Parameters
    ----------
    network
        The network.
    max_re, max_rse, max_params, ranks
        One of: the relative error against the network, its square, the most params, or the ranks.
    template, permutation
        A tree to carry the network onto, and the vertex of each mode on it; by default its own graph.
    max_seconds, max_memory
        What it may use.

    Raises
    ------
    TimeoutError
        Where the time was up before there was a result.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:4, 0:5, 0:6]
    >>> exact = tnsearch.decompose(np.exp(-(i + j * k) / 9.0), max_re=1e-9).network
    >>> small = tnsearch.round(exact, max_re=0.01)
    >>> small.params < small.params_before, small.re <= 0.01
    (True, True)
    """
    unexpected("round", options, known_options(round))
    asked = {
        "max_re": max_re,
        "max_rse": max_rse,
        "max_params": max_params,
        "ranks": _ranks(ranks),
        "permutation": [] if permutation is None else [int(v) for v in permutation],
        "max_seconds": max_seconds,
        "max_memory": max_memory,
    }
    if not isinstance(network, Network):
        raise TypeError(f"a {type(network).__name__} is no Network")
    values, rounded = _core.round(network, template, asked)
    return Rounded(**fields(values, rounded))
