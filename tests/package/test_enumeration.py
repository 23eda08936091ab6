"""Some cases of the enumeration; `cargo xtask enumerate` runs as many as one likes."""

from dataclasses import replace

import daily
import pytest

import enumeration
import tnsearch


def test_claims_are_as_enumerated() -> None:
    counts = sum((enumeration.draw(seed) for seed in range(90)), start=enumeration.collections.Counter())
    assert all(counts[name] >= 25 for name in enumeration.CLAIMS), counts
    assert counts["certified"] >= 5, counts


def test_claims_are_as_enumerated_today() -> None:
    """Cases that change every day; a wrong one is named by its seed."""
    print(daily.said())
    first = daily.seed() * enumeration.APART
    counts = sum((enumeration.draw(seed) for seed in range(first, first + 30)), start=enumeration.collections.Counter())
    assert sum(counts[name] for name in enumeration.CLAIMS) >= 30, counts


def shifted(made, by):
    """A certificate that claims a little more, or less."""
    if made.lower_bound is None:
        return made
    return replace(made, lower_bound={name: value + by(value) for name, value in made.lower_bound.items()})


@pytest.mark.parametrize("by", [lambda _: 1, lambda _: -1, lambda v: 1e-9 * v], ids=["more", "less", "a little more"])
def test_claims_that_are_off_are_seen(monkeypatch: pytest.MonkeyPatch, by) -> None:
    honest = tnsearch.certify
    monkeypatch.setattr(tnsearch, "certify", lambda *a, **o: shifted(honest(*a, **o), by))
    wrong = 0
    for seed in range(1, 13):
        try:
            enumeration.Draw(seed).run(search=False)
        except enumeration.Wrong:
            wrong += 1
    assert wrong >= 9


def test_networks_that_are_off_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = tnsearch.search
    monkeypatch.setattr(tnsearch, "search", lambda *a, **o: replace(honest(*a, **o), rse=1e-9, params=7))
    with pytest.raises(enumeration.Wrong, match="search"):
        for seed in range(3):
            enumeration.Draw(seed).run(search=True)
