"""A path network as a matrix product state: one core for each mode, in the order of the modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Network
from ._interop import incident

# Singular values below this part of the largest are rounding.
ROUNDING = 1e-15


def train(network: Network) -> list[Any]:
    """The cores ``left, right, mode`` of the modes in their order; the first has no left, the last no right.

    Where the modes stand on the path in another order, neighbours are swapped until they do not, by an SVD each that drops
    nothing: the tensor stays the same, and bonds become as wide as that order needs.
    """
    structure, cores, at = network.structure, network.cores, incident(network.structure)
    order = line(network)
    edges = structure.edges
    # Cores as left, mode, right.
    chain = []
    for k, v in enumerate(order):
        axes = {sum(edges[e][:2]) - v: axis for axis, e in enumerate(at[v]) if edges[e][2] > 1}
        near = [order[k - 1] if k > 0 else -1, order[k + 1] if k + 1 < len(order) else -1]
        wanted = [axes.get(near[0]), len(at[v]), axes.get(near[1])]
        kept = [axis for axis in wanted if axis is not None]
        rest = [axis for axis in range(cores[v].ndim) if axis not in kept]
        shape = [1 if axis is None else cores[v].shape[axis] for axis in wanted]
        chain.append(cores[v].transpose(rest + kept).reshape(shape))
    modes = [structure.modes[v][0] for v in order]
    if modes[0] > modes[-1]:
        modes.reverse()
        chain = [core.transpose(2, 1, 0) for core in reversed(chain)]
    # Insertion: each mode moves to the left past those that come after it.
    for k in range(1, len(modes)):
        while k > 0 and modes[k - 1] > modes[k]:
            modes[k - 1], modes[k] = modes[k], modes[k - 1]
            chain[k - 1], chain[k] = swapped(chain[k - 1], chain[k])
            k -= 1
    parts = [core.transpose(0, 2, 1) for core in chain]
    if len(parts) > 1:
        parts[0], parts[-1] = parts[0][0], parts[-1][:, 0]
    return parts


def line(network: Network) -> list[int]:
    """The vertices along a path with one mode on each; anything else is refused."""
    structure = network.structure
    near: list[list[int]] = [[] for _ in structure.modes]
    for u, v, rank in structure.edges:
        if rank > 1:
            near[u].append(v)
            near[v].append(u)
    order: list[int] = []
    # Parts that hang together by rank 1 only follow each other.
    for start in [v for v, others in enumerate(near) if len(others) < 2]:
        vertex: int | None = start
        while vertex is not None and vertex not in order:
            order.append(vertex)
            vertex = next((w for w in near[vertex] if w not in order), None)
    one_each = all(len(modes) == 1 for modes in structure.modes)
    if not one_each or any(len(others) > 2 for others in near) or len(order) < len(near):
        raise ValueError(
            f"kind='mps' takes paths with one mode on each vertex, not {network!r}; "
            'search(X, template="path") gives one, and to_quimb() takes any network'
        )
    return order


def swapped(a: Any, b: Any) -> tuple[Any, Any]:
    """Two neighbours ``left, mode, right`` with their modes exchanged.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.standard_normal((2, 3, 4)), rng.standard_normal((4, 5, 2))
    >>> c, d = swapped(a, b)
    >>> bool(np.allclose(np.einsum("ipm,mqj->ipqj", a, b), np.einsum("iqm,mpj->ipqj", c, d)))
    True
    """
    both = np.einsum("ipm,mqj->iqpj", a, b)
    left, q, p, right = both.shape
    u, s, vh = np.linalg.svd(both.reshape(left * q, p * right), full_matrices=False)
    kept = max(1, int(np.count_nonzero(s > ROUNDING * max(both.size, 1) * s[0])))
    return u[:, :kept].reshape(left, q, kept), (s[:kept, None] * vh[:kept]).reshape(kept, p, right)
