"""Entries and sums of networks, against NumPy on the dense tensor."""

import numpy as np
import pytest
from conftest import STRUCTURES, dense, random_network

import tnsearch

DTYPES = ["float64", "float32", "complex128", "complex64"]


def near(got, want, dtype="float64"):
    """Same shape and dtype, and entries as near as numbers of that dtype allow."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    tolerance = 1e-4 if np.finfo(dtype).bits == 32 else 1e-11
    assert np.abs(got - want).max(initial=0) <= tolerance * (1 + np.abs(want).max(initial=0))


def keys(ndim):
    """Ways to index a tensor of so many modes."""
    yield 0
    yield -1
    yield slice(None)
    yield slice(None, None, -1)
    yield slice(1, 1)
    yield ...
    yield (..., 1)
    yield (0, ..., slice(0, 2))
    yield ()
    yield (0,) * ndim
    yield (-1,) * ndim
    yield (slice(0, 2),) * ndim
    yield (np.int64(1), ...)
    yield tuple(slice(None) if n % 2 else 1 for n in range(ndim))
    yield tuple(slice(None, None, 2) if n % 2 else slice(-2, None) for n in range(ndim))


def test_parts_are_those_of_the_dense_tensor(network):
    x = dense(network)
    for key in keys(x.ndim):
        near(network[key], x[key])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["ring", "internal vertices", "several modes on a vertex"])
def test_every_kind_of_number(name, dtype):
    network = random_network(*STRUCTURES[name], dtype=dtype)
    assert network.dtype == dtype
    x = dense(network)
    kind = str(x.dtype)
    near(network.to_dense(), x, kind)
    near(network[..., 0], x[..., 0], kind)
    near(network[(0,) * x.ndim], x[(0,) * x.ndim], kind)
    rows = np.argwhere(np.ones(x.shape, bool))[::-3]
    near(network.entries(rows), x[tuple(rows.T)], kind)
    rng = np.random.default_rng(0)
    for other in ("float32", "float64", "complex64"):
        v = rng.standard_normal(x.shape[-1]).astype(other)
        near(network @ v, x @ v, "float32")


def test_entries_by_an_array_of_indices(network):
    x = dense(network)
    rng = np.random.default_rng(1)
    rows = np.stack([rng.integers(-side, side, 50) for side in x.shape], axis=1)
    near(network.entries(rows), x[tuple(rows.T)])
    near(network.entries(rows.astype("int32").tolist()), x[tuple(rows.T)])
    assert network.entries(np.empty((0, x.ndim), int)).shape == (0,)


def test_sums_over_modes(network):
    x = dense(network)
    rng = np.random.default_rng(2)
    v = rng.standard_normal(x.shape[-1])
    a = rng.standard_normal((x.shape[-1], 3))
    near(network @ v, x @ v)
    near(network @ a, x @ a)
    u = rng.standard_normal(x.shape[-2])
    b = rng.standard_normal((4, x.shape[-2]))
    near(u @ network, np.matmul(u, x))
    near(b @ network, np.matmul(b, x))
    near(network @ v.tolist(), x @ v)
    # All modes at once give a number.
    vectors = [rng.standard_normal(side) for side in x.shape]
    want = x
    for vector in vectors:
        want = np.tensordot(vector, want, (0, 0))
    near(network.apply(dict(enumerate(vectors))), want)
    first = rng.standard_normal((x.shape[0], 2))
    want = np.moveaxis(np.tensordot(first, x, (0, 0)), 0, 0)[..., 0]
    last = np.eye(x.shape[-1])[0]
    near(network.apply({0: first, -1: last}), want)


RESHAPES = [
    {"split": 2},
    {"split": "4x2,2x3,5", "column_major": True},
    {"reshape": (16, 3, 5)},
    {"reshape": (6, 40)},
    {"reshape": (24, 2, 5), "column_major": True},
]


@pytest.mark.parametrize("options", RESHAPES, ids=str)
def test_reshaped_networks_are_tensors_in_their_own_shape(options):
    x = np.random.default_rng(3).standard_normal((8, 6, 5))
    network = tnsearch.decompose(x, max_re=0, **options).network
    assert network.reshaped and tuple(network.shape) == x.shape and network.ndim == 3
    near(network.to_dense(), x)
    for key in keys(3):
        near(network[key], x[key])
    rows = np.argwhere(x > 0)
    near(network.entries(rows), x[x > 0])
    rng = np.random.default_rng(4)
    for mode, side in enumerate(x.shape):
        v, a = rng.standard_normal(side), rng.standard_normal((side, 2))
        near(network.apply({mode: v}), np.tensordot(x, v, (mode, 0)))
        near(network.apply({mode: a}), np.moveaxis(np.tensordot(x, a, (mode, 0)), -1, mode))
    near(network @ x[0, 0], x @ x[0, 0])
    near(x[0, :, 0] @ network, x[0, :, 0] @ x)


def test_forty_modes_are_never_made_dense():
    order = 40
    path = {"template": "path", "permutation": list(range(order)), "edges": [[k, k + 1, 2] for k in range(order - 1)]}
    structure = tnsearch.Structure(path)
    network = tnsearch.Network(structure, [np.full(structure.core_shape(v, [4] * order), 0.5) for v in range(order)])
    # Every core is 1/2: an entry is the sum over 2^39 paths of 2^-40.
    assert network[(0,) * order] == 0.5
    assert network.entries(np.ones((3, order), int)).tolist() == [0.5] * 3
    assert network[(slice(0, 2),) + (1,) * (order - 1)].tolist() == [0.5, 0.5]
    ones = {mode: np.ones(4) for mode in range(order)}
    assert network.apply(ones) == 0.5 * 4.0**order
    with pytest.raises(MemoryError, match="needs about"):
        network.to_dense()
    with pytest.raises(MemoryError, match="needs about"):
        network @ np.ones(4)
    assert network.nbytes == 8 * network.params and network.size == 4**order


def test_a_network_looks_like_an_array():
    network = random_network(*STRUCTURES["ring"])
    x = dense(network)
    assert (len(network), network.ndim, network.dtype, network.size) == (3, 4, np.float64, 120)
    near(np.asarray(network), x)
    near(np.asarray(network, dtype="float32"), x.astype("float32"), "float32")
    with pytest.raises(ValueError, match="always a new array"):
        network.__array__(copy=False)
    for part, expected in zip(network, x, strict=True):
        near(part, expected)
    # Arithmetic does not make it dense unasked.
    with pytest.raises(TypeError):
        x + network


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, "index 3 is out of range for mode 0 of length 3"),
        ((0, -5), "index -5 is out of range for mode 1 of length 4"),
        (2**70, "out of range"),
        ((0,) * 5, "5 indices were given; the tensor has 4 modes"),
        ((..., ...), "one '...' at most"),
        ([0, 1], "takes an array of indices"),
        (None, "indices are integers, slices"),
        (True, "indices are integers, slices"),
        (1.0, "indices are integers, slices"),
        ("a", "indices are integers, slices"),
    ],
)
def test_wrong_indices_are_refused(key, words):
    with pytest.raises(IndexError, match=words.replace("...", r"\.\.\.")):
        random_network(*STRUCTURES["ring"])[key]


def test_wrong_arrays_are_refused():
    network = random_network(*STRUCTURES["ring"])
    with pytest.raises(TypeError, match="must be integers"):
        network.entries(np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"shape \(m, 4\)"):
        network.entries(np.zeros((2, 3), int))
    with pytest.raises(IndexError, match="index 9 is out of range for mode 3 of length 5"):
        network.entries([[0, 0, 0, 9]])
    with pytest.raises(ValueError, match="mode 3 has length 5"):
        network @ np.ones(4)
    with pytest.raises(ValueError, match="a vector or a matrix"):
        network @ np.ones((5, 5, 5))
    with pytest.raises(ValueError, match="a vector or a matrix"):
        network @ 3.0
    with pytest.raises(TypeError):
        network @ "vector"
    with pytest.raises(IndexError, match="no mode 4"):
        network.apply({4: np.ones(3)})
    with pytest.raises(ValueError, match="given twice"):
        network.apply({0: np.ones(3), -4: np.ones(3)})
