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
    [code] = [code for code in re.findall(r"```python\n(.*?)```", text, re.S) if "def read_model" in code]
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


def write_raw(path, tensors, order=None, notes=None, first=True):
    """A safetensors file by hand: tensors as name -> (type, shape, bytes), the fields of the header in any order."""
    at, fields = 0, {}
    for name, (dtype, shape, data) in tensors.items():
        fields[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    parts = [f"{json.dumps(n)}:{json.dumps(fields[n])}" for n in order or fields]
    if notes is not None:
        parts.insert(0 if first else len(parts), f'"__metadata__":{notes}')
    header = ("{" + ",".join(parts) + "}").encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"".join(t[2] for t in tensors.values()))


def read_raw(path):
    """The fields of a header as they stand, and the numbers of each tensor."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    fields = json.loads(data[8 : 8 + size], object_pairs_hook=lambda pairs: pairs)
    arrays = {}
    for name, about in fields:
        if name == "__metadata__":
            continue
        about = dict(about)
        start, end = about["data_offsets"]
        part = data[8 + size + start : 8 + size + end]
        arrays[name] = numbers(about["dtype"], part).reshape(about["shape"])
    return fields, arrays


def stored(dtype, array):
    """Numbers as bytes of a type of the format, and as they are then."""
    if dtype == "BF16":
        halves = (array.astype("<f4").view("<u4") >> 16).astype("<u2")
        return halves.tobytes()
    return array.astype({"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8"}[dtype]).tobytes()


def numbers(dtype, data):
    if dtype == "BF16":
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype("f8")
    return np.frombuffer(data, {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8"}[dtype]).astype("f8")


#: What rounding a number to each type changes in it, relatively.
UNIT = {"BF16": 2.0**-8, "F16": 2.0**-11, "F32": 2.0**-23, "F64": 0.0}


def some_model(seed):
    """Layers of every kind, whose norms are many orders of magnitude apart."""
    rng = np.random.default_rng(seed)
    tensors = {"embedding": ("F32", (300, 24), 10 ** rng.uniform(0, 3) * rng.normal(size=(300, 24)))}
    shapes = [(24, 32), (32, 20), (8, 4, 3, 3), (16, 16), (64, 10), (40, 8, 1, 1), (1, 30, 20)]
    for k, shape in enumerate(shapes):
        dtype = rng.choice(["F16", "BF16", "F32", "F64"])
        scale = 10 ** (rng.uniform(-2, 2) if dtype == "F16" else rng.uniform(-8, 4))
        kind = rng.integers(4)
        w = rng.normal(size=shape)
        if kind == 0:
            w = falling(rng, shape[0], w.size // shape[0], rng.uniform(0.3, 2)).reshape(shape)
        elif kind == 1:
            w = np.ones(shape) + 1e-3 * w
        elif kind == 2 and k == 3:
            w = np.zeros(shape)
        tensors[f"layer.{k}.weight"] = (str(dtype), shape, scale * w)
        tensors[f"layer.{k}.bias"] = (str(dtype), (shape[0],), 1e3 * rng.normal(size=shape[0]))
    tensors["zero"] = ("F32", (20, 30), np.zeros((20, 30)))
    tensors["tiny"] = ("F32", (2, 3), rng.normal(size=(2, 3)))
    tensors["ids"] = ("I64", (40, 40), rng.integers(0, 9, (40, 40)))
    return {name: (d, s, stored(d, a)) for name, (d, s, a) in tensors.items()}


def layer_errors(tmp_path, tnsearch, tensors, *options):
    """The report, and the relative error of every tensor after decompress-model, by NumPy."""
    model, small, dense = (tmp_path / f"{n}.safetensors" for n in ("m", "s", "d"))
    write_raw(model, tensors)
    report = json.loads(tnsearch("compress-model", model, "-o", small, "--json", "-", *options))
    tnsearch("decompress-model", small, "-o", dense)
    (_, before), (_, after) = read_raw(model), read_raw(dense)
    assert list(before) == list(after)
    norm = np.linalg.norm
    return report, {n: norm(after[n] - x) / norm(x) if norm(x) else float(norm(after[n])) for n, x in before.items()}, before


@pytest.mark.parametrize("seed", range(8))
def test_every_layer_stays_within_the_cap(seed, tnsearch, tmp_path):
    tensors = some_model(seed)
    re = [0.02, 0.05, 0.2, 0.4][seed % 4]
    options = [[], ["--weigh", "layer"], ["--cores", "f32"], ["--cost", "bytes"]][seed // 2 % 4]
    report, errors, before = layer_errors(tmp_path, tnsearch, tensors, "--keep-re", re, *options)
    assert report["target_reached"] and report["layer_cap"] == pytest.approx(2 * re)
    by_name = {layer["name"]: layer for layer in report["layers"]}
    lost = whole = 0.0
    for name, error in errors.items():
        if name not in by_name:
            assert error == 0.0, name
            continue
        # Dense weights of 16 bits are rounded once more.
        unit = UNIT[tensors[name][0]]
        assert error <= 2 * re * (1 + 1e-6) + unit, (name, error)
        assert by_name[name]["re"] == pytest.approx(error, rel=1e-3, abs=2 * unit + 1e-6), name
        lost += by_name[name]["re"] ** 2 * np.sum(before[name] ** 2)
        whole += np.sum(before[name] ** 2)
    if "layer" not in options:
        assert np.sqrt(lost / whole) <= re * (1 + 1e-5)
    assert report["mostly_lost"] == [n for n in by_name if errors[n] > 0.5]


def test_a_layer_that_is_lost_is_warned_about(command, tmp_path):
    rng = np.random.default_rng(4)
    w = {"embedding": rng.normal(size=(500, 32)), "a": 0.05 * rng.normal(size=(32, 24)), "b": 0.05 * rng.normal(size=(24, 20))}
    write_raw(tmp_path / "m.safetensors", {n: ("F32", x.shape, stored("F32", x)) for n, x in w.items()})
    line = ["compress-model", tmp_path / "m.safetensors", "-o", tmp_path / "s.safetensors", "--json", tmp_path / "r.json"]
    for options, lost in (["--keep-re", 0.05], []), (["--keep-re", 0.2, "--weigh", "norm"], ["a", "b"]), (["--max-params", 2000], None):
        done = command(*line, *options, code=0)
        report = json.loads((tmp_path / "r.json").read_text())
        errors = {layer["name"]: layer["re"] for layer in report["layers"]}
        said = [name for name, error in errors.items() if error > 0.5]
        assert report["mostly_lost"] == said and (lost is None or said == lost), errors
        assert done.stderr.count("lost most of") == (1 if said else 0), done.stderr
        assert all(len(text) < 300 for text in done.stderr.splitlines())
        if said:
            assert f"'{said[0]}'" in done.stderr and "may ruin the model" in done.stderr
    assert "which can ruin a model" in command("compress-model", "--help", code=0).stdout.replace("\n", " ").replace("          ", "")


def test_the_header_comes_back_as_it_was(tnsearch, tmp_path):
    rng = np.random.default_rng(5)
    tensors = {name: ("F32", (30, 20), stored("F32", falling(rng, 30, 20, 2.0))) for name in ("c", "a", "b")}
    tensors["bias"] = ("F32", (7,), stored("F32", rng.normal(size=7)))
    notes = '{"z":1.10,"format":"pt","n":null,"l":[1,{"y":2,"x":[]}],"big":123456789012345678901234567890,"a":"\\u00e9"}'
    for order, first, text in [
        (["bias", "b", "c", "a"], True, notes), (["a", "b", "c", "bias"], False, notes), (["c", "bias", "a", "b"], True, None),
        (["b", "a", "bias", "c"], True, '{"only":[true]}'),
    ]:
        model, small, dense = (tmp_path / f"{n}.safetensors" for n in ("m", "s", "d"))
        write_raw(model, tensors, order, text, first)
        report = json.loads(tnsearch("compress-model", model, "-o", small, "--keep-re", 0.2, "--json", "-"))
        assert all(layer["compressed"] for layer in report["layers"])
        tnsearch("decompress-model", small, "-o", dense)
        (before, _), (middle, _), (after, _) = (read_raw(path) for path in (model, small, dense))
        assert [n for n, _ in before] == [n for n, _ in after]
        assert dict(before).get("__metadata__") == dict(after).get("__metadata__")
        raw = dense.read_bytes()
        assert text is None or f'"__metadata__":{text}'.encode() in raw
        # The cores stand where their layers did.
        stems = [n.split(".core.")[0] for n, _ in middle if n != "__metadata__"]
        assert list(dict.fromkeys(stems)) == order
