"""Networks written by `tnsearch fit` mean the same to numpy as to the command."""

import json

import numpy as np
import pytest
import safetensors.numpy

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
}


def rse(x, z):
    return np.sum((x - z) ** 2) / np.sum(x**2)


@pytest.fixture(params=STRUCTURES)
def fitted(request, tnsearch, tmp_path):
    """A tensor, its structure, the report of its fit and the network file."""
    structure = STRUCTURES[request.param]
    x = np.random.default_rng(7).standard_normal((3, 4, 2, 5))
    np.save(tmp_path / "X.npy", x)
    (tmp_path / "s.json").write_text(json.dumps(structure))
    net = tmp_path / "net.safetensors"
    report = json.loads(
        tnsearch("fit", tmp_path / "X.npy", "--structure", tmp_path / "s.json",
                 "--seed", 3, "--json", "-", "-o", net)
    )  # fmt: skip
    return x, structure, report, net


def test_numpy_contracts_to_what_was_reported(fitted, read_network):
    x, _, report, net = fitted
    z = read_network(net)
    assert z.shape == x.shape
    # Noise is not low-rank, so the error is far from 0 and a wrong axis would show.
    assert 1e-3 < report["rse"] < 1
    assert rse(x, z) == pytest.approx(report["rse"], rel=1e-9)
    assert report["re"] == pytest.approx(np.sqrt(report["rse"]), rel=1e-12)


def test_reconstruct_equals_numpy(fitted, read_network, tnsearch, tmp_path):
    _, _, _, net = fitted
    tnsearch("reconstruct", net, "-o", tmp_path / "Z.npy")
    z = np.load(tmp_path / "Z.npy")
    assert z.dtype == np.float64
    np.testing.assert_allclose(z, read_network(net), rtol=1e-10, atol=1e-12)


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


def test_a_search_writes_the_network_it_reports(read_network, tnsearch, tmp_path):
    rng = np.random.default_rng(5)
    a, b, c = rng.standard_normal((2, 3, 2)), rng.standard_normal((2, 4, 2)), rng.standard_normal((2, 3, 2))
    x = np.einsum("aib,bjc,cka->jki", a, b, c)
    np.save(tmp_path / "X.npy", x)
    tnsearch("search", tmp_path / "X.npy", "--template", "ring", "--max-rank", 3, "--max-rse", 1e-4,
             "--iterations", 5, "--samples", 10, "--seed", 1,
             "--json", tmp_path / "out.json", "-o", tmp_path / "net.safetensors")  # fmt: skip
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["rse"] <= 1e-4
    z = read_network(tmp_path / "net.safetensors")
    assert rse(x, z) == pytest.approx(report["rse"], rel=1e-6, abs=1e-20)
    assert report["phi"] == pytest.approx(report["params"] / x.size, rel=1e-12)
