"""Gaussian processes: the models and predictions of the command line, bit for bit, from tables and from arrays."""

import json

import numpy as np
import pytest

import tnsearch

OPTIONS = {"inducing": 5, "tt_rank": 3, "evidence_rows": 80, "seed": 3}
ARGUMENTS = ["--inducing", 5, "--tt-rank", 3, "--evidence-rows", 80, "--seed", 3]
NAMES = ["a", "b", "y"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 2))
    return X, 10 + 3 * np.sin(2 * X[:, 0]) * (1 + X[:, 1]) + 0.05 * rng.standard_normal(150)


@pytest.fixture(scope="module")
def table(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("tgp") / "t.csv"
    rows = np.column_stack(data)
    path.write_text("a,b,y\n" + "".join(",".join(repr(float(x)) for x in row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def model(data):
    return tnsearch.tgp.train(*data, names=NAMES, **OPTIONS)


def same(values, report):
    of_the_run = {"input", "output", "model", "seconds", "version"}
    assert {k: v for k, v in values.items() if k not in of_the_run} == {k: v for k, v in report.items() if k not in of_the_run}
    assert values["version"] == report["version"]


def test_it_is_that_of_the_command_line(data, table, model, command, tmp_path):
    theirs, ours = tmp_path / "theirs.safetensors", tmp_path / "ours.safetensors"
    report = json.loads(command("tgp", "train", table, "-o", theirs, "--json", "-", *ARGUMENTS))
    same(model.summary, report)
    for made in (model, tnsearch.tgp.train(table, **OPTIONS), tnsearch.tgp.train(*data, names=NAMES, threads=1, **OPTIONS)):
        made.save(ours)
        assert ours.read_bytes() == theirs.read_bytes()
    # Predictions, of arrays, of files and after loading.
    command("tgp", "predict", theirs, table, "-o", tmp_path / "p.csv")
    want = np.loadtxt(tmp_path / "p.csv", delimiter=",", skiprows=1)
    for made in (model, tnsearch.tgp.load(ours)):
        for X in (data[0], table):
            mean, sd = made.predict(X)
            assert np.array_equal(mean, want[:, 0]) and np.array_equal(sd, want[:, 1])
    assert np.mean((want[:, 0] - data[1]) ** 2) < 0.2
    # Made smaller.
    small, given = tmp_path / "small.safetensors", ["--no-tune", "--template", "path", "--max-mse-loss", 0.05, "--max-seconds", 500]
    report = json.loads(command("tgp", "compress", theirs, table, "-o", small, "--json", "-", *given, code=None))
    options = {"tune": False, "template": "path", "max_mse_loss": 0.05, "max_seconds": 500}
    for less in (model.compress(**options), tnsearch.tgp.load(ours).compress(*data, **options)):
        same(less.summary, report)
        less.save(ours)
        assert ours.read_bytes() == small.read_bytes()
        assert less.params == report["params"] <= model.params


def test_names_are_taken(data, table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data[0], columns=["a", "b"])
    for given in ((*data,), (frame, data[1]), (table,)):
        made = tnsearch.tgp.train(*given, names=["p", "q", "r"], **OPTIONS)
        assert (made.features, made.response) == (["p", "q"], "r")
        with pytest.raises(ValueError, match="names has 2 names; the table has 3 columns"):
            tnsearch.tgp.train(*given, names=["p", "q"], **OPTIONS)


def test_what_a_model_says(data, model):
    assert (model.features, model.response) == (["a", "b"], "y")
    assert model.params == 5 * 3 * 2 and model.network.structure.template == "path"
    assert model.summary["rows"] == [108, 12, 30] and "30 params" in repr(model)
    plain = tnsearch.tgp.train(*data, **OPTIONS)
    assert plain.features == ["x0", "x1"] and np.array_equal(plain.predict(data[0]).mean, model.predict(data[0]).mean)
    more = tnsearch.tgp.train(*data, names=NAMES, resume=model, **OPTIONS)
    assert more.summary["validation_mse"] <= model.summary["validation_mse"]


def test_tables_of_pandas(data, model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data[0], columns=["a", "b"])
    made = tnsearch.tgp.train(frame, pandas.Series(data[1], name="y"), **OPTIONS)
    want = model.predict(data[0])
    assert np.array_equal(made.predict(frame[["b", "a"]].assign(z="text")).mean, want.mean)


def test_what_is_wrong_is_said(data, table, model, tmp_path):
    X, y = data
    broken = np.where(np.arange(300).reshape(150, 2) == 5, np.nan, X)
    calls = [
        (lambda: tnsearch.tgp.train(X), TypeError, "y is missing"),
        (lambda: tnsearch.tgp.train(X, y[:-1]), ValueError, r"y has shape \[149\]"),
        (lambda: tnsearch.tgp.train(y, y), ValueError, "X has shape"),
        (lambda: tnsearch.tgp.train(broken, y), ValueError, "row 3, column 'x1': 'NaN' is no finite number"),
        (lambda: tnsearch.tgp.train(X, y, names=["a", "a", "y"]), ValueError, "two columns are called 'a'"),
        (lambda: tnsearch.tgp.train(X, y, tt_rank=0), ValueError, "tt.rank is 0"),
        (lambda: tnsearch.tgp.train(X, y, inducing=[2, 3, 4]), ValueError, "inducing has 3 numbers"),
        (lambda: tnsearch.tgp.train(X, y, max_memory="1MB"), MemoryError, "needs about"),
        (lambda: tnsearch.tgp.train(X, y, tt_rnk=3), TypeError, "did you mean 'tt_rank'"),
        (lambda: tnsearch.tgp.train(X, y, resume=model, **OPTIONS), ValueError, "no column 'a'"),
        (lambda: model.predict(X[:, :1]), ValueError, "it needs rows of 2 columns"),
        (lambda: model.compress(max_mse_loss=0), ValueError, "max.mse.loss is 0"),
        (lambda: model.compress(X[:50], y[:50]), ValueError, "not the table that the model was trained with"),
        (lambda: tnsearch.tgp.load(tmp_path / "none"), FileNotFoundError, "no such file"),
        (lambda: tnsearch.tgp.train(table, max_memory="1KB"), MemoryError, "allowed by max_memory"),
        (lambda: model.compress(max_memory="1KB"), MemoryError, "allowed by max_memory"),
        (lambda: model.compress(table, max_memory="1KB"), MemoryError, "allowed by max_memory"),
        (lambda: tnsearch.tgp.load(tmp_path / "none", max_memory="much"), ValueError, "much"),
    ]
    for call, error, words in calls:
        with pytest.raises(error, match=words):
            call()
    model.save(tmp_path / "m")
    with pytest.raises(TypeError, match="give X and y"):
        tnsearch.tgp.load(tmp_path / "m").compress()
