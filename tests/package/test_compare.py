"""All methods side by side: the rows of the command, as an object."""

import inspect
import json
import re

import numpy as np
import pytest

import tnsearch

METHODS = ["default", "tt-svd", "hosvd", "tr-als", "tnls"]


def wave():
    i, j, k, l = np.ogrid[0:4, 0:5, 0:4, 0:3]
    return np.sin(1 + i * j / 5 + k * l / 7) + 0.05 * np.random.default_rng(0).standard_normal((4, 5, 4, 3))


def timeless(rows):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.mark.parametrize("goal", [{"max_re": 0.1}, {"max_rse": 0.05}, {"max_params": 60}])
def test_python_gives_the_rows_of_the_command(goal, command, tmp_path):
    x = wave()
    np.save(tmp_path / "x.npy", x)
    (name, value), = goal.items()
    line = ["compare", tmp_path / "x.npy", f"--{name.replace('_', '-')}", value, "--methods", ",".join(METHODS)]
    told = json.loads(command(*line, "--max-evaluations", 10, "--json", "-"))
    found = tnsearch.compare(x, methods=METHODS, max_evaluations=10, **goal)
    assert timeless(found.rows) == timeless(told["rows"])
    assert (found.verdict, found.objective) == (told["verdict"], told["objective"])
    assert found.target_reached and not found.interrupted and found.max_seconds is None
    assert found.winners == [row["method"] for row in found.rows if row["won"]] != []


def test_rows_are_what_the_functions_give():
    x = wave()
    found = {row["method"]: row for row in tnsearch.compare(x, max_re=0.1, methods=METHODS, max_evaluations=10).rows}
    alone = tnsearch.search(x, max_re=0.1, max_evaluations=10)
    assert (found["default"]["params"], found["default"]["rse"]) == (alone.params, alone.rse)
    made = tnsearch.decompose(x, "hosvd", max_re=0.1)
    assert (found["hosvd"]["params"], found["hosvd"]["rse"]) == (made.params, made.rse)


def test_it_reads_as_a_table_and_goes_to_pandas():
    found = tnsearch.compare(wave(), max_re=0.1, methods=["tt-svd", "hosvd"])
    lines = repr(found).splitlines()
    assert lines[0].split()[:3] == ["method", "params", "RE"] and lines[-1] == found.verdict
    assert len(lines) == 2 + 1 + 2
    frame = found.to_pandas()
    assert list(frame["method"]) == [row["method"] for row in found.rows]
    assert frame["params"].is_monotonic_increasing


def test_what_is_wrong_is_refused():
    with pytest.raises(ValueError, match="methods is 'svd'; use default, tt-svd"):
        tnsearch.compare(wave(), methods="svd")
    with pytest.raises(ValueError, match="max_re is 2"):
        tnsearch.compare(wave(), max_re=2)
    with pytest.raises(TypeError, match="did you mean 'max_re'"):
        tnsearch.compare(wave(), max_er=0.1)


def test_a_method_that_fails_is_a_row_with_the_reason():
    found = tnsearch.compare(wave(), max_params=5, methods=["default", "tt-svd"])
    failed = found.rows[-1]
    assert failed["method"] == "default" and failed["params"] is None and "5" in failed["reason"]
    assert not found.target_reached and found.winners == []


def test_options_are_those_of_the_command(command):
    theirs = set(re.findall(r"^(?:  -\w, |      )--([a-z0-9-]+)(?= |$)", command("compare", "--help"), re.M))
    # Files, and how a picture becomes a tensor.
    others = "help json quiet no-direct tensorise digits grey resize crop"
    theirs = {name.replace("-", "_") for name in theirs - set(others.split())} | {"direct"}
    ours = {p.name for p in inspect.signature(tnsearch.compare).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert ours <= theirs, ours - theirs
