"""Settings in objects are the same as by name, and an object has the options that its strategy has."""

import dataclasses
import re

import numpy as np
import pytest

import tnsearch
from tnsearch import _groups

X = np.random.default_rng(2).standard_normal((4, 3, 4, 3))
PLAIN = {"template": "ring", "max_rank": 3, "lambda_": 5.0, "seed": 3}


def numbers(found):
    return found.params, found.rse, found.evaluations, found.samples, found.strategy


def test_objects_are_the_same_as_names():
    by_name = tnsearch.search(
        X, strategy="tnls", iterations=2, samples=6, fit="als", restarts=2, max_sweeps=9, max_evaluations=7, max_phi=9.0, **PLAIN
    )
    by_object = tnsearch.search(
        X,
        strategy=tnsearch.Tnls(iterations=2, samples=6),
        fit=tnsearch.Als(restarts=2, max_sweeps=9),
        budget=tnsearch.Budget(max_evaluations=7, max_phi=9.0),
        **PLAIN,
    )
    assert numbers(by_name) == numbers(by_object) and by_object.strategy == "tnls"
    other = tnsearch.search(X, strategy=tnsearch.Random(iterations=1, samples=3), fit=tnsearch.Lm(max_sweeps=5), **PLAIN)
    assert other.strategy == "random" and other.samples == 3


def test_what_is_given_twice_or_is_no_object_is_refused():
    with pytest.raises(TypeError, match="samples is given twice"):
        tnsearch.search(X, strategy=tnsearch.Tnls(samples=6), samples=5, **PLAIN)
    with pytest.raises(TypeError, match="rescue is given twice"):
        tnsearch.search(X, rescue=0, fit=tnsearch.Als(rescue=3), **PLAIN)
    with pytest.raises(ValueError, match="use strategy tnls or direct=False with it"):
        tnsearch.search(X, samples=9, template="ring")
    with pytest.raises(TypeError, match="max_seconds is given twice"):
        tnsearch.search(X, budget=tnsearch.Budget(max_seconds=6), max_seconds=5, **PLAIN)
    with pytest.raises(TypeError, match="it must be a tnsearch.Budget"):
        tnsearch.search(X, budget=60, **PLAIN)
    with pytest.raises(ValueError, match="samples is 0"):
        tnsearch.search(X, strategy=tnsearch.Tnls(samples=0), **PLAIN)
    with pytest.raises(TypeError, match="radius"):
        tnsearch.Tnls(radius=3)


def unknown_strategy():
    with pytest.raises(ValueError) as caught:
        tnsearch.search(X, strategy="none of them")
    return caught.value


def test_every_strategy_has_an_object_with_its_options(command):
    """The help of the command says which strategies an option is of."""
    words = " ".join(command("search", "--help").split())
    found = {name: set() for name in _groups.STRATEGIES}
    for option, said in re.findall(r"--([a-z0-9-]+) <\w+> (.*?)(?= --[a-z0-9-]+ <| --[a-z0-9-]+ [A-Z]|$)", words):
        for names in re.findall(r"\(((?:[a-z-]+)(?:, [a-z-]+)*)\)", said):
            for name in names.split(", "):
                if name in found:
                    found[name].add(option.replace("-", "_"))
    every = set(re.search(r"use (auto, .*)", str(unknown_strategy())).group(1).split(", "))
    assert every - {"auto", "formats", "trees"} == set(_groups.STRATEGIES)
    for name, kind in _groups.STRATEGIES.items():
        assert {field.name for field in dataclasses.fields(kind)} == found[name], name


def test_where_no_strategy_is_named_the_default_searches():
    found = tnsearch.search(X, strategy=None, max_evaluations=1, **PLAIN)
    assert found.params > 0
    study = tnsearch.Study((3, 4, 3), template="ring", max_rank=2, lambda_=5.0)
    trial = study.ask()
    assert trial is not None and trial.structure.ranks
    assert tnsearch.search(X, template="any-tree", trees=3, max_re=0.5).params > 0


def test_a_study_takes_them_too():
    study = tnsearch.Study((3, 4, 3), template="ring", max_rank=2, lambda_=5.0, strategy=tnsearch.Random(iterations=1, samples=2))
    asked = 0
    while (trial := study.ask()) is not None:
        asked += 1
        study.tell(trial, 0.5)
    assert 1 <= asked <= 2
