"""Fits and searches by other losses than the squared error; NumPy is the judge."""

import json

import numpy as np
import pytest


def terms(x, z):
    """x log(x / z) - x + z, entry by entry."""
    logs = np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / z), 0)
    return logs - x + z


def kl(x, z):
    """The divergence relative to that of the mean, which is the best constant."""
    return terms(x, z).sum() / terms(x, x.mean()).sum()


def huber(x, z, delta):
    def total(e):
        e = np.abs(e)
        return np.where(e <= delta, e**2 / 2, delta * (e - delta / 2)).sum()

    return total(x - z) / total(x)


RING = {"template": "ring", "permutation": [0, 2, 1, 3], "edges": [[0, 1, 2], [1, 2, 2], [2, 3, 2], [0, 3, 2]]}


@pytest.fixture
def counts(tmp_path):
    """Counts around a product of four factors, some of them zero."""
    rng = np.random.default_rng(3)
    factors = [rng.uniform(0.5, 2.5, n) for n in (5, 4, 6, 3)]
    x = rng.poisson(np.einsum("i,j,k,l", *factors)).astype(float)
    assert (x == 0).any()
    np.save(tmp_path / "counts.npy", x)
    return tmp_path / "counts.npy", x


@pytest.mark.parametrize("loss, field, judge", [
    ("kl", "kl", kl),
    ("poisson", "poisson", kl),
    ("huber:0.5", "huber", lambda x, z: huber(x, z, 0.5)),
])  # fmt: skip
def test_the_error_is_that_of_the_network_written(loss, field, judge, counts, fit, info, read_network):
    tensor, x = counts
    report, net = fit(tensor, RING, "--loss", loss)
    z = read_network(net)
    assert judge(x, z) == pytest.approx(report[field], rel=1e-9)
    assert report[field] < 0.9 and "rse" not in report
    # The file holds the squared error, whatever it was fitted by.
    assert info(net)["rse"] == pytest.approx(((x - z) ** 2).sum() / (x**2).sum(), rel=1e-9)
    if field != "huber":
        assert (z >= 0).all()


def nmf(x, rank, seed, rounds=3000):
    """Lee and Seung's multiplicative updates for the divergence of two factors."""
    rng = np.random.default_rng(seed)
    w, h = rng.uniform(0.1, 1, (x.shape[0], rank)), rng.uniform(0.1, 1, (rank, x.shape[1]))
    for _ in range(rounds):
        w *= (x / (w @ h)) @ h.T / h.sum(1)
        h *= w.T @ (x / (w @ h)) / w.sum(0)[:, None]
    return kl(x, w @ h)


@pytest.mark.parametrize("rank", [1, 3])
def test_two_modes_are_no_worse_than_by_multiplicative_updates(rank, fit, tmp_path):
    rng = np.random.default_rng(5)
    x = rng.gamma(0.7, 2.0, (12, 9))
    np.save(tmp_path / "X.npy", x)
    path = {"template": "path", "permutation": [0, 1], "edges": [[0, 1, rank]]}
    report, _ = fit(tmp_path / "X.npy", path, "--loss", "kl", "--restarts", 8, "--tolerance", 1e-4)
    peer = min(nmf(x, rank, seed) for seed in range(8))
    assert report["kl"] <= peer * (1 + 1e-3)
    # With one product there is one minimum.
    if rank == 1:
        assert report["kl"] == pytest.approx(peer, rel=1e-9)


@pytest.mark.parametrize("seed", [2, 4, 8])
def test_huber_keeps_outliers_out(seed, fit, read_network, tmp_path):
    i, j, k = np.ogrid[:10, :10, :10]
    clean = np.sin(0.4 * i) + j * k / 9
    x = clean + np.where(np.random.default_rng(seed).random(clean.shape) < 0.02, 12.0, 0.0)
    np.save(tmp_path / "X.npy", x)
    path = {"template": "path", "permutation": [0, 1, 2], "edges": [[0, 1, 2], [1, 2, 2]]}
    away = {}
    for loss in ("squared", "huber", "huber:0.1"):
        _, net = fit(tmp_path / "X.npy", path, "--loss", loss)
        away[loss] = np.linalg.norm(read_network(net) - clean) / np.linalg.norm(clean)
    assert max(away["huber"], away["huber:0.1"]) < 0.1 * away["squared"]


@pytest.mark.parametrize("options", [[], ["--template", "ring", "--iterations", 2, "--samples", 6]])
@pytest.mark.parametrize("objective, key", [(["--max-loss", 0.7], "max_kl"), (["--lambda", 0.5], "lambda")])
def test_a_search_names_its_loss(options, objective, key, counts, tnsearch, read_network, tmp_path):
    tensor, x = counts
    net, journal = tmp_path / "net.safetensors", tmp_path / "run.jsonl"
    line = ["search", tensor, "--loss", "kl", *objective, *options, "--max-rank", 3, "--max-sweeps", 20,
            "--restarts", 1, "--seed", 1, "-o", net, "--journal", journal]  # fmt: skip
    report = json.loads(tnsearch(*line, "--json", "-"))
    assert list(report["objective"]) == [key] and report["lower_bound"] is None
    assert not report["certified_optimal"] and report["pruned"] == 0 == report["direct"]
    assert kl(x, read_network(net)) == pytest.approx(report["kl"], rel=1e-9)
    assert all("kl" in point and "rse" not in point for point in report["pareto"] + report["history"])
    header = json.loads(journal.read_text().splitlines()[0])
    assert header["measure"]["name"] == "KL"
    said = tnsearch(*line[:-4])
    assert "KL" in said and "RSE" not in said
    page = tmp_path / "page.html"
    tnsearch("report", journal, "-o", page)
    assert "KL" in page.read_text(encoding="utf-8")


def test_bad_input_gets_one_line(refused, tmp_path):
    x = np.arange(24.0).reshape(2, 3, 4)
    for name, at, value in [("negative", (1, 0, 2), -3), ("half", (0, 2, 1), 1.5), ("good", (0, 0, 0), 0)]:
        y = x.copy()
        y[at] = value
        np.save(tmp_path / f"{name}.npy", y)
    np.save(tmp_path / "complex.npy", x + 1j)
    for command, words in [
        ("negative --loss kl", "entry [1, 0, 2] is -3; KL divergence is for entries of at least 0"),
        ("half --loss poisson", "entry [0, 2, 1] is 1.5; Poisson deviance is for counts, which are whole; use --loss kl"),
        ("complex --loss kl", "loss is KL; it is fitted to f64 only, and these are complex128"),
        ("good --loss kl --dtype f32", "loss is KL; it is fitted to f64 only, and these are f32; use --dtype f64"),
        ("good --loss kl --max-rse 0.1", "max-rse is 0.1; it is of the squared error; with --loss kl use --max-loss"),
        ("good --loss kl --max-loss 1.5", "max-loss is 1.5; it must be above 0 and below 1"),
        ("good --loss l1", "use squared, kl, poisson, huber"),
        ("good --loss huber:0", "what follows huber: must be a positive number"),
        ("good --loss kl --strategy exact --template ring", "cuts bound only the squared error"),
        ("good --loss kl --template any-tree", "cuts bound only the squared error"),
    ]:
        name, *options = command.split()
        said = refused("search", tmp_path / f"{name}.npy", *options)
        assert words in said and len(said.splitlines()) == 1, said
    said = refused("certify", tmp_path / "good.npy", "--loss", "poisson")
    assert "loss is poisson; the cuts of a tensor bound only the squared error" in said
