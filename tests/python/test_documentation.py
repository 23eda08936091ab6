"""The fields in the tables of docs/formats.md are those that the command writes."""

import json
import re
import zlib

import pytest
import safetensors
from conftest import ROOT


SHORT = ["--strategy", "tnls", "--lambda", 5, "--iterations", 2, "--samples", 5]


def table(title):
    """The first two columns of the table whose first column has this title, the names in each cell."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    [rows] = re.findall(rf"^\| {title} \|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.M)
    return [[set(re.findall(r"`(\w+)`", cell)) for cell in row.split("|")[1:3]] for row in rows.splitlines()]


def documented(title):
    """The names in the first column of a table."""
    return set.union(*(first for first, _ in table(title)))


def fields_of(command):
    """The names in the row of a command."""
    [fields] = [second for first, second in table("command") if first == {command}]
    return fields


@pytest.fixture
def searched(generate, tnsearch, tmp_path):
    """A short search of two runs; returns the folder of its files."""
    tensor, _ = generate("--order", 4, "--seed", 1)
    tnsearch("search", tensor, *SHORT, "--runs", 2, "--journal", tmp_path / "run.jsonl",
             "--json", tmp_path / "out.json", "-o", tmp_path / "net.safetensors")  # fmt: skip
    return tmp_path


def test_the_summary_of_a_search(searched):
    report = json.loads((searched / "out.json").read_text())
    assert set(report) == documented("field of a search")
    counts = {key: report[key] for key in ("samples", "evaluations", "cached", "pruned", "refused")}
    assert report["samples"] == 22 == sum(counts.values()) - report["samples"]
    for run in report["runs"]:
        assert set(run) == {"seed", "counts", "best", "target_reached"}
        assert set(run["counts"]) == {"direct", *counts}
        assert set(run["best"]) == {"loss", "rse", "params"}
    for key in counts:
        assert counts[key] == sum(run["counts"][key] for run in report["runs"])
    for point in report["history"]:
        assert set(point) == {"evaluations", "samples", "loss", "rse", "params", "seconds"}
    # The template and the effort are left out where they are those of the answer, and all.
    needed = {"params", "rse", "permutation", "edges", "run"}
    assert all(set(point) - {"template", "effort"} == needed for point in report["pareto"])
    assert report["target_reached"] and report["stopped_by"] == "finished"


def test_the_seed_of_a_run_finds_it_again(searched, tnsearch):
    report = json.loads((searched / "out.json").read_text())
    assert report["runs"][report["run"]]["seed"] == report["run_seed"]
    for run in report["runs"]:
        again = json.loads(tnsearch("search", searched / "X.npy", *SHORT, "--seed", run["seed"], "--json", "-"))
        assert {key: again[key] for key in run["best"]} == run["best"]


def test_the_journal(searched):
    header, *lines = map(json.loads, (searched / "run.jsonl").read_text().splitlines())
    assert set(header) == documented("field of the first line")
    for line in (searched / "run.jsonl").read_bytes().splitlines():
        assert line[-10:-2] == b"%08x" % zlib.crc32(line[:-18] + b"}")
    report = json.loads((searched / "out.json").read_text())
    records = [line for line in lines if "key" in line]
    others = [line for line in lines if "key" not in line]
    for kind in ("begin", "generation", "end"):
        [fields] = [second for first, second in table("line") if first == {kind}]
        found = [line[kind] for line in others if kind in line]
        # Left out where there is an answer, and where no largest rank was given.
        left_out = {"no_answer", "max_rank"} if kind == "end" else set()
        assert found and all(set(record) | left_out == fields for record in found)
        others = [line for line in others if kind not in line]
    assert not others and lines[-1]["end"]["best"]["params"] == report["params"]
    assert len(records) == report["evaluations"] + report["direct"] > report["direct"] > 0
    for record in records:
        # Left out where a fit was given all its starts, as TNLS's are, and where it is of the graph searched.
        assert set(record) | {"effort", "format"} == documented("field of an evaluation")
    assert min(record["loss"] for record in records) == report["loss"]


def test_the_metadata_of_a_network(searched):
    with safetensors.safe_open(searched / "net.safetensors", "numpy") as file:
        metadata = file.metadata()
    # Left out where the cores are real, where the tensor has its own shape, and but for what 'compress' makes.
    assert set(metadata) | {"complex", "reshaped", "origin"} == documented("entry")
    report = json.loads((searched / "out.json").read_text())
    assert float(metadata["rse"]) == report["rse"]
    assert int(metadata["params"]) == report["params"]
    assert json.loads(metadata["dims"]) == report["dims"]
    structure = {key: report[key] for key in ("template", "permutation", "edges")}
    assert json.loads(metadata["structure"]) == structure


def test_the_other_commands(generate, fit, info, tnsearch, tmp_path):
    tensor, hidden = generate("--order", 4)
    report, net = fit(tensor, {key: hidden[key] for key in ("template", "permutation", "edges")})
    assert set(report) == fields_of("fit")
    structure = set(report) & set(hidden) - {"seed", "rse", "output"}
    assert set(hidden) == structure | fields_of("generate") - {"fit"}
    made = json.loads(tnsearch("reconstruct", net, "-o", tmp_path / "Z.npy", "--json", "-"))
    assert set(made) == fields_of("reconstruct")
    network = info(net)
    assert network["kind"] == "network" and structure < set(network)
    assert (set(network) - structure) | set(info(tensor)) <= fields_of("info")
    rounded = json.loads(tnsearch("round", net, "--max-re", 0.01, "--json", "-"))
    assert set(rounded) == fields_of("round") - {"fit", "null"} | structure
    assert rounded["target_reached"] and rounded["params"] <= rounded["params_before"]


def test_a_point_of_the_front(searched, tnsearch):
    report = json.loads((searched / "out.json").read_text())
    point = report["pareto"][0]
    fields = {"template", "order", "dims", "permutation", "edges", "params", "phi", "log10_cr"}
    for search in ("out.json", "run.jsonl"):
        picked = json.loads(tnsearch("pick", searched / search, "--params", point["params"], "--json", "-"))
        assert set(picked) == fields_of("pick") - {"fit"} | fields
        assert (picked["params"], picked["rse"]) == (point["params"], point["rse"])


def test_the_geometry_of_the_search_space(generate, tnsearch, tmp_path):
    tensor, hidden = generate("--order", 4)
    report = json.loads(tnsearch("space", "--x", tensor, "--max-rank", 3, "--json", "-"))
    assert set(report) | set(report["rate"]) | {"free", "fixed", "null"} == fields_of("space")
    assert (report["automorphisms"], report["structures"], report["search_space"]) == ("8", "3", str(3 * 3**4))
    structure = {key: hidden[key] for key in ("template", "permutation", "edges")}
    (tmp_path / "a.json").write_text(json.dumps(structure))
    near = structure | {"permutation": structure["permutation"][::-1]}
    (tmp_path / "b.json").write_text(json.dumps(near))
    report = json.loads(tnsearch("distance", tmp_path / "a.json", tmp_path / "b.json", "--json", "-"))
    assert set(report) | {"null"} == fields_of("distance")


def test_decompose(generate, tnsearch):
    tensor, _ = generate("--order", 4)
    nested = {"restarts", "max_sweeps", "tolerance", "max_rank"}
    fields = (fields_of("fit") | fields_of("decompose")) - nested - {"fit", "null"}
    for method in ("tt-svd", "bayes-tr"):
        report = json.loads(tnsearch("decompose", tensor, "--method", method, "--json", "-"))
        assert set(report) == fields
        assert report["settings"] is None if method == "tt-svd" else set(report["settings"]) == nested


def test_compress_and_decompress(generate, tnsearch, tmp_path):
    tensor, _ = generate("--order", 4)
    made = json.loads(tnsearch("compress", tensor, "-o", tmp_path / "x.net", "--max-seconds", 600, "--json", "-"))
    assert set(made) == fields_of("compress")
    with safetensors.safe_open(tmp_path / "x.net", "numpy") as file:
        assert json.loads(file.metadata()["origin"]) == {"picture": False, "dtype": "f64"}
    back = json.loads(tnsearch("decompress", tmp_path / "x.net", "-o", tmp_path / "Z.npy", "--json", "-"))
    assert set(back) == fields_of("decompress")
