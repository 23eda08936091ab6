"""Certificates are checked by numpy alone (docs/check_certificate.py), and what is tampered with is refused."""

import copy
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from limits import HANG

SCRIPT = ROOT / "docs" / "check_certificate.py"
OWN = {
    "vertices": [{"mode": True}] * 4 + [{"mode": False}] * 2,
    "edges": [[0, 4], [1, 4], [2, 5], [3, 5], [4, 5], [0, 2]],
}


def checked(certificate, tensor):
    """Whether the script takes a certificate; it says so in one line, whatever it is."""
    done = subprocess.run([sys.executable, SCRIPT, certificate, tensor], capture_output=True, text=True, timeout=HANG)
    assert len(done.stdout.splitlines()) == 1 and not done.stderr, done
    assert done.stdout.startswith("PROVEN" if done.returncode == 0 else "NOT PROVEN")
    assert done.returncode in (0, 1)
    return done.returncode == 0


def test_the_script_is_short_and_needs_numpy_alone():
    text = SCRIPT.read_text()
    assert len(text.splitlines()) <= 128
    imported = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert imported == ["import bisect, hashlib, json, math, struct, sys", "import numpy as np"]


@pytest.fixture
def made(tnsearch, tmp_path):
    """Makes a certificate with `certify`; its file and what the summary says."""

    def make(tensor, *options):
        file = tmp_path / "c.json"
        report = json.loads(tnsearch("certify", tensor, *options, "--certificate", file, "--json", "-"))
        return file, report

    return make


@pytest.mark.parametrize("template", ["path", "ring", "tree", "star", "tucker", "ht", "complete", "any-tree", "own"])
@pytest.mark.parametrize("eps", [1e-6, 0.05])
def test_a_certificate_for_each_template(template, eps, generate, made, tnsearch, tmp_path):
    tensor, _ = generate("--template", "ring", "--dims", "3,4,2,3", "--ranks", "2..3", "--seed", 3)
    if template == "own":
        (tmp_path / "t.json").write_text(json.dumps(OWN))
        template = tmp_path / "t.json"
    file, report = made(tensor, "--template", template, "--max-rse", eps)
    content = json.loads(file.read_text())
    assert content["params"] == report["lower_bound"]["params"] > 0
    assert checked(file, tensor)
    said = json.loads(tnsearch("verify", tensor, "--certificate", file, "--json", "-"))
    assert said["holds"] and [c["verdict"] for c in said["claims"]] == ["holds"]
    # One more parameter is not proven.
    file.write_text(json.dumps(content | {"params": content["params"] + 1}))
    assert not checked(file, tensor)


def test_other_objectives_kinds_and_shapes(generate, made, command, tmp_path):
    tensor, _ = generate("--template", "ring", "--dims", "3,4,2,3", "--ranks", "2..3", "--seed", 3)
    # An error that no structure of so few parameters goes below.
    file, report = made(tensor, "--template", "ring", "--max-params", 30)
    content = json.loads(file.read_text())
    assert content["params"] == 31
    assert content["max_rse"] == pytest.approx(report["lower_bound"]["rse"], rel=1e-9)
    assert checked(file, tensor)
    # What no ranks up to two reach.
    file, report = made(tensor, "--template", "path", "--max-rse", 1e-6, "--max-rank", 2)
    assert report["proven_impossible"] and json.loads(file.read_text())["params"] is None
    assert checked(file, tensor)
    x = np.load(tensor)
    np.save(tmp_path / "c.npy", x * np.exp(0.3j))
    np.save(tmp_path / "s.npy", x.astype("f4"))
    np.save(tmp_path / "big.npy", x * 1e200)
    for name, options in [("c.npy", ()), ("s.npy", ("--dtype", "f32")), ("big.npy", ()),
                          ("c.npy", ("--split", "3,2x2,2,3")),
                          ("c.npy", ("--reshape", "6x4x3", "--column-major"))]:  # fmt: skip
        file, _ = made(tmp_path / name, "--template", "path", "--max-rse", 1e-4, *options)
        assert checked(file, tmp_path / name), (name, options)
    # A loss of both has one of its own; where it would be too large nothing else is lost.
    for template in ("ring", "any-tree", "tucker"):
        file, report = made(tensor, "--template", template, "--lambda", 5)
        content = json.loads(file.read_text())
        assert content["version"] == 2 and "params" not in content
        assert content["loss"] == pytest.approx(report["lower_bound"]["loss"], rel=1e-9)
        assert checked(file, tensor), template
        for name, value in [("loss", content["loss"] * 1.001), ("lambda", 0.01), ("version", 1), ("cuts", []),
                            ("params", 3), ("lost", 2)]:  # fmt: skip
            file.write_text(json.dumps(content | {name: value}))
            assert not checked(file, tensor), (template, name)
        for k in range(len(content["cuts"])):
            file.write_text(json.dumps(changed(content, ("cuts", k, "tail"), lambda t: t * 1.01)))
            assert not checked(file, tensor), (template, k)
    file.unlink()
    done = command("certify", tensor, "--template", "ring", "--certificate", file, "--certificate-cases", 1, code=0)
    assert "--certificate-cases" in done.stderr and not file.exists()


def test_a_search_writes_the_certificate_of_its_bound(generate, tnsearch, tmp_path):
    tensor, _ = generate("--dims", "4,3,4,3,4", "--ranks", "2..3")
    for template in ("ring", None):
        file, out, net = (tmp_path / name for name in ("c.json", "out.json", "net.safetensors"))
        line = ["search", tensor, "--max-rse", 1e-6, "--certificate", file, "--json", out, "-o", net, "-q"]
        tnsearch(*line, *(["--template", template] if template else []))
        report, content = json.loads(out.read_text()), json.loads(file.read_text())
        assert content["params"] == report["lower_bound"]["params"]
        assert checked(file, tensor)
        for given in ([], ["--certificate", file]):
            said = json.loads(tnsearch("verify", tensor, net, out, *given, "--json", "-"))
            verdicts = {claim["claim"]: claim["verdict"] for claim in said["claims"]}
            assert verdicts["lower_bound"] == "holds" and verdicts["certified_optimal"] == "holds", said
            assert set(verdicts.values()) == {"holds", "recorded"}


def numbers(value, path=()):
    """Where the numbers of a document are."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from numbers(child, path + (key,))


def changed(content, path, value):
    """A copy with another value somewhere; of a function, what that makes of the one there."""
    content = copy.deepcopy(content)
    *where, last = path
    place = content
    for key in where:
        place = place[key]
    place[last] = value(place[last]) if callable(value) else value
    return content


def test_what_is_tampered_with_is_refused(generate, made, command, tmp_path):
    tensor, _ = generate("--template", "ring", "--dims", "3,2,3,2", "--ranks", "2..2", "--seed", 3)
    file, report = made(tensor, "--template", "ring", "--max-rse", 0.01)
    good = json.loads(file.read_text())
    assert checked(file, tensor)
    bad = [
        changed(good, ("params",), lambda p: p + 1),
        changed(good, ("params",), None),
        changed(good, ("max_rse",), 0.9),
        changed(good, ("max_rse",), -1.0),
        changed(good, ("data", "norm"), lambda n: 2 * n),
        changed(good, ("data", "sha256"), "0" * 64),
        changed(good, ("data", "dims"), [3, 2, 2, 3]),
        changed(good, ("data", "dtype"), "f32"),
        changed(good, ("template",), "any-tree"),
        changed(good, ("version",), 2),
        {key: value for key, value in good.items() if key != "cuts"},
    ]
    for k, cut in enumerate(good["cuts"]):
        bad += [
            changed(good, ("cuts", k, "width"), cut["width"] + 1),
            changed(good, ("cuts", k, "tail"), cut["tail"] * 1.01),
            changed(good, ("cuts", k, "tail"), 0.01),
            changed(good, ("cuts", k, "slack"), cut["tail"]),
        ]
    for k, node in enumerate(good["tree"]):
        # A case dropped, and one more.
        rest = good["tree"][:k] + good["tree"][k + 1:]
        if not set(node) & {"place", "fill"}:
            bad.append(good | {"tree": rest})
        bad.append(good | {"tree": good["tree"] + [node]})
        if "place" in node:
            for v in node["place"]["on"]:
                on = [w for w in node["place"]["on"] if w != v]
                bad.append(changed(good, ("tree", k, "place", "on"), on))
            for g in range(len(node["place"].get("by", []))):
                bad.append(changed(good, ("tree", k, "place", "by", g), lambda g: g[1:] + g[:1]))
    for k, content in enumerate(bad):
        file.write_text(json.dumps(content))
        assert not checked(file, tensor), (k, content)
    # The command finds the same, in words or as bad input.
    for content in bad[:1] + bad[5:6] + bad[11:14] + bad[-1:]:
        file.write_text(json.dumps(content))
        done = command("verify", tensor, "--certificate", file, code=1)
        assert "does NOT hold" in done.stdout


def test_whatever_is_changed_nothing_wrong_is_proven(generate, made, tmp_path):
    """Any number changed, the claim raised: never taken. The check of trees, called without a process for each."""
    tensor, _ = generate("--template", "ring", "--dims", "3,2,3,2", "--ranks", "2..2", "--seed", 3)
    for template in ("path", "tucker"):
        file, _ = made(tensor, "--template", template, "--max-rse", 0.01)
        good = json.loads(file.read_text())
        code = SCRIPT.read_text().split("\ntry:")[0]
        space = {}
        exec(compile(code, str(SCRIPT), "exec"), space)
        space["check_tree"](good)
        raised = good | {"params": good["params"] + 1}
        for path, by in itertools.product(numbers(good["tree"]), (1, -1)):
            content = changed(raised, ("tree", *path), lambda n: n + by)
            with pytest.raises(Exception):
                space["check_tree"](content)


@pytest.mark.parametrize("template", ["path", "ring", "tree", "any-tree"])
def test_beyond_14_modes(template, made, tmp_path):
    cores = np.random.default_rng(1).normal(size=(18, 2, 2, 2))
    x = np.eye(2)[:1]
    for core in cores:
        x = np.einsum("ka,aib->kib", x, core).reshape(-1, 2)
    tensor = tmp_path / "many.npy"
    np.save(tensor, x[:, 0].reshape((2,) * 18))
    file, report = made(tensor, "--template", template, "--max-rse", 1e-6, "--nodes", 20)
    content = json.loads(file.read_text())
    assert 36 < content["params"] <= report["lower_bound"]["params"]
    assert content["version"] == (3 if template == "any-tree" else 1)
    assert checked(file, tensor)
    bad = [content | {"params": 2 * content["params"] + 200}, content | {"version": 2}]
    if template == "any-tree":
        first, *others = content["contracted"]
        bad += [content | {"params": content["params"] + 1}, content | {"contracted": others}, content | {"version": 1}]
        bad += [content | {"contracted": [first, *others, first]}]
        bad += [content | {"contracted": [first | {"re": changed}, *others]} for changed in ([0.0, 0.0], [1.0], [1.0, 2.5])]
    for changed in bad:
        file.write_text(json.dumps(changed))
        assert not checked(file, tensor)
