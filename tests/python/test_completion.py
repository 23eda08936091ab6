"""`tnsearch complete` against numpy, and beside tensorly's masked decompositions."""

import json
import re

import numpy as np
import pytest
import tensorly as tl
from conftest import ROOT
from tensorly.decomposition import parafac, tucker


def made(noise=0.0):
    """A Tucker tensor of ranks 3, 2, 3 with a mean, and its observed entries; a tenth is shown to nobody."""
    rng = np.random.default_rng(0)
    factors = [1 + rng.normal(size=(side, rank)) for side, rank in zip((12, 10, 11), (3, 2, 3), strict=True)]
    x = tl.tucker_to_tensor((rng.normal(size=(3, 2, 3)), factors))
    x += noise * np.std(x) * rng.normal(size=x.shape)
    draw = rng.random(x.shape)
    return x, draw < 0.5, draw > 0.9


def error(x, z, where):
    return np.linalg.norm((x - z)[where]) / np.linalg.norm(x[where])


@pytest.fixture
def complete(tnsearch, tmp_path):
    """Completes an array with NaN where it is not observed; returns the report and the array."""

    def run(x, observed, *options):
        np.save(tmp_path / "X.npy", np.where(observed, x, np.nan))
        line = ["complete", tmp_path / "X.npy", "--nan-missing", "-o", tmp_path / "full.npy", "--json", "-"]
        report = json.loads(tnsearch(*line, *options))
        return report, np.load(tmp_path / "full.npy")

    return run


def test_predictions_are_at_least_as_good_as_those_of_tensorly(complete):
    x, observed, test = made(noise=0.05)
    report, full = complete(x, observed)
    assert (full[observed] == x[observed]).all()
    ours = error(x, full, test)
    shown = np.where(observed, x, 0)
    peers = [parafac(shown, rank, init="random", random_state=0, mask=observed) for rank in range(1, 7)]
    best = min(error(x, tl.cp_to_tensor(peer), test) for peer in peers)
    theirs = tucker(shown, [3, 2, 3], init="random", random_state=0, mask=observed)
    # tensorly is told the best rank by the entries that nobody was shown.
    assert ours < 1.1 * min(best, error(x, tl.tucker_to_tensor(theirs), test))
    # What is said of the predictions is what they are.
    assert report["held_out"]["rse"] ** 0.5 == pytest.approx(ours, rel=0.5)


def test_what_is_removed_is_measured_as_numpy_does(tnsearch, tmp_path):
    x, _, _ = made()
    x = (x - x.min()) / np.ptp(x)
    np.save(tmp_path / "X.npy", x)
    report = json.loads(tnsearch("complete", tmp_path / "X.npy", "--missing", 0.4, "--seed", 3,
                                 "-o", tmp_path / "full.npy", "--json", "-"))  # fmt: skip
    off = np.load(tmp_path / "full.npy") - x
    gone = report["recovered"]
    assert gone["entries"] == round(0.4 * x.size)
    # Entries that were not removed are as they were.
    assert gone["rmse"] == pytest.approx(np.sqrt((off**2).sum() / gone["entries"]), rel=1e-9)
    assert gone["psnr"] == pytest.approx(-20 * np.log10(gone["rmse"]), rel=1e-9)
    assert gone["re"] == pytest.approx(gone["rse"] ** 0.5, rel=1e-12)
    assert gone["re"] < 0.05


def test_masks_of_numpy_are_taken_as_they_are(tnsearch, tmp_path):
    x, observed, _ = made()
    data = np.ma.masked_array(x, mask=~observed)
    np.save(tmp_path / "X.npy", data.data)
    np.save(tmp_path / "M.npy", data.mask)
    report = json.loads(tnsearch("complete", tmp_path / "X.npy", "--mask", tmp_path / "M.npy", "--json", "-"))
    assert report["missing"] == data.mask.sum()


def test_the_fields_are_those_that_are_documented(complete):
    x, observed, _ = made()
    report, _ = complete(x, observed, "--template", "path", "--max-rank", 2)
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| `complete` \| (.*) \|$", text, re.M)
    structure = {"template", "order", "dims", "permutation", "edges", "params", "phi", "log10_cr"}
    inner = {"folds", "rmse", "psnr", "ranks"}
    assert set(report) | inner == set(re.findall(r"`(\w+)`", row)) - {"fit", "null"} | structure
    assert set(report["held_out"]) == {"entries", "folds", "rse", "rmse"}
    assert set(report["formats"][0]) == {"template", "ranks", "params", "rse"}


def test_folds_beyond_the_entries_are_refused_with_what_would_be_right(tnsearch, refused, tmp_path):
    x = np.add.outer(np.arange(1.0, 7), np.arange(1.0, 9))
    np.save(tmp_path / "X.npy", x)
    for observed in (43, 30, 20):
        mask = np.ones(48, bool)
        mask[np.random.default_rng(observed).permutation(48)[:observed]] = False
        np.save(tmp_path / "M.npy", mask.reshape(x.shape))
        line = ["complete", tmp_path / "X.npy", "--mask", tmp_path / "M.npy", "--max-rank", 1, "--max-sweeps", 2]
        for folds in (1000, observed + 1):
            said = refused(*line, "--folds", folds)
            assert said.count("\n") == 1 and "taking 0" not in said, said
            assert f"folds is {folds}, but {observed} entries are observed; it must be at most {observed}" in said, said
        for options in (["--folds", observed], ["--folds", 2], []):
            report = json.loads(tnsearch(*line, *options, "--json", "-"))
            assert report["observed"] == observed and report["held_out"]["entries"] == observed
