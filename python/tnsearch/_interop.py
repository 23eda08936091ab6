"""Networks for other packages, and theirs as ours: quimb, tensorly, einsum, opt_einsum, cotengra, PyTorch, JAX.

All of them have the modes of :attr:`Network.dims`: where the tensor was reshaped before it was fitted, ``to_dense()``
alone gives it back in its own shape.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ._core import Network, Structure


def needed(package: str, function: str, install: str | None = None) -> Any:
    """A module that need not be there.

    >>> needed("no_such_package", "to_nothing()")
    Traceback (most recent call last):
        ...
    ImportError: to_nothing() needs no_such_package: pip install no_such_package
    """
    try:
        return importlib.import_module(package)
    except ImportError as missing:
        name = install or package.partition(".")[0]
        raise ImportError(f"{function} needs {package.partition('.')[0]}: pip install {name}") from missing


def incident(structure: Structure) -> list[list[int]]:
    """The edges at each vertex, in the order of the axes of its core."""
    at: list[list[int]] = [[] for _ in structure.modes]
    for e, (u, v, _) in enumerate(structure.edges):
        at[u].append(e)
        at[v].append(e)
    return at


# quimb


def to_quimb(network: Network, outer: str, kind: str | None = None) -> Any:
    """See :meth:`Network.to_quimb`."""
    if kind not in (None, "mps"):
        raise ValueError(f"kind is {kind!r}; it must be 'mps' (a MatrixProductState), or None (a TensorNetwork)")
    qtn = needed("quimb.tensor", "to_quimb()", "quimb")
    if len({outer.format(n) for n in range(2)}) < 2:
        raise ValueError(f"outer is {outer!r}; it must have {{}} where the number of the mode goes")
    if kind == "mps":
        from ._mps import train

        return qtn.MatrixProductState(train(network), shape="lrp", site_ind_id=outer)
    structure = network.structure
    # A hyperedge is one index on all its tensors; its hub is none of them.
    cp = structure.template == "cp"
    bonds = ["b" if cp else f"b{u}_{v}" for u, v, _ in structure.edges]
    tensors = []
    parts = zip(network.cores, incident(structure), structure.modes, strict=True)
    for vertex, (core, edges, modes) in enumerate(parts):
        if cp and not modes:
            continue
        inds = [bonds[e] for e in edges] + [outer.format(n) for n in modes]
        tags = [f"CORE{vertex}"] + [f"I{n}" for n in modes]
        tensors.append(qtn.Tensor(core, inds=inds, tags=tags))
    return qtn.TensorNetwork(tensors)


def from_quimb(tn: Any, outer: Sequence[str] | None, rse: float | None) -> Network:
    """See :meth:`Network.from_quimb`."""
    needed("quimb", "from_quimb()")
    if not hasattr(tn, "ind_map") or not hasattr(tn, "tensors"):
        raise TypeError(f"tn is a {type(tn).__name__}; it must be a quimb.tensor.TensorNetwork")
    modes = outer_order(tn.outer_inds(), outer)
    wide = [ind for ind, holders in tn.ind_map.items() if len(holders) > 2]
    if wide:
        return of_hyperedge(tn, wide, modes, rse)
    arrays, inds = [], []
    scale: Any = 10.0 ** float(getattr(tn, "exponent", 0.0))
    for tensor in tn.tensors:
        data = np.asarray(tensor.data)
        if len(set(tensor.inds)) < len(tensor.inds):
            raise ValueError(f"a tensor has an index twice, {tensor.inds}; trace it first")
        if data.ndim == 0:
            scale = scale * data
        else:
            arrays.append(data)
            inds.append(list(tensor.inds))
    if not arrays:
        raise ValueError("tn has no tensor with an index")
    if scale != 1.0:
        arrays[0] = arrays[0] * scale
    return of_graph(arrays, inds, modes, rse)


def of_hyperedge(tn: Any, wide: list[str], modes: list[str], rse: float | None) -> Network:
    """A network whose tensors all share one index: a CP."""
    ind = wide[0]
    tensors = {}
    scale: Any = 10.0 ** float(getattr(tn, "exponent", 0.0))
    for tensor in tn.tensors:
        own = [name for name in tensor.inds if name != ind]
        if len(tensor.inds) == 0:
            scale = scale * np.asarray(tensor.data)
        elif len(own) != 1 or own[0] not in modes or ind not in tensor.inds or own[0] in tensors:
            holders = len(tn.ind_map[ind])
            raise ValueError(
                f"index {ind!r} is on {holders} tensors; an edge joins two, or one index joins a matrix for each mode (a CP)"
            )
        else:
            tensors[own[0]] = np.asarray(tensor.data).transpose([tensor.inds.index(ind), tensor.inds.index(own[0])])
    factors = [tensors[mode] for mode in modes]
    factors[0] = factors[0] * scale
    return of_cp(factors, list(range(len(factors))), rse)


def of_cp(factors: list[Any], places: list[int], rse: float | None) -> Network:
    """A CP of factors of R rows each, in the order of the modes, which stand at these vertices."""
    order, rank = len(factors), factors[0].shape[0]
    kind = np.result_type(*factors)
    cores: list[Any] = [None] * order
    for factor, place in zip(factors, places, strict=True):
        cores[place] = np.ascontiguousarray(factor, dtype=kind)
    structure = Structure("cp", places, [[v, order, rank] for v in range(order)])
    return Network(structure, [*cores, np.ones(rank, dtype=kind)], rse)


def outer_order(there: Iterable[str], outer: Sequence[str] | None) -> list[str]:
    """The outer indices in the order of the modes.

    >>> outer_order(["k10", "k9", "k2"], None)
    ['k2', 'k9', 'k10']
    """
    there = list(there)
    if outer is not None:
        outer = [outer] if isinstance(outer, str) else list(outer)
        if sorted(map(str, outer)) != sorted(map(str, there)):
            raise ValueError(f"outer is {outer}; the outer indices of tn are {sorted(map(str, there))}")
        return outer
    numbered = [re.fullmatch(r"(.*?)(\d+)", str(ind)) for ind in there]
    found = [m for m in numbered if m is not None]
    if len(found) < len(there) or len({m[1] for m in found}) > 1:
        raise ValueError(
            f"the outer indices {sorted(map(str, there))} are not k0, k1, ...; give outer=[...] in the order of the modes"
        )
    return [ind for _, ind in sorted(zip([int(m[2]) for m in found], there, strict=True))]


def of_graph(arrays: list[Any], inds: list[list[str]], modes: list[str], rse: float | None) -> Network:
    """A network of tensors with named axes: an axis that two share is an edge; ``modes`` are the others, in order."""
    vertex_of = {ind: v for v, names in enumerate(inds) for ind in names if ind in set(modes)}
    ends: dict[str, list[int]] = {}
    for v, names in enumerate(inds):
        for ind in names:
            if ind not in vertex_of:
                ends.setdefault(ind, []).append(v)
    # Several edges between the same two vertices are one.
    bundles: dict[tuple[int, int], list[str]] = {}
    for ind, (u, v) in ends.items():
        bundles.setdefault((u, v), []).append(ind)
    for pair in joints(len(arrays), bundles):
        bundles[pair] = []
    order = sorted(bundles)
    ranks, cores = {}, []
    for v, (array, names) in enumerate(zip(arrays, inds, strict=True)):
        axes, shape = [], []
        for pair in order:
            if v in pair:
                along = [names.index(ind) for ind in bundles[pair]]
                axes += along
                ranks[pair] = int(np.prod([array.shape[a] for a in along], dtype=int))
                shape.append(ranks[pair])
        for ind in modes:
            if vertex_of[ind] == v:
                axes.append(names.index(ind))
                shape.append(array.shape[axes[-1]])
        cores.append(array.transpose(axes).reshape(shape))
    on = set(vertex_of.values())
    structure = Structure(
        {
            "vertices": [{"mode": v in on} for v in range(len(arrays))],
            "edges": [list(pair) for pair in order],
        },
        [vertex_of[ind] for ind in modes],
        [[u, v, ranks[u, v]] for u, v in order],
    )
    return Network(structure, cores, rse)


def joints(vertices: int, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Edges from vertex 0 that make a graph hang together.

    >>> joints(4, [(0, 2), (1, 3)])
    [(0, 1)]
    """
    part = list(range(vertices))

    def join(u: int, v: int) -> bool:
        p, q = part[u], part[v]
        part[:] = [p if x == q else x for x in part]
        return p != q

    for u, v in edges:
        join(u, v)
    return [(0, v) for v in range(1, vertices) if join(0, v)]


# tensorly


def to_tensorly(network: Network) -> tuple[Any, list[int]]:
    """See :meth:`Network.to_tensorly`."""
    needed("tensorly", "to_tensorly()")
    structure, cores = network.structure, network.cores
    modes, edges = structure.modes, structure.edges
    if structure.template == "cp":
        factors = [cores[v].T for v in structure.permutation]
        made = needed("tensorly.cp_tensor", "to_tensorly()").CPTensor
        return made((None, factors)), list(range(structure.order))
    inner = [v for v, at in enumerate(modes) if not at]
    if len(inner) == 1 and len(edges) == len(modes) - 1 and all(inner[0] in e[:2] for e in edges):
        if all(len(at) <= 1 for at in modes):
            return tucker_of(structure, cores, inner[0])
    line = None if inner or any(len(at) > 1 for at in modes) else walk(structure)
    if line is None:
        raise ValueError(
            f"to_tensorly() takes paths, rings, Tucker networks and CPs with one mode on each vertex, not {network!r}; "
            "to_quimb() takes any network"
        )
    order, ring = line
    at = incident(structure)
    factors = []
    for k, v in enumerate(order):
        # Left neighbour, mode, right neighbour; a path has none at its ends, and other edges have rank 1.
        left = order[k - 1] if ring or k > 0 else -1
        right = order[(k + 1) % len(order)] if ring or k + 1 < len(order) else -1
        axes = {sum(edges[e][:2]) - v: axis for axis, e in enumerate(at[v])}
        wanted = [axes.get(left), len(at[v]), axes.get(right)]
        shape = [1 if axis is None else cores[v].shape[axis] for axis in wanted]
        kept = [axis for axis in wanted if axis is not None]
        rest = [axis for axis in range(len(at[v])) if axis not in kept]
        factors.append(cores[v].transpose(rest + kept).reshape(shape))
    position = {v: k for k, v in enumerate(order)}
    permutation = [position[v] for v in structure.permutation]
    if ring:
        return needed("tensorly.tr_tensor", "to_tensorly()").TRTensor(factors), permutation
    return needed("tensorly.tt_tensor", "to_tensorly()").TTTensor(factors), permutation


def tucker_of(structure: Structure, cores: list[Any], centre: int) -> tuple[Any, list[int]]:
    """The core and the factors of each mode."""
    factors = [cores[structure.permutation[n]].T for n in range(structure.order)]
    along = [sum(e[:2]) - centre for e in structure.edges]
    axes = [along.index(structure.permutation[n]) for n in range(structure.order)]
    made = needed("tensorly.tucker_tensor", "to_tensorly()").TuckerTensor
    return made((cores[centre].transpose(axes), factors)), list(range(structure.order))


def walk(structure: Structure) -> tuple[list[int], bool] | None:
    """The vertices along a path or a ring, and whether it is a ring; none where it is neither."""
    vertices = len(structure.modes)
    real = [(u, v) for u, v, rank in structure.edges if rank > 1]
    if structure.template == "ring":
        return list(range(vertices)), True
    neighbours: list[list[int]] = [[] for _ in range(vertices)]
    for a, b in real:
        neighbours[a].append(b)
        neighbours[b].append(a)
    if any(len(near) > 2 for near in neighbours):
        return None
    ring = vertices > 2 and all(len(near) == 2 for near in neighbours)
    order: list[int] = []
    # Parts that hang together by rank 1 only follow each other.
    for start in [0] if ring else [w for w in range(vertices) if len(neighbours[w]) < 2]:
        v: int | None = start
        while v is not None and v not in order:
            order.append(v)
            v = next((w for w in neighbours[v] if w not in order), None)
    return (order, ring) if len(order) == vertices else None


def from_tensorly(factors: Any, permutation: Sequence[int] | None, rse: float | None) -> Network:
    """See :meth:`Network.from_tensorly`."""
    kind = type(factors).__name__
    if kind == "CPTensor":
        weights, matrices = factors
        arrays = [as_array(matrix) for matrix in matrices]
        if any(a.ndim != 2 or a.shape[1] != arrays[0].shape[1] for a in arrays):
            raise ValueError("the factors of a CPTensor must be matrices of one number of columns")
        if weights is not None:
            arrays[0] = arrays[0] * as_array(weights)
        order = len(arrays)
        places = list(range(order)) if permutation is None else [int(p) for p in permutation]
        if sorted(places) != list(range(order)):
            raise ValueError(f"permutation is {permutation}; it must name each of the {order} factors once")
        return of_cp([arrays[p].T for p in places], list(range(order)), rse)
    if kind == "TuckerTensor" or is_tucker(factors):
        core, matrices = factors
        arrays = [as_array(core), *map(as_array, matrices)]
        order = len(arrays) - 1
        inds = [[f"b{n}" for n in range(order)]] + [[f"k{n}", f"b{n}"] for n in range(order)]
        if arrays[0].ndim != order or any(a.ndim != 2 for a in arrays[1:]):
            raise ValueError(f"a core of {arrays[0].ndim} axes has {order} factors; it needs one matrix for each axis")
        ranks = [(arrays[0].shape[n], arrays[n + 1].shape[1]) for n in range(order)]
        for n, (a, b) in enumerate(ranks):
            if a != b:
                raise ValueError(f"axis {n} of the core is {a} long, its factor has {b} columns")
    elif kind in ("TTTensor", "TRTensor") or isinstance(factors, (list, tuple)):
        arrays = [as_array(factor) for factor in factors]
        if len(arrays) < 2 or any(a.ndim != 3 for a in arrays):
            raise ValueError("factors must be at least two cores of three axes each: rank, dimension, rank")
        for k, core in enumerate(arrays):
            following = arrays[(k + 1) % len(arrays)]
            if core.shape[2] != following.shape[0]:
                a, b = core.shape[2], following.shape[0]
                raise ValueError(f"core {k} ends with rank {a}, but the next begins with {b}")
        order = len(arrays)
        inds = [[f"b{k}", f"k{k}", f"b{(k + 1) % order}"] for k in range(order)]
        if arrays[0].shape[0] == 1:
            arrays[0], arrays[-1] = arrays[0][0], arrays[-1][:, :, 0]
            inds[0], inds[-1] = inds[0][1:], inds[-1][:2]
    else:
        raise TypeError(f"factors is a {kind}; it must be a TTTensor, TRTensor, TuckerTensor or CPTensor, or a list of cores")
    places = list(range(order)) if permutation is None else [int(p) for p in permutation]
    if sorted(places) != list(range(order)):
        raise ValueError(f"permutation is {places}; it must have each of 0 to {order - 1} once")
    return of_graph(arrays, inds, [f"k{p}" for p in places], rse)


def is_tucker(factors: Any) -> bool:
    """Whether it is a core and a list of matrices."""
    return isinstance(factors, tuple) and len(factors) == 2 and isinstance(factors[1], (list, tuple))


def as_array(array: Any) -> Any:
    """A NumPy array of one of any backend."""
    from ._arrays import shared

    return np.asarray(shared(array))


# einsum


def symbol(n: int) -> str:
    """The n-th letter, as opt_einsum has them.

    >>> symbol(0), symbol(27), symbol(52)
    ('a', 'B', 'À')
    """
    if n < 52:
        return chr(ord("a") + n) if n < 26 else chr(ord("A") + n - 26)
    # Not the surrogates, which are no letters.
    return chr(n + 140) if n < 55_156 else chr(n + 2188)


def einsum(network: Network) -> tuple[str, list[Any]]:
    """See :meth:`Network.einsum`."""
    inputs, output, _ = labels(network)
    return ",".join(map("".join, inputs)) + "->" + "".join(output), network.cores


def labels(network: Network) -> tuple[list[list[str]], list[str], dict[str, int]]:
    """The labels of each core's axes, those of the modes, and how long each is."""
    structure, dims = network.structure, network.dims
    modes = [symbol(n) for n in range(len(dims))]
    bonds = [symbol(len(dims) + e) for e in range(len(structure.edges))]
    parts = zip(incident(structure), structure.modes, strict=True)
    inputs = [[bonds[e] for e in edges] + [modes[n] for n in at] for edges, at in parts]
    sizes = dict(zip(modes + bonds, list(dims) + structure.ranks, strict=True))
    return inputs, modes, sizes


def contraction_path(network: Network, optimizer: Any) -> list[tuple[int, ...]]:
    """See :meth:`Network.contraction_path`."""
    inputs, output, sizes = labels(network)
    if not isinstance(optimizer, str):
        if not callable(optimizer):
            text = "a name, or an optimizer of opt_einsum or cotengra"
            raise TypeError(f"optimizer is a {type(optimizer).__name__}; it must be {text}")
        found: Any = optimizer([frozenset(i) for i in inputs], frozenset(output), sizes)
        return [tuple(map(int, step)) for step in found]
    opt_einsum: Any = None
    with suppress(ImportError):
        opt_einsum = importlib.import_module("opt_einsum")
    if opt_einsum is not None and optimizer in known_to_opt_einsum(opt_einsum):
        shapes = [core.shape for core in network.cores]
        text, _ = einsum(network)
        path, _ = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=optimizer)
        return [tuple(map(int, step)) for step in path]
    cotengra = needed("cotengra", f"contraction_path({optimizer!r})", "cotengra or opt_einsum")
    try:
        path = cotengra.array_contract_path(inputs, output, size_dict=sizes, optimize=optimizer)
    except (KeyError, ValueError) as unknown:
        names = sorted(known_to_opt_einsum(opt_einsum)) if opt_einsum is not None else []
        text = f"optimizer is {optimizer!r}; opt_einsum knows {', '.join(names)}, and cotengra its presets"
        raise ValueError(text) from unknown
    return [tuple(map(int, step)) for step in path]


def known_to_opt_einsum(opt_einsum: Any) -> set[str]:
    """The names of its algorithms."""
    return {name for name in opt_einsum.paths._PATH_OPTIONS if isinstance(name, str)} - {"hybrid"}


# PyTorch and JAX


def to_torch(network: Network, device: Any, requires_grad: bool) -> list[Any]:
    """See :meth:`Network.to_torch`."""
    torch = needed("torch", "to_torch()")
    # Copies: what is done to them does not reach the network.
    tensors = [torch.from_numpy(core.copy()) for core in network.cores]
    if device is not None:
        tensors = [tensor.to(device) for tensor in tensors]
    return [tensor.requires_grad_(requires_grad) for tensor in tensors]


def to_jax(network: Network) -> list[Any]:
    """See :meth:`Network.to_jax`."""
    jax = needed("jax", "to_jax()", "jax[cpu]")
    cores = network.cores
    if cores[0].dtype in (np.float64, np.complex128) and not jax.config.jax_enable_x64:
        raise ValueError(
            f"JAX would round the {cores[0].dtype} cores to 32 bits; "
            'call jax.config.update("jax_enable_x64", True) before, or compute with dtype="f32"'
        )
    return [jax.numpy.array(core) for core in cores]
