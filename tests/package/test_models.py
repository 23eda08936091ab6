"""compress_model and decompress_model: the files of the command line, bit for bit, from files and from arrays."""

import inspect
import json
import warnings

import numpy as np
import pytest

import tnsearch
from tnsearch import _core
from tnsearch._models import read_weights, write_weights

GOALS = {
    "keep_re": ({"keep_re": 0.2}, ["--keep-re", 0.2]),
    "max_params": ({"max_params": 1500, "trees": False}, ["--max-params", 1500, "--no-trees"]),
    "cores": (
        {"keep_re": 0.3, "weigh": "layer", "cores": "f16", "seed": 3, "min_entries": 700, "products": False},
        ["--keep-re", 0.3, "--weigh", "layer", "--cores", "f16", "--seed", 3, "--min-entries", 700, "--no-products"],
    ),
}


@pytest.fixture(scope="module")
def model():
    """A matrix, a kernel, a vector and whole numbers; something of low rank, and something below it."""
    rng = np.random.default_rng(0)
    low = rng.standard_normal((48, 3)) @ rng.standard_normal((3, 32))
    return {
        "embed": (low + 0.1 * rng.standard_normal(low.shape)).astype("float32"),
        "norm": rng.standard_normal(32).astype("float32"),
        "conv": rng.standard_normal((16, 8, 3, 3)).astype("float64"),
        "ids": np.arange(3),
    }


def same(values, report):
    """What a summary and the JSON of the command say alike."""
    of_the_run = {"input", "output", "seconds", "memory_peak"}
    assert values.keys() == report.keys()
    assert {k: v for k, v in values.items() if k not in of_the_run} == {k: v for k, v in report.items() if k not in of_the_run}


@pytest.mark.parametrize("goal", sorted(GOALS))
def test_it_is_that_of_the_command_line(model, goal, command, tmp_path):
    options, arguments = GOALS[goal]
    file, ours, theirs = (tmp_path / f"{name}.safetensors" for name in ("model", "ours", "theirs"))
    write_weights(file, model)
    report = json.loads(command("compress-model", file, "-o", theirs, "--json", "-", *arguments))
    made = tnsearch.compress_model(file, output=ours, **options)
    same(made.summary, report)
    assert made.weights is None and made.output == ours and ours.read_bytes() == theirs.read_bytes()
    command("decompress-model", theirs, "-o", tmp_path / "dense.safetensors")
    assert tnsearch.decompress_model(ours, output=tmp_path / "d.safetensors") is None
    assert (tmp_path / "d.safetensors").read_bytes() == (tmp_path / "dense.safetensors").read_bytes()
    # The same from arrays, and back.
    held = tnsearch.compress_model(model, **options)
    same(held.summary, report)
    write_weights(tmp_path / "held.safetensors", held.weights)
    assert (tmp_path / "held.safetensors").read_bytes() == theirs.read_bytes()
    dense = read_weights(tmp_path / "dense.safetensors")
    for back in (tnsearch.decompress_model(held), tnsearch.decompress_model(held.weights)):
        assert list(back) == list(model)
        assert all(np.array_equal(back[name], dense[name]) and back[name].dtype == model[name].dtype for name in model)


def test_inputs_of_layers_and_a_loss(model, command, tmp_path):
    acts = {"embed": np.random.default_rng(1).standard_normal((40, 32)).astype("float32")}
    file, given, theirs = (tmp_path / f"{name}.safetensors" for name in ("model", "acts", "theirs"))
    write_weights(file, model)
    write_weights(given, acts)
    arguments = ["--calibration", given, "--dense", tmp_path / "dense.safetensors"]
    report = json.loads(command("compress-model", file, "-o", theirs, "--json", "-", "--keep-re", 0.2, *arguments))
    made = tnsearch.compress_model(model, keep_re=0.2, calibration=acts, dense=tmp_path / "d.safetensors")
    same(made.summary, report)
    assert (tmp_path / "d.safetensors").read_bytes() == (tmp_path / "dense.safetensors").read_bytes()

    seen = []

    def loss(path):
        seen.append(float(np.abs(read_weights(path)["embed"] - model["embed"]).mean()))
        return seen[-1]

    made = tnsearch.compress_model(model, max_loss=loss, allow=0.2)
    assert seen[0] == 0.0 and [t["loss"] for t in made.summary["trials"]] == seen
    assert made.summary["goal"] == {"max_loss": 0.2} and made.summary["params"] < made.summary["params_before"]
    told = []

    def fails(path):
        told.append(path)
        return float("inf") if len(told) == 3 else 0.0

    with pytest.warns(UserWarning, match=r"failed at RE 0\.\d+, which counts as too much: the loss is inf"):
        tnsearch.compress_model(model, max_loss=fails)
    with pytest.raises(ZeroDivisionError):
        tnsearch.compress_model(model, max_loss=lambda path: 1 / 0)


def test_no_file_is_written_over_another(model, tmp_path):
    file, part, acts = (tmp_path / name for name in ("m.safetensors", "z.part", "acts.safetensors"))
    for path in (file, part, acts):
        write_weights(path, model)
    before = file.read_bytes()
    calls = [
        (lambda: tnsearch.compress_model(file, output=file), "output and the model are the same file, .*m.safetensors"),
        (lambda: tnsearch.compress_model(file, dense=file), "dense and the model are the same file, .*m.safetensors"),
        (lambda: tnsearch.compress_model(model, output=acts, calibration=acts), "same file, .*acts.safetensors"),
        (lambda: tnsearch.compress_model(part, output=tmp_path / "z"), "same file, .*z.part"),
        (lambda: tnsearch.decompress_model(file, output=file), "output and the model are the same file, .*m.safetensors"),
    ]
    for call, words in calls:
        with pytest.raises(ValueError, match=words):
            call()
    assert all(path.read_bytes() == before for path in (file, part, acts))


def test_types_that_numpy_has_not(model, tmp_path):
    weights = tnsearch.Weights({"w": model["embed"]}, metadata={"format": "pt"}, stored={"w": "BF16"})
    write_weights(tmp_path / "b.safetensors", weights)
    read = read_weights(tmp_path / "b.safetensors")
    assert read.metadata == {"format": "pt"} and read.stored == {"w": "BF16"} and read["w"].dtype == np.float32
    assert np.abs(read["w"] / model["embed"] - 1).max() <= 2**-8
    write_weights(tmp_path / "c.safetensors", read)
    assert (tmp_path / "c.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    made = tnsearch.compress_model(tmp_path / "b.safetensors", keep_re=0.2)
    assert tnsearch.decompress_model(made).stored == {"w": "BF16"}
    # Eight bits are carried along.
    eight = tnsearch.Weights(
        {"w": model["embed"], "e": np.arange(6, dtype="uint8")}, stored={"e": "F8_E4M3"}, shapes={"e": (2, 3)}
    )
    write_weights(tmp_path / "e.safetensors", eight)
    read = read_weights(tmp_path / "e.safetensors")
    assert read.stored == {"e": "F8_E4M3"} and read.shapes == {"e": (2, 3)}
    write_weights(tmp_path / "f.safetensors", read)
    assert (tmp_path / "f.safetensors").read_bytes() == (tmp_path / "e.safetensors").read_bytes()
    back = tnsearch.decompress_model(tnsearch.compress_model(read, keep_re=0.2))
    assert back.shapes == {"e": (2, 3)} and np.array_equal(back["e"], eight["e"])


def test_a_state_dict_of_torch(model, torch):
    state = {name: torch.from_numpy(array).clone() for name, array in model.items()}
    made, same_made = tnsearch.compress_model(state, keep_re=0.2), tnsearch.compress_model(model, keep_re=0.2)
    assert all(np.array_equal(made.weights[name], same_made.weights[name]) for name in same_made.weights)
    # What it calls bfloat16 stays that.
    state = {"w": torch.from_numpy(model["embed"]).to(torch.bfloat16)}
    dense = tnsearch.decompress_model(tnsearch.compress_model(state, keep_re=0.2))
    assert dense.stored == {"w": "BF16"}
    if hasattr(torch, "float8_e4m3fn"):
        with pytest.raises(TypeError, match="'w' is of type float8_e4m3fn, which arrays cannot hold"):
            tnsearch.compress_model({"w": state["w"].to(torch.float8_e4m3fn)})


def test_what_is_wrong_is_said(model, tmp_path):
    calls = [
        (lambda: tnsearch.compress_model(model, keep_re=1.5), ValueError, "keep_re is 1.5"),
        (lambda: tnsearch.compress_model(model, keep_re=0.1, max_params=9), ValueError, "max_params is 9; keep_re"),
        (lambda: tnsearch.compress_model(model, cost="time"), ValueError, "cost: it is 'time'; use params"),
        (lambda: tnsearch.compress_model(model, cores="i8"), ValueError, "cores is i8; use f16"),
        (lambda: tnsearch.compress_model(model, seed="x"), TypeError, "seed"),
        (lambda: tnsearch.compress_model(model, threads=0), ValueError, "threads is 0"),
        (lambda: tnsearch.compress_model(model, max_memory=10), MemoryError, "needs about"),
        (lambda: tnsearch.compress_model(tmp_path / "none"), FileNotFoundError, "no such file"),
        (lambda: tnsearch.compress_model(3), TypeError, "int is no model"),
        (lambda: tnsearch.compress_model({"a": np.array("x")}), TypeError, "arrays cannot hold"),
        (lambda: tnsearch.compress_model({}), ValueError, "no tensor in it"),
        (lambda: tnsearch.compress_model(model, resume=True), ValueError, "give that, too"),
        (lambda: tnsearch.compress_model(model, keep_er=1), TypeError, "did you mean 'keep_re'"),
        (lambda: tnsearch.decompress_model(model), ValueError, "compress-model"),
    ]
    for call, error, words in calls:
        with pytest.raises(error, match=words):
            call()
    with pytest.warns(UserWarning, match="lost most of its norm"):
        tnsearch.compress_model({"w": np.random.default_rng(0).standard_normal((40, 40))}, max_params=90)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tnsearch.compress_model(model, keep_re=0.2)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (tnsearch.compress_model, "compress-model"),
        (tnsearch.tgp.train, "tgp train"),
        (tnsearch.tgp.Model.compress, "tgp compress"),
    ],
    ids=str,
)
def test_the_options_are_those_that_are_declared(function, name):
    parameters = inspect.signature(function).parameters
    for option, default in _core.declared_options(name).items():
        assert parameters[option].default == (default[0] if isinstance(default, list) else default), option
