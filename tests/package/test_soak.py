"""A few rounds of the soak; `cargo xtask soak` runs it for as long as one likes."""

import os
from pathlib import Path

import numpy as np
import pytest

import soak


@pytest.fixture
def small(tmp_path: Path, command) -> soak.Soak:
    return soak.Soak(tmp_path, os.path.abspath(os.environ["TNSEARCH"]), seed=1, most=300, clock=False)


def test_rounds_hold(small: soak.Soak) -> None:
    for number in range(24):
        small.round(number)
    assert small.counts["verified"] >= 12, small.counts


def test_what_does_not_hold_is_seen(small: soak.Soak, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = soak.tnsearch.search

    def off(x, **asked):
        found = honest(x, **asked)
        # Another tensor than the one that is verified.
        np.save(small.folder / "X.npy", x[::-1] * 3 + 1)
        return found

    monkeypatch.setattr(soak.tnsearch, "search", off)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 5, 3))
    with pytest.raises(soak.Wrong, match="verify"):
        for _ in range(5):
            small.in_process(rng, x)
