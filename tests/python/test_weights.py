"""Models, judged by NumPy: what compress-model writes, its errors, calibration, and the example of a network trained here."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, relative_error
from limits import HANG
from safetensors.numpy import load_file, save_file
from test_documentation import table


@pytest.fixture(scope="session")
def read_model():
    """The reader of docs/weights.md, taken from the page itself."""
    text = (ROOT / "docs" / "weights.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.S)
    names = {}
    exec(code, names)
    return names["read_model"]


@pytest.fixture
def compress(tnsearch, tmp_path):
    """Compresses weights; returns the report and the file."""

    def run(weights, *options):
        save_file(weights, tmp_path / "model.safetensors", {"format": "np"})
        out = tmp_path / "small.safetensors"
        line = ["compress-model", tmp_path / "model.safetensors", "-o", out, "--json", "-"]
        return json.loads(tnsearch(*line, *options)), out

    return run


def falling(rng, m, n, power=1.0):
    """A matrix whose singular values fall as a power."""
    rank = min(m, n)
    u, v = np.linalg.qr(rng.normal(size=(m, rank)))[0], np.linalg.qr(rng.normal(size=(n, rank)))[0]
    return (u * np.arange(1, rank + 1) ** -power) @ v.T


@pytest.fixture
def weights():
    rng = np.random.default_rng(1)
    return {
        "embed": falling(rng, 60, 40).astype("f4"),
        "half": falling(rng, 48, 64).astype("f2"),
        "wide": falling(rng, 30, 50),
        "conv": falling(rng, 16, 72, 0.5).reshape(16, 8, 3, 3).astype("f4"),
        "bias": rng.normal(size=60).astype("f4"),
        "ids": np.arange(7),
    }


def test_errors_and_params_are_what_numpy_finds(weights, compress, tnsearch, read_model, tmp_path):
    report, out = compress(weights, "--keep-re", 0.3, "--cores", "f32")
    tnsearch("decompress-model", out, "-o", tmp_path / "dense.safetensors")
    dense, cores = load_file(tmp_path / "dense.safetensors"), read_model(out)
    lost = whole = 0.0
    for layer in report["layers"]:
        x, z = weights[layer["name"]].astype("f8"), cores[layer["name"]].astype("f8")
        assert layer["re"] == pytest.approx(relative_error(x, z), rel=1e-4)
        assert layer["compressed"] == (layer["params"] < x.size) == (layer["re"] > 0)
        kind = weights[layer["name"]].dtype
        assert dense[layer["name"]].dtype == kind and np.abs(dense[layer["name"]] - z).max() < np.finfo(kind).eps + 1e-6
        lost, whole = lost + np.sum((x - z) ** 2), whole + np.sum(x**2)
    assert report["re"] == pytest.approx(np.sqrt(lost / whole), rel=1e-4) and report["re"] <= 0.3
    for name in ("bias", "ids"):
        assert np.array_equal(dense[name], weights[name]) and np.array_equal(cores[name], weights[name])
    stored = sum(a.size for a in load_file(out).values())
    assert report["params"] == stored < report["params_before"] == sum(a.size for a in weights.values())
    # One error for each layer takes more.
    each = 0
    for layer in report["layers"]:
        w = weights[layer["name"]].astype("f8").reshape(layer["shape"][0], -1)
        s = np.linalg.svd(w, compute_uv=False) ** 2
        rank = int(np.argmax(1 - np.cumsum(s) / s.sum() <= 0.3**2)) + 1
        each += min(rank * sum(w.shape), w.size)
    assert report["params"] - 67 <= each


def test_the_fields_are_documented(weights, compress, tnsearch, tmp_path):
    report, out = compress(weights, "--max-params", 3000)
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    fields = lambda command: set(re.findall(r"`(\w+)`", re.search(rf"^\| `{command}` \|(.*)\|$", text, re.M).group(1)))
    nested = set(report["layers"][0]) | set(report["left_alone"][0]) | {"loss", "failed", "null"}
    assert set(report) | nested == fields("compress-model") and report["params"] <= 3000
    back = json.loads(tnsearch("decompress-model", out, "-o", tmp_path / "d.safetensors", "--json", "-"))
    assert set(back) == fields("decompress-model")
    assert table("command")


def test_a_calibrated_svd_is_the_best_of_its_rank(compress, tmp_path):
    rng = np.random.default_rng(2)
    w = falling(rng, 40, 32, 0.7)
    inputs = rng.normal(size=(200, 32)) @ np.diag(np.linspace(0.1, 3, 32)) @ rng.normal(size=(32, 32))
    save_file({"w": inputs}, tmp_path / "acts.safetensors")
    covariance = inputs.T @ inputs / 200
    save_file({"w.covariance": covariance}, tmp_path / "cov.safetensors")
    rank = 5
    # With the ridge that docs/weights.md names.
    c = covariance + 1e-3 * np.trace(covariance) / 32 * np.eye(32)
    values = np.linalg.svd(w @ np.linalg.cholesky(c), compute_uv=False) ** 2
    best = np.sqrt(values[rank:].sum() / values.sum())
    for file in ("acts", "cov"):
        line = ["--max-params", rank * 72, "--no-products", "--calibration", tmp_path / f"{file}.safetensors"]
        report, _ = compress({"w": w}, *line)
        [layer] = report["layers"]
        assert layer["params"] == rank * 72 and layer["weighted_re"] == pytest.approx(best, rel=1e-3)
    report, _ = compress({"w": w}, "--max-params", rank * 72, "--no-products", "--no-trees")
    plain = np.linalg.svd(w, compute_uv=False) ** 2
    assert report["re"] == pytest.approx(np.sqrt(plain[rank:].sum() / plain.sum()), rel=1e-3)
    # With products allowed it is never worse.
    report, _ = compress({"w": w}, "--max-params", rank * 72, "--calibration", tmp_path / "acts.safetensors")
    assert report["layers"][0]["weighted_re"] <= best * (1 + 1e-3)


def test_bf16_goes_through(tnsearch, tmp_path, read_model):
    # NumPy has no bf16: the upper halves of 32-bit numbers, written by hand.
    w = falling(np.random.default_rng(3), 32, 48).astype("<f4")
    halves = (w.view("<u4") >> 16).astype("<u2")
    exact = (halves.astype("<u4") << 16).view("<f4")
    header = json.dumps({"w": {"dtype": "BF16", "shape": [32, 48], "data_offsets": [0, halves.nbytes]}}).encode()
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + halves.tobytes())
    line = ["compress-model", tmp_path / "m.safetensors", "--keep-re", 0.2, "--json", "-"]
    wide = json.loads(tnsearch(*line, "-o", tmp_path / "s.safetensors", "--cores", "f32"))
    assert wide["layers"][0]["re"] == pytest.approx(relative_error(exact, read_model(tmp_path / "s.safetensors")["w"]), rel=1e-4)
    narrow = json.loads(tnsearch(*line, "-o", tmp_path / "n.safetensors"))
    assert narrow["target_reached"] and narrow["bytes"] == 2 * narrow["params"]


def test_the_example_beats_svds_of_each_layer(tmp_path):
    # Two sizes of docs/weights.md's table at which it does; it says where calibrated SVDs are better.
    example = ROOT / "examples" / "python" / "compress_digits.py"
    line = [sys.executable, example, "--tnsearch", os.environ["TNSEARCH"], "--out", tmp_path / "digits", "--epochs", "24"]
    subprocess.run([*map(str, line), "--parts", "0.25,0.3"], check=True, timeout=HANG)
    report = json.loads((tmp_path / "digits" / "digits.json").read_text())
    base = report["uncompressed"]["accuracy"]
    assert base > 0.9
    for row in report["rows"]:
        svds = [row[k] for k in ("svd_part", "svd_error") if row[k] is not None]
        weighted = [row[k] for k in ("svd_part_calibrated", "svd_error_calibrated") if row[k] is not None]
        assert svds and row["ours"] >= max(svds), row
        assert weighted and row["ours_calibrated"] >= max(weighted), row
        assert row["tuned"] > base - 0.05, row
    assert (tmp_path / "digits" / "digits.svg").read_text().startswith("<svg")
