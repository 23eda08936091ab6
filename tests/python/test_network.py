"""Networks written by the command mean the same to numpy as to the command."""

import numpy as np
import pytest
import safetensors.numpy
from conftest import relative_error

# Uneven dimensions, shuffled modes, rank-1 edges, internal vertices: whatever could be confused.
STRUCTURES = {
    "ring": {
        "template": "ring",
        "permutation": [2, 0, 3, 1],
        "edges": [[0, 1, 2], [0, 3, 3], [1, 2, 2], [2, 3, 4]],
    },
    "ring with a rank-1 edge": {
        "template": "ring",
        "permutation": [1, 3, 0, 2],
        "edges": [[0, 1, 2], [0, 3, 1], [1, 2, 3], [2, 3, 2]],
    },
    "edges left out": {"template": "complete", "permutation": [3, 2, 0, 1], "edges": [[1, 2, 2], [0, 3, 2]]},
    "path": {
        "template": "path",
        "permutation": [3, 0, 2, 1],
        "edges": [[0, 1, 2], [1, 2, 3], [2, 3, 2]],
    },
    "internal vertex": {
        "template": {
            "vertices": [{"mode": True}, {"mode": False}, {"mode": True}, {"mode": True}, {"mode": True}],
            "edges": [[0, 1], [1, 2], [1, 3], [3, 4]],
        },
        "permutation": [4, 2, 0, 3],
        "edges": [[0, 1, 2], [1, 2, 2], [1, 3, 3], [3, 4, 2]],
    },
    "internal vertex without edges": {
        "template": {
            "vertices": [{"mode": True}, {"mode": True}, {"mode": True}, {"mode": True}, {"mode": False}],
            "edges": [[0, 1], [1, 2], [2, 3], [3, 4]],
        },
        "permutation": [2, 1, 3, 0],
        "edges": [[0, 1, 2], [1, 2, 2], [2, 3, 2], [3, 4, 1]],
    },
    "several modes at a vertex": {
        "template": {
            "vertices": [{"mode": True}, {"mode": False}, {"mode": True}, {"mode": True}],
            "edges": [[0, 1], [1, 2], [1, 3]],
        },
        "permutation": [2, 0, 2, 3],
        "edges": [[0, 1, 2], [1, 2, 3], [1, 3, 2]],
    },
}


@pytest.fixture(params=STRUCTURES)
def fitted(request, fit, tmp_path):
    """A tensor, its structure, the report of its fit and the network file."""
    structure = STRUCTURES[request.param]
    x = np.random.default_rng(7).standard_normal((3, 4, 2, 5))
    np.save(tmp_path / "X.npy", x)
    return x, structure, *fit(tmp_path / "X.npy", structure, "--seed", 3)


def test_numpy_contracts_to_what_was_reported(fitted, read_network):
    x, _, report, net = fitted
    z = read_network(net)
    assert z.shape == x.shape
    # Noise is not low-rank, so the error is far from 0 and a wrong axis would show.
    assert 0.1 < report["rse"] < 1
    assert relative_error(x, z) == pytest.approx(report["re"], rel=1e-12)
    assert report["rse"] == pytest.approx(report["re"] ** 2, rel=1e-12)


def test_reconstruct_equals_numpy(fitted, read_network, tnsearch, tmp_path):
    _, _, _, net = fitted
    tnsearch("reconstruct", net, "-o", tmp_path / "Z.npy")
    z = np.load(tmp_path / "Z.npy")
    assert z.dtype == np.float64
    np.testing.assert_allclose(z, read_network(net), rtol=1e-12, atol=1e-13)


def test_safetensors_reads_the_cores(fitted):
    _, structure, report, net = fitted
    cores = safetensors.numpy.load_file(net)
    graph = structure["template"]
    vertices = len(graph["vertices"]) if isinstance(graph, dict) else 4
    assert sorted(cores) == sorted(f"core.{v}" for v in range(vertices))
    ranks = {v: [r for a, b, r in structure["edges"] if v in (a, b) and r > 1] for v in range(vertices)}
    for mode, dim in enumerate((3, 4, 2, 5)):
        ranks[structure["permutation"][mode]].append(dim)
    for v in range(vertices):
        assert [d for d in cores[f"core.{v}"].shape if d > 1] == ranks[v]
    assert report["params"] == sum(core.size for core in cores.values())


def test_a_single_vertex_is_the_tensor(fit, read_network, tmp_path):
    x = np.random.default_rng(8).standard_normal((3, 4, 2))
    np.save(tmp_path / "X.npy", x)
    structure = {"template": {"vertices": [{"mode": True}], "edges": []}, "permutation": [0, 0, 0], "edges": []}
    report, net = fit(tmp_path / "X.npy", structure)
    assert (report["rse"], report["params"]) == (0, 24)
    np.testing.assert_array_equal(read_network(net), x)
