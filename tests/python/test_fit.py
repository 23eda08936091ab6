"""Fits: how good they are, and that the error they report is that of the cores they write."""

import json

import numpy as np
import pytest
from conftest import relative_error

METHODS = ["als", "adam", "lm"]
TEMPLATES = ["path", "ring", "star", "tree", "complete", "peps:2x2", "tucker", "ht", "mera"]


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_hidden_structure_is_fitted_exactly(template, generate, fit, read_network):
    tensor, hidden = generate("--template", template, "--dims", "3,4,2,5", "--ranks", "2..3", "--seed", 4)
    x = np.load(tensor)
    assert np.linalg.norm(x.ravel()) == pytest.approx(hidden["norm"], rel=1e-13)
    report, net = fit(tensor, {key: hidden[key] for key in ("template", "permutation", "edges")})
    assert report["rse"] < 1e-12
    assert report["params"] == hidden["params"]
    assert relative_error(x, read_network(net)) == pytest.approx(report["re"], rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_noise_is_no_harder_than_for_the_hidden_network(method, generate, fit, read_network):
    """The hidden cores are one choice, so the best are at least as good; and noise stays noise."""
    tensor, hidden = generate("--template", "ring", "--dims", "4,3,5,3", "--ranks", "2..2",
                              "--noise-db", 20, "--seed", 1)  # fmt: skip
    report, net = fit(tensor, {key: hidden[key] for key in ("template", "permutation", "edges")},
                      "--method", method)  # fmt: skip
    assert report["method"] == method
    assert hidden["rse"] / 3 < report["rse"] < hidden["rse"]
    assert relative_error(np.load(tensor), read_network(net)) == pytest.approx(report["re"], rel=1e-12)


def tt_svd(x, ranks):
    """The tensor train of Oseledets: one truncated SVD after the other."""
    train, rest = np.ones((1, 1)), x.reshape(1, -1)
    for dim, rank in zip(x.shape, ranks):
        u, s, v = np.linalg.svd(rest.reshape(rest.shape[0] * dim, -1), full_matrices=False)
        core, rest = u[:, :rank].reshape(-1, dim, rank), s[:rank, None] * v[:rank]
        train = np.tensordot(train, core, 1).reshape(-1, rank)
    return (train @ rest).reshape(x.shape)


@pytest.mark.parametrize("noise", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("method", METHODS)
def test_a_path_is_not_worse_than_tt_svd(method, noise, fit, tmp_path):
    rng = np.random.default_rng(2)
    dims, ranks = (4, 3, 5, 3, 4), [3, 4, 4, 3]
    clean = tt_svd(rng.standard_normal(dims), ranks)
    x = clean + noise * clean.std() * rng.standard_normal(dims)
    # The modes as the file has them: mode n of the train sits on vertex n, and is axis order[n].
    order = [2, 4, 0, 1, 3]
    np.save(tmp_path / "X.npy", x.transpose(np.argsort(order)))
    structure = {
        "template": "path",
        "permutation": np.argsort(order).tolist(),
        "edges": [[v, v + 1, rank] for v, rank in enumerate(ranks)],
    }
    report, _ = fit(tmp_path / "X.npy", structure, "--method", method, "--seed", 2)
    svd = relative_error(x, tt_svd(x, ranks)) ** 2
    # TT-SVD is within a factor of order - 1 of the best; a fit that beats it by more is not one.
    # Adam never quite arrives: its steps do not shrink.
    slack = 1.01 if method == "adam" else 1
    assert svd / 4 <= report["rse"] <= svd * slack


@pytest.mark.parametrize("method", METHODS)
def test_a_search_reports_the_error_of_the_cores_it_writes(method, generate, tnsearch, read_network, tmp_path):
    tensor, _ = generate("--template", "ring", "--dims", "3,2,4,3", "--ranks", "1..3", "--noise-db", 30)
    net = tmp_path / "net.safetensors"
    report = json.loads(
        tnsearch("search", tensor, "--lambda", 20, "--max-rank", 3, "--fit", method, "--max-sweeps", 500,
                 "--strategy", "tnls", "--iterations", 3, "--samples", 8, "--json", "-", "-o", net)
    )  # fmt: skip
    assert report["fit"]["method"] == method
    x = np.load(tensor)
    assert relative_error(x, read_network(net)) == pytest.approx(report["re"], rel=1e-12)
    assert report["phi"] == pytest.approx(report["params"] / x.size, rel=1e-15)
    assert report["loss"] == pytest.approx(report["phi"] + 20 * report["rse"], rel=1e-12)
