"""Certificates, pages, summaries and picked points: Python gives what the command line gives."""

import json

import numpy as np
import pytest
import tnsearch


def tensor():
    x = [np.arange(n) / 7 for n in (6, 5, 4, 4)]
    return 1 / (1 + sum(np.meshgrid(*x, indexing="ij")))


@pytest.fixture(scope="module")
def told(command, tmp_path_factory):
    """A search of the command line, with all that it writes."""
    folder = tmp_path_factory.mktemp("told")
    np.save(folder / "x.npy", tensor())
    asked = ["--max-re", 0.01, "--template", "ring", "--quiet", "--certificate", folder / "c.json"]
    files = ["--json", folder / "out.json", "--report", folder / "page.html", "--journal", folder / "run.jsonl"]
    command("search", folder / "x.npy", *asked, *files)
    return folder


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found")
    files = {"certificate": folder / "c.json", "report": folder / "page.html", "journal": folder / "run.jsonl"}
    return folder, tnsearch.search(tensor(), max_re=0.01, template="ring", **files)


def test_certificates_are_the_same(told, found):
    folder, _ = found
    assert (folder / "c.json").read_bytes() == (told / "c.json").read_bytes()
    assert tnsearch.verify(tensor(), certificate=folder / "c.json").holds


def test_certify_writes_the_same(command, told, tmp_path):
    command("certify", told / "x.npy", "--max-re", 0.01, "--certificate", tmp_path / "told.json", "--quiet")
    tnsearch.certify(tensor(), max_re=0.01, certificate=tmp_path / "own.json")
    assert (tmp_path / "own.json").read_bytes() == (tmp_path / "told.json").read_bytes()


def timeless(value):
    """A summary without what differs from one search to the next, and what is called by another name."""
    if isinstance(value, dict):
        left = ("seconds", "stages", "speculative", "input", "max_bytes", "max_memory")
        return {name: timeless(part) for name, part in value.items() if name not in left}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def test_summaries_are_the_same(told, found):
    _, result = found
    summary = result.summary()
    assert timeless(summary) == timeless(json.loads((told / "out.json").read_text()))
    assert summary["input"] == "an array" and summary["params"] == result.params


def test_pages_say_the_same(told, found):
    folder, result = found
    own, other = ((path / "page.html").read_text() for path in (folder, told))
    for page in (own, other):
        assert page.startswith("<!doctype html>") and "TT-SVD" in page and str(result.params) in page


def test_a_point_is_picked(command, told, found, tmp_path):
    folder, result = found
    command("pick", told / "out.json", "--max-re", 0.1, "-o", tmp_path / "net.safetensors", "--quiet")
    there = tnsearch.Network.load(tmp_path / "net.safetensors")
    asked = [(result, tensor()), (told / "out.json", None), (folder / "run.jsonl", tensor())]
    asked += [(told / "run.jsonl", None), (told / "run.jsonl", told / "x.npy"), (result.summary(), tensor())]
    for search, x in asked:
        picked = tnsearch.pick(search, x, max_re=0.1)
        assert picked.target_reached and picked.re <= 0.1 and picked.params == there.params
        cores = zip(picked.network.cores, there.cores, strict=True)
        assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in cores)
    few = tnsearch.pick(result, tensor(), params=there.params)
    assert few.structure == there.structure and "points" in repr(few)


def test_what_cannot_be_picked_is_said(found, tmp_path):
    folder, result = found
    for wrong in ({}, {"params": 9, "max_re": 0.1}):
        with pytest.raises(TypeError, match="which point"):
            tnsearch.pick(result, tensor(), **wrong)
    with pytest.raises(TypeError, match="max_er"):
        tnsearch.pick(result, tensor(), max_er=0.1)
    with pytest.raises(ValueError, match="max_re is 2"):
        tnsearch.pick(result, tensor(), max_re=2)
    with pytest.raises(ValueError, match="smallest network of the search has"):
        tnsearch.pick(result, tensor(), params=1)
    with pytest.raises(ValueError, match="does not name its tensor"):
        tnsearch.pick(folder / "run.jsonl", max_re=0.1)
    with pytest.raises(ValueError, match="not the tensor of the journal"):
        tnsearch.pick(folder / "run.jsonl", tensor() + 1, max_re=0.1)
    with pytest.raises(FileNotFoundError):
        tnsearch.pick(tmp_path / "none.json", tensor(), max_re=0.1)


def test_files_are_checked_before_the_search(tmp_path):
    with pytest.raises(ValueError, match="the same file"):
        tnsearch.search(tensor(), certificate=tmp_path / "a", report=tmp_path / "a")
    with pytest.raises(OSError, match="cannot write"):
        tnsearch.search(tensor(), report=tmp_path / "none" / "page.html")
    with pytest.raises(ValueError, match="certificate_cases"):
        tnsearch.search(tensor(), certificate=tmp_path / "a", certificate_cases=0)
    for function in (tnsearch.search, tnsearch.certify):
        with pytest.raises(ValueError, match="certificate_cases is 5; it needs certificate"):
            function(tensor(), max_re=0.01, certificate_cases=5)


def test_no_certificate_is_said(tmp_path):
    (tmp_path / "c.json").write_text("older")
    with pytest.warns(UserWarning, match="no certificate of at most 1 cases; allow more with certificate_cases"):
        tnsearch.search(tensor(), max_re=0.01, template="ring", certificate=tmp_path / "c.json", certificate_cases=1)
    assert not (tmp_path / "c.json").exists()
