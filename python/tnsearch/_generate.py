"""Tensors that are made, with a network hidden in them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._core import Network
from ._keywords import known_options, unexpected

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Generated(NamedTuple):
    """A tensor, and the network that it was made from; None of an example."""

    tensor: NDArray[Any]
    network: Network | None


def generate(
    *,
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    example: str | None = None,
    order: int | None = None,
    dim: int | None = None,
    dims: Sequence[int] | None = None,
    ranks: tuple[int, int] | None = None,
    perm: Sequence[int] | None = None,
    sigma: float | None = None,
    noise_db: float | None = None,
    seed: int = 0,
    **options: Any,
) -> Generated:
    """Make a random tensor from a hidden network, as in the paper's section 5.1, or an example.

    Parameters
    ----------
    template
        The format of the network: a name, a graph, or a JSON file; a ring by default.
    example
        Instead a tensor that no network gives exactly: ``"heisenberg"``, ``"smooth"``, ``"field"``, ``"signal"``,
        ``"weights"`` or ``"layer"``.
    order, dim, dims
        The number of modes (6) and the dimension of each (3), or all dimensions; examples have sizes of their own.
    ranks
        The smallest and the largest rank, by default ``(1, 4)``.
    perm
        The vertex of each mode; by default a random permutation.
    sigma, noise_db
        The standard deviation of the cores' entries (1), and the signal-to-noise ratio of noise that is added.
    seed
        Same seed, same tensor: that of ``tnsearch generate``.

    Returns
    -------
    Generated
        The ``tensor``, and the ``network`` that is hidden in it (None of an example).

    Examples
    --------
    >>> import tnsearch
    >>> tensor, network = tnsearch.generate(order=4, ranks=(2, 2), seed=1)
    >>> tensor.shape, network.structure.template, network.structure.ranks
    ((3, 3, 3, 3), 'ring', [2, 2, 2, 2])
    """
    unexpected("generate", options, known_options(generate))
    asked = {
        "example": example,
        "order": order,
        "dim": dim,
        "dims": [] if dims is None else list(dims),
        "ranks": ranks,
        "perm": [] if perm is None else list(perm),
        "sigma": sigma,
        "noise_db": noise_db,
        "seed": seed,
    }
    return Generated(*_core.generate(template, asked))
