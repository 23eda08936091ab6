"""The decompositions against tensorly's: same data, same ranks."""

import json

import numpy as np
import pytest
import tensorly as tl
from conftest import relative_error
from tensorly.decomposition import tensor_ring, tensor_ring_als, tensor_train

SHAPES = [(4, 5, 3, 4), (6, 2, 7), (3, 3, 3, 3, 3), (9, 4, 1, 5)]


@pytest.fixture
def decompose(tnsearch, tmp_path):
    """Decomposes an array; returns the report and the network file."""

    def run(x, method, *options):
        np.save(tmp_path / "P.npy", x)
        net = tmp_path / "net.safetensors"
        line = ["decompose", tmp_path / "P.npy", "--method", method, "--json", "-", "-o", net]
        return json.loads(tnsearch(*line, *options)), net

    return run


def commas(numbers):
    return ",".join(map(str, numbers))


def random_ring(rng, dims, ranks, noise=0.0):
    """A ring with these ranks along it, and noise of that relative size (in RE)."""
    cores = [rng.normal(size=(ranks[k - 1], d, ranks[k])) for k, d in enumerate(dims)]
    z = tl.tr_to_tensor(cores)
    e = rng.normal(size=z.shape)
    return z + noise * e * np.linalg.norm(z) / np.linalg.norm(e)


@pytest.mark.parametrize("dims", SHAPES)
def test_tt_svd(dims, decompose, read_network):
    rng = np.random.default_rng(1)
    x = rng.normal(size=dims)
    for rank in (1, 2, 3, 7):
        report, net = decompose(x, "tt-svd", "--ranks", rank)
        theirs = tensor_train(x, rank=[1] + [rank] * (len(dims) - 1) + [1])
        found = [edge[2] for edge in report["edges"]]
        assert found == [core.shape[2] for core in theirs][:-1]
        assert report["re"] == pytest.approx(relative_error(x, tl.tt_to_tensor(theirs)), rel=1e-12, abs=1e-14)
        assert relative_error(x, read_network(net)) == pytest.approx(report["re"], rel=1e-12, abs=1e-14)


def test_tt_svd_with_modes_elsewhere(decompose):
    x = np.random.default_rng(2).normal(size=(4, 5, 3, 4))
    perm = [2, 0, 3, 1]  # vertex of each mode
    report, _ = decompose(x, "tt-svd", "--ranks", "2,3,2", "--perm", commas(perm))
    theirs = tensor_train(x.transpose(np.argsort(perm)), rank=[1, 2, 3, 2, 1])
    error = relative_error(x.transpose(np.argsort(perm)), tl.tt_to_tensor(theirs))
    assert report["re"] == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize(
    ("dims", "ranks"),  # ranks along the ring, the closing edge last
    [
        ((4, 5, 3, 4), [2, 3, 4, 2]),
        ((4, 5, 3, 4), [1, 3, 3, 3]),
        ((9, 4, 5), [3, 4, 3]),
        ((6, 2, 7), [3, 2, 1]),
        ((6, 3, 3, 3, 3), [2, 4, 5, 4, 3]),
        ((6, 3, 3, 3, 3), [2, 100, 100, 100, 3]),
    ],
)
def test_tr_svd(dims, ranks, decompose, read_network):
    x = np.random.default_rng(3).normal(size=dims)
    report, net = decompose(x, "tr-svd", "--ranks", commas(ranks))
    theirs = tensor_ring(x, rank=[ranks[-1], *ranks])
    assert report["params"] == sum(core.size for core in theirs)
    error = relative_error(x, tl.tr_to_tensor(theirs))
    assert report["re"] == pytest.approx(error, rel=1e-12, abs=1e-14)
    assert relative_error(x, read_network(net)) == pytest.approx(report["re"], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize(("dims", "ranks"), [((6, 5, 7), [2, 2, 2]), ((5, 4, 6, 4), [2, 3, 2, 2])])
def test_tr_als(dims, ranks, noise, decompose):
    """tensorly takes no start, so both are run from several starts until nothing moves; the best counts."""
    x = random_ring(np.random.default_rng(4), dims, ranks, noise)
    report, _ = decompose(x, "tr-als", "--ranks", commas(ranks), "--restarts", 5, "--max-sweeps", 2000,
                          "--tolerance", 0)  # fmt: skip
    rings = (
        tensor_ring_als(x, [ranks[-1], *ranks], n_iter_max=400, tol=1e-14, random_state=seed)
        for seed in range(5)
    )
    theirs = min(relative_error(x, tl.tr_to_tensor(ring)) for ring in rings)
    if noise:
        assert report["re"] == pytest.approx(theirs, rel=1e-9)
        assert 0.5 * noise < theirs < noise
    else:
        assert report["re"] < 1e-6 and theirs < 1e-6


def test_the_error_asked_for_costs_no_more_than_theirs(decompose):
    """The ranks chosen for an error are at most those with which tensorly reaches it by equal shares."""
    x = random_ring(np.random.default_rng(5), (5, 4, 6, 4), [2, 3, 2, 1], 0.01)
    report, _ = decompose(x, "tt-svd", "--max-rse", 1e-3, "--shares", "equal")
    assert report["rse"] <= 1e-3
    ranks = [edge[2] for edge in report["edges"]]
    assert ranks == [2, 3, 2]
    theirs = tensor_train(x, rank=[1, *ranks, 1])
    assert report["re"] == pytest.approx(relative_error(x, tl.tt_to_tensor(theirs)), rel=1e-12)
