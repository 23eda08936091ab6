"""Every structure of small templates, by NumPy alone, against what `certify`, `bound` and `search` claim.

A case is one claim compared. `cargo xtask enumerate --cases 100000` runs it at length; `test_enumeration.py` runs some.
Nothing here is taken from the package but its answers: graphs, widths of cuts, singular values and parameters are
computed anew, for all placements of the modes and all ranks, as docs/bounds.md defines them.

    python tests/package/enumeration.py --cases 1000 [--seed 0] [--processes 2]
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import math
import multiprocessing
import sys
import time
from dataclasses import dataclass
from typing import Any

import daily
import numpy as np

import tnsearch

#: Structures that one template may have: permutations times ranks.
MOST = 60_000
STRATEGIES = ["auto", "exact", "tnls", "tnale", "tnga-plus", "tnga-star", "greedy", "annealing", "random", "walk"]

#: Those that leave the template for graphs of their own; their networks are measured, not compared.
OF_THEIR_OWN = ["greedy", "tnga-star"]


@dataclass
class Graph:
    """A template: how many vertices carry modes (the first ones), how many there are, and the edges."""

    name: Any
    external: int
    vertices: int
    edges: list[tuple[int, int]]


def named(family: str, n: int) -> Graph:
    """The families, as DESIGN.md defines them."""
    pairs = list(itertools.combinations(range(n), 2))
    edges = {
        "path": [(k, k + 1) for k in range(n - 1)],
        "ring": pairs if n < 4 else [(k, k + 1) for k in range(n - 1)] + [(0, n - 1)],
        "star": [(0, k) for k in range(1, n)],
        "tree": [((k - 1) // 2, k) for k in range(1, n)],
        "complete": pairs,
        "tucker": [(k, n) for k in range(n)],
    }[family]
    return Graph(family, n, n + (family == "tucker"), edges)


def drawn(n: int, rng: np.random.Generator) -> Graph:
    """A connected graph of one's own, with internal vertices."""
    vertices = n + int(rng.integers(0, 3))
    tree = [(int(rng.integers(0, v)), v) for v in range(1, vertices)]
    others = [e for e in itertools.combinations(range(vertices), 2) if e not in tree]
    more = [others[k] for k in rng.permutation(len(others))[: rng.integers(0, 3)]]
    edges = sorted(tree + more)
    name = {"vertices": [{"mode": v < n} for v in range(vertices)], "edges": [list(e) for e in edges]}
    return Graph(name, n, vertices, edges)


class Space:
    """All structures of a template on a tensor: their parameters, and the error that no fit goes below."""

    def __init__(self, x: np.ndarray, graph: Graph, max_rank: int) -> None:
        self.graph, self.dims, self.max_rank = graph, x.shape, max_rank
        self.entries = x.size
        n, edges = graph.external, graph.edges
        ranks = np.array(list(itertools.product(range(1, max_rank + 1), repeat=len(edges))), dtype=np.int64)
        self.ranks = ranks.reshape(-1, len(edges))
        widths = {side: self._widths(side) for side in range(1, 2 ** (n - 1))}
        tails = {side: self._tails(x, side) for side in range(1, 2 ** (n - 1))}
        # What the edges of each vertex give its core.
        ends = [[e for e, edge in enumerate(edges) if v in edge] for v in range(graph.vertices)]
        cores = [np.prod(self.ranks[:, e], axis=1) for e in ends]
        internal = sum(cores[n:], start=np.zeros(len(self.ranks), dtype=np.int64))
        self.placements = list(itertools.permutations(range(n)))
        params, errors = [], []
        whole = 2**n - 1
        for placement in self.placements:
            params.append(internal + sum(cores[v] * x.shape[mode] for mode, v in enumerate(placement)))
            error = np.zeros(len(self.ranks))
            for side, tail in tails.items():
                put = sum(1 << placement[mode] for mode in range(n) if side >> mode & 1)
                # The last vertex is on the other side.
                width = widths[put if not put >> (n - 1) & 1 else whole ^ put]
                np.maximum(error, tail[np.minimum(width, len(tail) - 1)], out=error)
            errors.append(error)
        self.params = np.concatenate(params).astype(float)
        self.errors = np.concatenate(errors)

    def _widths(self, side: int) -> np.ndarray:
        """The least product of the ranks between these external vertices and the others, over all sides that the internal
        ones may be on; by ranks."""
        g = self.graph
        internal = range(2 ** (g.vertices - g.external))
        sides = [side | inner << g.external for inner in internal]
        crossed = [[e for e, (u, v) in enumerate(g.edges) if (s >> u & 1) != (s >> v & 1)] for s in sides]
        return np.min([np.prod(self.ranks[:, c], axis=1) for c in crossed], axis=0)

    def _tails(self, x: np.ndarray, side: int) -> np.ndarray:
        """What is left of the squares of the singular values beyond the first k, relative to all."""
        rows = [k for k in range(x.ndim) if side >> k & 1]
        columns = [k for k in range(x.ndim) if not side >> k & 1]
        unfolded = x.transpose(rows + columns).reshape(math.prod(x.shape[k] for k in rows), -1)
        squares = np.linalg.svd(unfolded, compute_uv=False) ** 2
        total = squares.sum()
        tails = np.append(np.cumsum(squares[::-1])[::-1], 0.0)
        return tails / total if total > 0 else np.append(np.zeros(len(squares)), 0.0)

    def structure(self, index: int) -> dict[str, Any]:
        """One of them, as the package reads it."""
        placement, ranks = divmod(index, len(self.ranks))
        edges = [[u, v, int(r)] for (u, v), r in zip(self.graph.edges, self.ranks[ranks], strict=True)]
        return {"template": self.graph.name, "permutation": list(self.placements[placement]), "edges": edges}


def tensor(graph: Graph, dims: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """A tensor of many kinds: noise, a hidden network with or without it, whole numbers, few values, one value."""
    kind = rng.integers(0, 8)
    if kind == 0:
        x = rng.standard_normal(dims)
    elif kind == 1:
        x = rng.integers(-2, 3, dims).astype(float)
    elif kind == 2:
        x = np.full(dims, float(rng.integers(1, 4)))
    elif kind == 3:
        x = sum(rng.standard_normal() * np.exp(sum(np.ix_(*[rng.standard_normal(d) for d in dims]))) for _ in range(2))
    else:
        x = hidden(graph, dims, rng)
        scale = np.linalg.norm(x) / math.sqrt(x.size)
        x = x + [0.0, 0.0, 1e-3, 1e-1][kind - 4] * scale * rng.standard_normal(dims)
    if rng.random() < 0.2:
        x = x + 1j * rng.permutation(x.ravel()).reshape(x.shape)
    if not np.any(x):
        x.flat[0] = 1.0
    return np.asarray(x)


def hidden(graph: Graph, dims: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """The tensor of random cores of the template, its modes placed at random."""
    n = graph.external
    placement = rng.permutation(n)
    ranks = rng.integers(1, 3, len(graph.edges))
    operands: list[Any] = []
    for v in range(graph.vertices):
        ends = [e for e, edge in enumerate(graph.edges) if v in edge]
        modes = [m for m in range(n) if placement[m] == v]
        shape = [ranks[e] for e in ends] + [dims[m] for m in modes]
        operands += [rng.standard_normal(shape), [n + e for e in ends] + modes]
    return np.einsum(*operands, list(range(n)), optimize="greedy")


class Wrong(AssertionError):
    """A claim that does not hold."""


class Draw:
    """One tensor with one template, and the claims about them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = np.random.default_rng([seed, 16])
        while True:
            n = int(rng.integers(2, 6))
            family = str(rng.choice(["path", "ring", "star", "tree", "complete", "tucker", "own", "own"]))
            graph = drawn(n, rng) if family == "own" else named(family, n)
            max_rank = int(rng.integers(1, 5))
            if math.factorial(n) * max_rank ** len(graph.edges) <= MOST:
                break
        dims = tuple(int(d) for d in rng.integers(1 if rng.random() < 0.2 else 2, 5, n))
        self.x = tensor(graph, dims, rng)
        # The slack of docs/bounds.md: what tails are lowered by, for rounding.
        self.space = Space(self.x, graph, max_rank)
        self.template = graph.name
        self.counts: collections.Counter[str] = collections.Counter()

    def slack(self, error: float) -> float:
        """At least what the bound allows for rounding."""
        return 4e-12 + 4e-12 * math.sqrt(error)

    def require(self, holds: bool, claim: str, *figures: Any) -> None:
        if not holds:
            where = f"seed {self.seed}, {self.template} on {self.x.shape}, ranks up to {self.space.max_rank}"
            raise Wrong(f"{claim}: {figures} ({where})")

    def thresholds(self) -> list[float]:
        """Errors to ask for: anywhere, and right at those that structures have."""
        rng, errors = self.rng, self.space.errors
        at = float(rng.choice(errors))
        near = [at, at * (1 + 1e-9), at * (1 - 1e-9), at * (1 + 1e-14), np.nextafter(at, 0), np.nextafter(at, 1)]
        chosen = [float(rng.choice(near)), float(10 ** rng.uniform(-9, -0.01))]
        return [e for e in chosen if 1e-11 < e < 1]

    def run(self, search: bool) -> None:
        options = {"template": self.template, "max_rank": self.space.max_rank}
        for eps in self.thresholds():
            self.of_max_error(eps, tnsearch.certify(self.x, max_rse=eps, **options))
        params = int(self.rng.choice(self.space.params)) + int(self.rng.integers(-1, 2))
        if params > 0:
            self.of_max_params(params, tnsearch.certify(self.x, max_params=params, **options))
        weight = float(10 ** self.rng.uniform(-1, 4))
        self.of_lambda(weight, tnsearch.certify(self.x, lambda_=weight, **options))
        for index in self.rng.integers(0, len(self.space.params), 2):
            self.of_structure(int(index))
        if search:
            self.of_search(options)

    def least(self, errors_up_to: float) -> float:
        """The fewest parameters of what reaches an error, infinite where nothing does."""
        return float(np.min(self.space.params, where=self.space.errors <= errors_up_to, initial=math.inf))

    def of_max_error(self, eps: float, made: Any) -> None:
        self.counts["certify --max-rse"] += 1
        self.require(made.complete, "the relaxed problem was not solved")
        claimed = math.inf if made.proven_impossible else made.lower_bound["params"]
        self.params_bound("certify --max-rse", eps, claimed)
        # No weaker than it has to be.
        self.require(claimed >= self.least(eps + self.slack(eps)), "a weak bound on params", eps, claimed)

    def params_bound(self, claim: str, eps: float, claimed: float) -> None:
        """Nothing that reaches the error has fewer."""
        least = self.least(eps - 1e-14)
        self.require(claimed <= least, f"{claim}: the bound is beaten", eps, claimed, least)

    def of_max_params(self, most: int, made: Any) -> None:
        self.counts["certify --max-params"] += 1
        within = self.space.params <= most
        self.require(made.complete, "the relaxed problem was not solved")
        self.require(made.proven_impossible == (not within.any()), "max_params: impossible or not", most)
        if within.any():
            least = float(self.space.errors[within].min())
            claimed = made.lower_bound["rse"]
            self.require(claimed <= least + 1e-14, "max_params: the bound is beaten", most, claimed, least)
            self.require(claimed >= least - self.slack(least), "max_params: a weak bound", most, claimed, least)

    def of_lambda(self, weight: float, made: Any) -> None:
        self.counts["certify --lambda"] += 1
        least = float((self.space.params / self.space.entries + weight * self.space.errors).min())
        claimed = made.lower_bound["loss"]
        self.require(made.complete, "the relaxed problem was not solved")
        self.require(claimed <= least + 1e-13 * (1 + weight), "lambda: the bound is beaten", weight, claimed, least)
        self.require(claimed >= least - weight * self.slack(1.0) - 1e-12, "lambda: a weak bound", weight, claimed, least)

    def of_structure(self, index: int) -> None:
        self.counts["bound"] += 1
        made = tnsearch.bound(self.x, self.space.structure(index))
        params, error = self.space.params[index], float(self.space.errors[index])
        self.require(made.params == params, "bound: params", made.params, params)
        self.require(made.rse <= error + 1e-14, "bound: above what is possible", made.rse, error)
        self.require(made.rse >= error - self.slack(error), "bound: weak", made.rse, error)

    def of_search(self, options: dict[str, Any]) -> None:
        self.counts["search"] += 1
        eps = float(10 ** self.rng.uniform(-8, -0.5))
        # A whole answer is asked for: structures larger than the tensor count as well.
        strategy = str(self.rng.choice(STRATEGIES))
        limits = {} if strategy in ("auto", "exact") else {"max_evaluations": 60}
        found = tnsearch.search(
            self.x, max_rse=eps, strategy=strategy, seed=self.seed, max_phi=1e9, progress=False, **options, **limits
        )
        if found.lower_bound is not None and found.lower_bound["params"] is not None:
            self.params_bound(f"search by {strategy}", eps, found.lower_bound["params"])
        if found.proven_impossible:
            self.require(not (self.space.errors <= eps - 1e-14).any(), "search: impossible, it says", eps)
        if found.network is None:
            return
        told = json.loads(json.dumps(found.structure.to_dict()))
        params, error = self.measured(told, found.network.cores)
        self.require(params == found.params, "search: params", found.params, params)
        near = 1e-12 * (1 + math.sqrt(found.rse)) + 1e-9 * found.rse
        self.require(abs(error - found.rse) <= near, "search: its error", found.rse, error)
        self.require(found.target_reached == (found.rse <= eps), "search: reached or not", found.rse, eps)
        if strategy in OF_THEIR_OWN:
            return
        # No fit goes below the bound of its structure.
        low = self.lowest(told)
        self.require(error >= low - self.slack(low), "search: an error below what its structure can have", error, low)
        if found.certified_optimal:
            self.counts["certified"] += 1
            self.require(error <= eps + near, "search: optimal without reaching", error, eps)
            self.require(params <= self.least(eps - 1e-14), "search: optimal, it says", params, self.least(eps))

    def measured(self, structure: dict[str, Any], cores: list[np.ndarray]) -> tuple[int, float]:
        """The parameters and the error of a network, by einsum."""
        n = self.x.ndim
        operands: list[Any] = []
        for v, core in enumerate(cores):
            ends = [n + e for e, (a, b, _) in enumerate(structure["edges"]) if v in (a, b)]
            operands += [core, ends + [m for m in range(n) if structure["permutation"][m] == v]]
        z = np.einsum(*operands, list(range(n)), optimize="greedy")
        lost = np.linalg.norm(self.x - z) ** 2 / np.linalg.norm(self.x) ** 2
        return sum(core.size for core in cores), float(lost)

    def lowest(self, structure: dict[str, Any]) -> float:
        """The bound of one structure, found in the list of all."""
        ranks = {(u, v): r for u, v, r in structure["edges"]}
        row = [ranks.get(edge, ranks.get(edge[::-1], 1)) for edge in self.space.graph.edges]
        index = self.space.placements.index(tuple(structure["permutation"])) * len(self.space.ranks)
        index += int(np.flatnonzero((self.space.ranks == row).all(axis=1))[0])
        return float(self.space.errors[index])


def draw(seed: int) -> collections.Counter[str]:
    """All claims of one draw; a search in every third."""
    made = Draw(seed)
    made.run(search=seed % 3 == 0)
    return made.counts


#: Draws of one seed do not come to those of the next.
APART = 1_000_000_000
CLAIMS = ("certify --max-rse", "certify --max-params", "certify --lambda", "bound", "search")


def run(cases: int, seed: int, processes: int, report: float = 30.0) -> collections.Counter[str]:
    """Draws until there were so many cases; raises at the first that is wrong."""
    counts: collections.Counter[str] = collections.Counter()
    begun = said = time.monotonic()
    first = seed * APART
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        while True:
            for made in pool.imap(draw, range(first, first + 512), chunksize=8):
                counts += made
                done = sum(counts[name] for name in CLAIMS)
                if time.monotonic() - said > report:
                    said = time.monotonic()
                    print(f"{done} cases, {done / (said - begun):.0f}/s", flush=True)
                if done >= cases:
                    return counts
            first += 512


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=daily.seed(), help="by default today's date, or TNSEARCH_SEED")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    asked = parser.parse_args()
    begun = time.monotonic()
    print(f"seed {asked.seed}", flush=True)
    try:
        counts = run(asked.cases, asked.seed, asked.processes)
    except Wrong as wrong:
        print(f"WRONG {wrong}", file=sys.stderr)
        return 1
    for name in (*CLAIMS, "certified"):
        print(f"{name:22} {counts[name]:8}")
    total = sum(counts[name] for name in CLAIMS)
    print(f"{total} cases, all as enumerated, in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
