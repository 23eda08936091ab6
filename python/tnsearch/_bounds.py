"""Proofs: what no fit, and no structure, can go below; and how large a search would be."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Structure
from ._data import Shape, Split, data_options
from ._fit import StructureLike
from ._keywords import known_options, unexpected
from ._result import at_most

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


@dataclass(frozen=True, repr=False)
class Bound:
    """What no network of a structure can go below.

    Attributes
    ----------
    rse, re
        The bound on the squared relative error, and the root of it.
    structure, params, phi, log10_cr
        The structure, and its size on the tensor.
    cuts
        The cuts that say so, the worst first: ``modes`` on one side, the ``width`` of the network there, and the ``rse``
        that no network of that width goes below.
    cuts_computed, cuts_left_out
        How many cuts were computed, and how many were too large or not done in time.
    """

    rse: float
    re: float
    structure: Structure
    params: int
    phi: float
    log10_cr: float
    cuts: list[dict[str, Any]]
    cuts_computed: int
    cuts_left_out: int

    def __repr__(self) -> str:
        return f"<Bound: re >= {at_most(self.re)} for {self.params} params, by {self.cuts_computed} cuts>"


@dataclass(frozen=True, repr=False)
class Certificate:
    """What no structure of a template can go below, and how near a network comes.

    Attributes
    ----------
    lower_bound
        ``{"params": ...}``, ``{"rse": ...}`` or ``{"loss": ...}``, by what was asked for; None where nothing of the
        template is possible (``proven_impossible``).
    statement, bound_over
        What is proven, over which structures, and how the network given stands to it; see :class:`tnsearch.Result`.
    proven_impossible, needed_rank
        Whether no structure of the template with ranks up to ``max_rank`` is what was asked for, and the rank that it
        takes: ``{"rank", "modes", "width"}``.
    relaxed, relaxed_params
        The best structure that no cut rules out, and its params.
    complete, nodes
        Whether the relaxed problem was solved, and in how many nodes; the bound holds in any case.
    binding_cuts
        The cuts that hold the relaxed structure where it is, the tightest first.
    net
        The network given, compared: ``{"params", "rse", "gap", "certified_optimal", "reaches"}``; None without one. It has
        a gap, and is optimal, only where it is one of the structures that the bound is about.
    """

    lower_bound: dict[str, float] | None
    bound_over: dict[str, Any] | None
    statement: dict[str, Any]
    proven_impossible: bool
    needed_rank: dict[str, Any] | None
    relaxed: Structure | None
    relaxed_params: int | None
    complete: bool
    nodes: int
    binding_cuts: list[dict[str, Any]]
    net: dict[str, Any] | None
    template: str | dict[str, Any]
    dims: tuple[int, ...]
    objective: Any
    max_rank: int

    @property
    def certified_optimal(self) -> bool:
        """Whether the network given is one of the structures that the bound is about, and none of them is better."""
        return self.net is not None and bool(self.net["certified_optimal"])

    @property
    def gap(self) -> float | None:
        """How many times the bound the network given is."""
        return None if self.net is None else self.net["gap"]

    def __repr__(self) -> str:
        if self.proven_impossible:
            rank = "" if self.needed_rank is None else f", it takes rank {self.needed_rank['rank']}"
            return f"<Certificate: impossible with ranks up to {self.max_rank}{rank}>"
        if self.lower_bound is None:
            return "<Certificate: nothing is proven>"
        bound = ", ".join(f"{name} >= {at_most(value, 6)}" for name, value in self.lower_bound.items())
        verdict = "" if self.net is None else ", optimal" if self.certified_optimal else ", not proven optimal"
        return f"<Certificate: {bound}{verdict}>"


@dataclass(frozen=True, repr=False)
class Space:
    """The size of the search space of a template.

    Attributes
    ----------
    automorphisms, mode_symmetries
        The symmetries of the template, and the ways in which they move modes.
    structures
        The different ways of placing the modes.
    search_space
        The structures with ranks up to ``max_rank``; None where there are too many digits (see ``log10_search_space``).
    log10_lower_bound, log10_upper_bound, log10_automorphisms_bound
        The paper's bounds, where they hold.
    """

    template: str | dict[str, Any]
    order: int
    vertices: int
    edge_count: int
    least_degree: int
    largest_degree: int
    max_rank: int
    internal: str
    automorphisms: int
    log10_automorphisms: float
    mode_symmetries: int
    structures: int
    log10_structures: float
    search_space: int | None
    log10_search_space: float
    log10_upper_bound: float | None
    log10_lower_bound: float | None
    log10_automorphisms_bound: float | None

    def __repr__(self) -> str:
        name = self.template if isinstance(self.template, str) else "graph"
        return (
            f"<Space: {name} of order {self.order}, {self.structures} placements, "
            f"10^{self.log10_search_space:.2f} structures with ranks up to {self.max_rank}>"
        )


def bound(
    X: ArrayLike,
    structure: StructureLike,
    *,
    dtype: DTypeLike | str | None = None,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    max_seconds: float | None = None,
    threads: int | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Bound:
    """Prove how small the error of a structure can be at best.

    Every cut of the network between some modes and the others is as wide as the product of the ranks it crosses; the
    tensor, unfolded the same way, has singular values beyond that width, and no fit can reach them.

    Parameters
    ----------
    X
        The tensor; see :func:`tnsearch.search`.
    structure
        A :class:`Structure`, a dict or JSON text with one, or a :class:`Network`.
    dtype, split, reshape, column_major
        The data; see :func:`tnsearch.search`.
    max_seconds, threads, max_memory
        What it may use. After so many seconds cuts are left out.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> train = tnsearch.Structure("path", [0, 1], [[0, 1, 1]])
    >>> round(tnsearch.bound(np.diag([2.0, 1.0]), train).rse, 12)
    0.2
    """
    unexpected("bound", options, known_options(bound))
    asked = {
        "data": data_options(
            split=split, reshape=reshape, column_major=column_major, dtype=dtype, max_memory=max_memory
        ),
        "max_seconds": max_seconds,
        "threads": threads,
    }
    values = _core.bound(X, structure, asked)
    values.pop("dims")
    return Bound(
        re=math.sqrt(values["rse"]), **{**values, "structure": Structure(values["structure"])}
    )


def certify(
    X: ArrayLike,
    net: StructureLike | None = None,
    *,
    max_re: float | None = None,
    max_rse: float | None = None,
    max_params: int | None = None,
    lambda_: float | None = None,
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    max_rank: int = 7,
    shrink: bool = True,
    nodes: int = 5_000_000,
    dtype: DTypeLike | str | None = None,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    certificate: str | os.PathLike[str] | None = None,
    certificate_cases: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Certificate:
    """Prove how small a network can be at best, and how near a given one comes.

    Solves the relaxed problem: which is the best structure that no cut of the tensor rules out? Nothing of the template,
    with ranks up to ``max_rank``, can be better.

    Parameters
    ----------
    X
        The tensor; see :func:`tnsearch.search`.
    net
        What is compared with the bound: a :class:`Network`, whose error is computed from its cores, or a structure, which
        is fitted.
    max_re, max_rse, max_params, lambda_
        What is asked for; see :func:`tnsearch.search`.
    template
        The structures that the proof is about: by default those of the network, or rings; ``"any-tree"`` is all trees.
    max_rank
        The largest rank of an edge.
    shrink, nodes, max_seconds, threads, max_memory
        Whether a smaller tensor may stand in the place of X, and what may be used. The bound holds whenever it ends.
    dtype, split, reshape, column_major
        The data; see :func:`tnsearch.search`.
    certificate, certificate_cases
        Write the proof into this file; see :func:`tnsearch.search`.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:4, 0:4, 0:4]
    >>> X = i + 2.0 * j + 4 * k
    >>> tnsearch.certify(X, max_re=1e-3, template="path").lower_bound
    {'params': 32}
    >>> net = tnsearch.decompose(X, max_re=1e-3).network
    >>> tnsearch.certify(X, net, max_re=1e-3)
    <Certificate: params >= 32, optimal>
    """
    unexpected("certify", options, known_options(certify))
    asked = {
        "data": data_options(
            split=split, reshape=reshape, column_major=column_major, dtype=dtype, max_memory=max_memory
        ),
        "objective": {
            "max_re": max_re,
            "max_rse": max_rse,
            "max_params": max_params,
            "lambda": lambda_,
        },
        "max_rank": max_rank,
        "nodes": nodes,
        "no_shrink": not shrink,
        "certificate": None if certificate is None else os.fspath(certificate),
        "certificate_cases": certificate_cases,
        "max_seconds": max_seconds,
        "threads": threads,
    }
    values = _core.certify(X, template, net, asked)
    relaxed = values.pop("relaxed")
    lower = values.pop("lower_bound")
    if lower is not None:
        lower = {name: value for name, value in lower.items() if value is not None}
    return Certificate(
        relaxed=None if relaxed is None else Structure(relaxed["structure"]),
        relaxed_params=None if relaxed is None else relaxed["params"],
        lower_bound=lower,
        **{**values, "dims": tuple(values["dims"])},
    )


def space(
    template: str | os.PathLike[str] | Mapping[str, Any] = "ring",
    order: int | None = None,
    *,
    dims: Sequence[int] | None = None,
    max_rank: int = 7,
    internal: str = "free",
    **options: Any,
) -> Space:
    """Count how large the search space of a template is.

    Parameters
    ----------
    template
        ``"ring"``, ``"path"``, ``"peps:3x3"``, ..., a graph as ``{"vertices": ..., "edges": ...}``, or a JSON file with one.
    order, dims
        The number of modes, or the shape of the tensor; by default what the template says.
    max_rank
        The largest rank of an edge.
    internal
        Whether symmetries may exchange internal vertices: ``"free"``, or ``"fixed"`` as the paper codes HT and MERA.

    Examples
    --------
    >>> import tnsearch
    >>> size = tnsearch.space("ring", 8)
    >>> size.automorphisms, size.structures, size.search_space
    (16, 2520, 14527298520)
    """
    unexpected("space", options, known_options(space) + ["order", "template"])
    if dims is not None:
        if order is not None and order != len(dims):
            raise ValueError(f"order is {order}, but dims has {len(dims)} modes")
        order = len(dims)
    if order is not None and order < 0:
        raise ValueError(f"order is {order}; it must be at least 0")
    if max_rank < 1:
        raise ValueError(f"max_rank is {max_rank}; it must be at least 1")
    values = _core.space(template, order, max_rank, internal)
    for name in ("automorphisms", "mode_symmetries", "structures", "search_space"):
        values[name] = None if values[name] is None else int(values[name])
    return Space(**values)
