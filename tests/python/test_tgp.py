"""Models of Gaussian processes, read with numpy alone, and the fields of their commands."""

import json
import struct

import numpy as np
import pytest
from test_documentation import table


def fields(words):
    """The names in the row of a command of two words."""
    [found] = [second for first, second in table("command") if first == set(words.split())]
    return found


@pytest.fixture
def model(tnsearch, tmp_path):
    """A small model; the paths of its table and its file, and the report of its training."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (300, 3))
    y = 5 + 2 * np.sin(2 * x[:, 0]) * (1 + x[:, 1]) + x[:, 2] + 0.05 * rng.standard_normal(300)
    data, file = tmp_path / "t.csv", tmp_path / "m.safetensors"
    np.savetxt(data, np.c_[x, y], delimiter=",", header="a,b,c,y", comments="")
    report = json.loads(tnsearch("tgp", "train", data, "--inducing", "6,5,4", "--tt-rank", 3, "--evidence-rows", 100,
                                 "-o", file, "--json", "-"))  # fmt: skip
    return data, file, report


def read(path):
    raw = path.read_bytes()
    size = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:size])
    notes = header.pop("__metadata__")
    cut = lambda a: np.frombuffer(raw[size + a["data_offsets"][0] : size + a["data_offsets"][1]], "<f8").reshape(a["shape"])  # noqa: E731
    return notes, {name: cut(array) for name, array in header.items()}


def weights(grid, x):
    """Keys' cubic convolution with parabolas at the ends, by its definition."""
    m, t = grid["points"], np.clip((x - grid["from"]) / grid["step"], 0, grid["points"] - 1)
    cubic = lambda s: np.where(s <= 1, 1.5 * s**3 - 2.5 * s**2 + 1, np.where(s <= 2, -0.5 * s**3 + 2.5 * s**2 - 4 * s + 2, 0))  # noqa: E731
    wide = cubic(np.abs(t[:, None] - np.arange(-1, m + 1)))
    w = wide[:, 1:-1].copy()
    w[:, :3] += wide[:, :1] * [3, -3, 1]
    w[:, -3:] += wide[:, -1:] * [1, -3, 3]
    return w


def predicted(path, x):
    """Mean and standard deviation in the units of the response."""
    notes, arrays = read(path)
    standard, grids, kernel = (json.loads(notes[k]) for k in ("standard", "grids", "kernel"))
    mean, scale = np.array(standard["mean"]), np.array(standard["scale"])
    w = [weights(grid, (x[:, k] - mean[k]) / scale[k]) for k, grid in enumerate(grids)]
    structure = json.loads(notes["structure"])
    edges, letters = structure["edges"], "abcdefghijklmnop"
    terms, cores = [], []
    for v in range(sum(name.startswith("core.") for name in arrays)):
        at = [letters[k] for k, (a, b, _) in enumerate(edges) if v in (a, b)]
        modes = [f"{'wxyz'[n]}" for n, place in enumerate(structure["permutation"]) if place == v]
        terms.append("".join(at + modes))
        cores.append(arrays[f"core.{v}"])
    mu = np.einsum(",".join(terms) + "->" + "wxyz"[: len(grids)], *cores)
    f = np.einsum("iw,ix,iy,wxy->i", *w, mu)
    variance = np.prod([np.sum((w[k] @ arrays[f"root.{k}"]) ** 2, 1) for k in range(3)], 0)
    return mean[-1] + scale[-1] * f, scale[-1] * np.sqrt(variance + kernel["noise"] ** 2)


def test_numpy_predicts_the_same(model, tnsearch, tmp_path):
    data, file, report = model
    given = np.loadtxt(data, delimiter=",", skiprows=1)
    made = json.loads(tnsearch("tgp", "predict", file, data, "-o", tmp_path / "p.csv", "--json", "-"))
    assert set(made) == fields("tgp predict") - {"null"}
    found = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    mean, deviation = predicted(file, given[:, :3])
    np.testing.assert_allclose(found, np.c_[mean, deviation], rtol=1e-9)
    np.testing.assert_allclose(made["mse"], np.mean((mean - given[:, 3]) ** 2), rtol=1e-9)
    assert np.sqrt(made["mse"]) < 0.15 and made["within_two_sd"] > 0.9
    # Far away the prediction is that at the end of the grid.
    far = tmp_path / "far.csv"
    far.write_text("a,b,c\n1e6,0,0\n1e9,0,0\n")
    tnsearch("tgp", "predict", file, far, "-o", tmp_path / "f.csv", "--quiet")
    ends = np.loadtxt(tmp_path / "f.csv", delimiter=",", skiprows=1)
    assert np.isfinite(ends).all() and (ends[0] == ends[1]).all()


def test_the_fields_and_the_file(model, tnsearch, tmp_path):
    data, file, report = model
    structure = {"template", "order", "dims", "permutation", "edges", "params", "phi", "log10_cr"}
    assert set(report) == fields("tgp train") - {"fit"} | structure
    notes, _ = read(file)
    entries = set.union(*(first for first, _ in table("entry of a model")))
    assert set(notes) == entries
    assert json.loads(notes["figures"])["test_mse"] == report["test_mse"]
    small = tmp_path / "s.safetensors"
    made = json.loads(tnsearch("tgp", "compress", file, data, "--max-mse-loss", 0.01, "--max-seconds", 500, "-o", small, "--json", "-"))
    nested = {"mse", "rse", "max_rse", "lower_bound", "bound_over", "statement", "certified_optimal", "fit"}
    assert set(made) == fields("tgp compress") - nested | structure
    assert set(made["plain"]) == set(made["before"]) | nested - {"mse", "fit"} | {"evaluations"}
    # The smaller model, whatever its graph, predicts what it says.
    given = np.loadtxt(data, delimiter=",", skiprows=1)
    tnsearch("tgp", "predict", small, data, "-o", tmp_path / "p.csv", "--quiet")
    found = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(found, np.transpose(predicted(small, given[:, :3])), rtol=1e-9)
    assert made["params"] < report["params"]
