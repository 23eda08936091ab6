"""Small tensors of many kinds, each with an error: what `never_larger.py` compares all methods on. Draw n is the same for ever."""

import functools
import itertools

import numpy as np

ERRORS = [1e-6, 1e-4, 1e-3, 1e-2, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]


def grid(dims):
    return np.meshgrid(*[np.linspace(0, 1, d) for d in dims], indexing="ij")


def network(rng, dims, edges, ranks, kind=float):
    """The tensor of random cores on a graph of modes."""
    letters = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    ends = {e: next(letters) for e in edges}
    terms, cores = [], []
    for n, d in enumerate(dims):
        mine = [e for e in edges if n in e]
        shape = [d] + [ranks[edges.index(e)] for e in mine]
        core = rng.standard_normal(shape)
        if kind is complex:
            core = core + 1j * rng.standard_normal(shape)
        cores.append(core)
        terms.append("abcdefghij"[n] + "".join(ends[e] for e in mine))
    return np.einsum(",".join(terms) + "->" + "abcdefghij"[: len(dims)], *cores, optimize=True)


def hidden(rng, dims, graph):
    order = len(dims)
    at = rng.permutation(order)
    if graph == "path":
        edges = [(k, k + 1) for k in range(order - 1)]
    elif graph == "ring":
        edges = [(k, (k + 1) % order) for k in range(order)]
    elif graph == "star":
        edges = [(0, k) for k in range(1, order)]
    elif graph == "tree":
        edges = [((k - 1) // 2, k) for k in range(1, order)]
    else:  # a lattice of two rows
        half = order // 2
        edges = [(k, k + half) for k in range(half)]
        edges += [(k, k + 1) for k in range(half - 1)] + [(k + half, k + half + 1) for k in range(half - 1)]
    edges = [tuple(int(at[v]) for v in e) for e in edges]
    most = 3 if max(sum(v in e for e in edges) for v in range(order)) < 4 else 2
    ranks = [int(r) for r in rng.integers(2, most + 1, len(edges))]
    return network(rng, dims, edges, ranks)


def smooth(rng, dims):
    x = grid(dims)
    a = rng.uniform(0.3, 3, len(dims))
    return [
        lambda: 1 / (0.2 + sum(k * v for k, v in zip(a, x))),
        lambda: np.sin(3 * sum(k * v for k, v in zip(a, x)) + 2 * x[0] * x[-1]) + 0.5,
        lambda: np.exp(-np.sqrt(sum(k * (v - 0.4) ** 2 for k, v in zip(a, x)) + 1e-3)),
        lambda: np.cos(2 * x[0] * x[1]) + sum(x) ** 2 * 0.1,
    ][rng.integers(4)]()


def steps(rng, dims):
    x = grid(dims)
    a = rng.uniform(-1, 1, len(dims))
    s = sum(k * v for k, v in zip(a, x))
    return np.where(s > np.median(s), 1.0, 0.2 * x[0] + 0.05)


def symmetric(rng, order, d):
    x = rng.standard_normal((d,) * order)
    if rng.integers(2):
        at = np.meshgrid(*[np.arange(d)] * order, indexing="ij")
        x = np.cos(0.4 * sum(at)) + np.prod(at, axis=0) / 20 + 0.01 * x
    return sum(np.transpose(x, p) for p in itertools.permutations(range(order)))


def noisy(rng, x, part):
    size = np.sqrt(np.mean(np.abs(x) ** 2))
    return x + part * size * rng.standard_normal(x.shape)


KINDS = ["smooth", "steps", "noise", "counts", "path", "ring", "star", "tree", "lattice", "products", "symmetric", "sparse",
         "integer", "complex", "matrix"]


def draw(n, most=800):
    """The n-th tensor, the name of its kind, and an error."""
    rng = np.random.default_rng([25, n])
    kind = KINDS[n % len(KINDS)]
    order = int(rng.integers(3, 7))
    if kind == "lattice":
        order = int(rng.choice([4, 6]))
    if kind == "matrix":
        order = 2
    while True:
        dims = [int(d) for d in rng.integers(2, 10 if order > 2 else 20, order)]
        if 16 <= np.prod(dims) <= most:
            break
    re = float(ERRORS[rng.integers(len(ERRORS))])
    noise = float(rng.choice([0, 1e-4, 1e-2, 0.1]))
    if kind == "smooth":
        x = smooth(rng, dims)
    elif kind == "steps":
        x = steps(rng, dims)
    elif kind == "noise":
        x, re = rng.standard_normal(dims), max(re, 0.1)
    elif kind == "counts":
        x = rng.poisson(1 + 4 * np.abs(smooth(rng, dims))).astype(float)
    elif kind in ("path", "ring", "star", "tree", "lattice"):
        x = noisy(rng, hidden(rng, dims, kind), noise)
    elif kind == "products":
        terms = int(rng.integers(1, 5))
        x = sum(functools.reduce(np.multiply, np.ix_(*[rng.standard_normal(d) for d in dims])) for _ in range(terms))
        x = noisy(rng, x, noise)
    elif kind == "symmetric":
        order = min(order, 5)
        x = symmetric(rng, order, {3: 6, 4: 4, 5: 3}[order])
    elif kind == "sparse":
        x = rng.standard_normal(dims) * (rng.uniform(size=dims) < 0.15)
        x.flat[0] = 1.0
    elif kind == "integer":
        x = rng.integers(-2, 3, dims).astype(float)
        x.flat[0] = 1.0
    elif kind == "complex":
        x = network(rng, dims, [(k, (k + 1) % order) for k in range(order)], [2] * order, complex)
        x = noisy(rng, x, noise)
    else:
        x = smooth(rng, dims) if rng.integers(2) else rng.standard_normal(dims)
    return kind, np.ascontiguousarray(x), re
