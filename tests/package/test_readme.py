"""What README.md and docs/python.md say is so."""

import pathlib
import re

import numpy as np

import tnsearch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def code(page):
    """The blocks of Python on a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)


def test_the_lines_of_the_readme_give_a_certified_ring(capsys):
    [lines] = code("README.md")
    names = {}
    exec(lines, names)
    found, x = names["found"], names["X"]
    assert x.ndim == 8 and found.structure.template == "ring"
    assert found.certified_optimal and found.params == 8 * 2 * 3 * 2 and found.structure.ranks == [2] * 8
    said = capsys.readouterr().out
    assert "ring, 96 params" in said and "optimal" in said and "not proven" not in said
    assert np.linalg.norm(names["Z"] - x) <= 0.01 * np.linalg.norm(x)


def test_the_command_finds_the_same(command, tmp_path):
    import json

    [lines] = code("README.md")
    names = {}
    exec(lines, names)
    found = names["found"]
    np.save(tmp_path / "X.npy", names["X"])
    line = ["--template", "ring", "--max-re", 0.01, "-o", tmp_path / "net.safetensors", "--json", "-"]
    report = json.loads(command("search", tmp_path / "X.npy", *line))
    assert report["permutation"] == found.structure.permutation and report["rse"] == found.rse
    for a, b in zip(tnsearch.Network.load(tmp_path / "net.safetensors").cores, found.network.cores, strict=True):
        assert np.array_equal(a, b)


def test_every_name_of_the_page_is_there():
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"tnsearch\.(?!sklearn)([A-Za-z_]+)\b(?!\.)", text)):
        assert hasattr(tnsearch, name), name
    for name in set(re.findall(r"(?:network|Network)\.([a-z_]+)", text)):
        assert hasattr(tnsearch.Network, name), name
    for name in re.findall(r"structure`: (.*?) \|", text):
        for attribute in re.findall(r"`([a-z_]+)", name):
            assert hasattr(tnsearch.Structure, attribute), attribute


def test_the_example_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    i, j, k = np.ogrid[0:4, 0:5, 0:6]
    np.save("X.npy", i + 2.0 * j * k)
    exec(code("docs/python.md")[0], {})
    assert (tmp_path / "net.safetensors").exists()
