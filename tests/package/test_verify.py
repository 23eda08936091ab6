"""`tnsearch.verify`: what a result claims is computed anew, and no forged claim is called true."""

import copy
import json

import numpy as np
import pytest

import tnsearch


def hidden(seed=5):
    rng = np.random.default_rng(seed)
    a, b, c, d = (rng.normal(size=(2, 3, 2)) for _ in range(4))
    return np.einsum("iaj,jbk,kcl,ldi->abcd", a, b, c, d)


@pytest.fixture(scope="module")
def found():
    x = hidden()
    return x, tnsearch.search(x, max_rse=1e-4, template="ring", max_rank=7)


def test_a_result_holds(found):
    x, result = found
    checked = tnsearch.verify(x, result, template="ring", max_rank=7)
    assert checked.holds and not checked.wrong and not checked.unchecked, checked.claims
    names = {claim.claim for claim in checked.claims}
    assert {"params", "rse", "re", "loss", "edges", "lower_bound", "certified_optimal", "pareto"} <= names
    assert "0 do not" in repr(checked)
    # The network alone, and its file.
    assert tnsearch.verify(x, result.network).holds


def test_what_is_only_on_record_is_said(found):
    x, result = found
    strict = tnsearch.verify(x, result, template="ring", max_rank=7, strict=True)
    assert strict.verdict == "not_checked"
    recorded = {claim.claim for claim in strict.claims if claim.verdict == "recorded"}
    assert {"seconds", "strategy", "seed"} <= recorded


def test_forged_claims_do_not_hold(found):
    x, result = found
    good = result.summary()
    over = {"template": "ring", "max_rank": 7}
    good["bound_over"] = over
    assert tnsearch.verify(x, result.network, good).holds
    forged = {
        "params": good["params"] - 1,
        "rse": good["rse"] + 1e-3,
        "re": 0.5,
        "loss": 0.0,
        "target_reached": False,
        "certified_optimal": False,
        "proven_impossible": True,
        "lower_bound": {"params": good["params"] + 9, "rse": None, "loss": None},
        "bound_over": {"template": "any-tree", "max_rank": None},
        "permutation": [0, 0, 1, 2],
        "dims": [3, 3, 3, 4],
        "samples": good["samples"] + 1,
        "reshaped": {"from": [9, 9], "to": [3, 3, 3, 3]},
        "unheard_of": 1,
    }
    for name, value in forged.items():
        bad = copy.deepcopy(good)
        bad[name] = value
        checked = tnsearch.verify(x, result.network, bad)
        assert not checked.holds, name
        assert name == "unheard_of" or checked.wrong, name


def test_another_tensor_is_not_this_one(found):
    x, result = found
    assert tnsearch.verify(x + 1.0, result, template="ring", max_rank=7).verdict == "does_not_hold"


def test_files_are_read(found, tmp_path):
    x, result = found
    result.network.save(tmp_path / "net.safetensors")
    summary = result.summary() | {"bound_over": {"template": "ring", "max_rank": 7}}
    (tmp_path / "out.json").write_text(json.dumps(summary))
    assert tnsearch.verify(x, tmp_path / "net.safetensors", tmp_path / "out.json").holds


def test_bad_arguments_are_refused(found):
    x, result = found
    with pytest.raises(TypeError, match="what is to be checked"):
        tnsearch.verify(x)
    with pytest.raises(TypeError, match="strikt"):
        tnsearch.verify(x, result, strikt=True)
    with pytest.raises(ValueError, match="certificate"):
        tnsearch.verify(x, certificate={"format": "none"})
    with pytest.raises(ValueError):
        tnsearch.verify(x[:2], result.network)
