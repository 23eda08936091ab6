"""Settings that belong together: a strategy with its options, a fit with its own, and what a search may use.

``search(X, strategy=Tnls(samples=60), fit=Als(restarts=4), budget=Budget(max_seconds=60))`` is the same as
``search(X, strategy="tnls", samples=60, fit="als", restarts=4, max_seconds=60)``. What is left out is left to the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar


class Group:
    """Settings by name; None where one is left out."""

    def given(self) -> dict[str, Any]:
        """Those that are not left out.

        >>> Tnls(samples=60).given()
        {'samples': 60}
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Budget(Group):
    """What a search may use, and what it does not fit."""

    max_evaluations: int | None = None
    max_seconds: float | None = None
    threads: int | None = None
    max_memory: int | str | None = None
    max_phi: float | None = None
    max_cost: float | None = None


class Fit(Group):
    """How structures are fitted."""

    name: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class Als(Fit):
    """Alternating least squares, the default."""

    name: ClassVar[str] = "als"
    restarts: int | None = None
    scouts: int | None = None
    max_sweeps: int | None = None
    tolerance: float | None = None
    stop_rse: float | None = None
    carry: bool | None = None
    sigma: float | None = None
    rescue: int | None = None


@dataclass(frozen=True, kw_only=True)
class Lm(Als):
    """Levenberg-Marquardt."""

    name: ClassVar[str] = "lm"


@dataclass(frozen=True, kw_only=True)
class Adam(Als):
    """Adam, as in the paper."""

    name: ClassVar[str] = "adam"
    learning_rate: float | None = None


class Strategy(Group):
    """How structures are proposed."""

    name: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class Tnls(Strategy):
    """Local sampling, the paper's algorithm."""

    name: ClassVar[str] = "tnls"
    iterations: int | None = None
    samples: int | None = None
    c1: float | None = None
    c2: float | None = None


@dataclass(frozen=True, kw_only=True)
class Exact(Tnls):
    """Proven best first; where that ends without an answer, local sampling."""

    name: ClassVar[str] = "exact"
    nodes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Walk(Strategy):
    """Fits that choose their ranks, move modes, add and drop edges."""

    name: ClassVar[str] = "walk"
    steps: int | None = None
    width: int | None = None
    patience: int | None = None


@dataclass(frozen=True, kw_only=True)
class Tnale(Strategy):
    """Alternating enumeration."""

    name: ClassVar[str] = "tnale"
    iterations: int | None = None
    radius: int | None = None
    init_iterations: int | None = None
    init_radius: int | None = None


@dataclass(frozen=True, kw_only=True)
class TngaPlus(Strategy):
    """Genetic search of a template."""

    name: ClassVar[str] = "tnga-plus"
    generations: int | None = None
    population: int | None = None
    elimination: float | None = None
    reproduction: int | None = None
    alpha: float | None = None
    beta: float | None = None
    mutation: float | None = None


@dataclass(frozen=True, kw_only=True)
class TngaStar(TngaPlus):
    """Genetic search over all graphs."""

    name: ClassVar[str] = "tnga-star"


@dataclass(frozen=True, kw_only=True)
class Annealing(Strategy):
    """Simulated annealing, a baseline."""

    name: ClassVar[str] = "annealing"
    iterations: int | None = None
    samples: int | None = None
    c1: float | None = None
    c2: float | None = None
    temperature: float | None = None
    cooling: float | None = None


@dataclass(frozen=True, kw_only=True)
class Random(Strategy):
    """Uniform structures, a baseline."""

    name: ClassVar[str] = "random"
    iterations: int | None = None
    samples: int | None = None


@dataclass(frozen=True, kw_only=True)
class Greedy(Strategy):
    """One rank at a time, over all graphs."""

    name: ClassVar[str] = "greedy"


#: The classes by the strategies' names; the default search (``auto``) and those of templates that stand for many graphs are
#: asked for by name.
STRATEGIES: dict[str, type[Strategy]] = {
    kind.name: kind for kind in (Tnls, Exact, Walk, Tnale, TngaPlus, TngaStar, Annealing, Random, Greedy)
}


def ungrouped(
    settings: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and options of a strategy without groups. What is given twice is refused.

    >>> ungrouped({"strategy": Tnls(samples=5), "max_seconds": None, "budget": Budget(max_seconds=2.0)}, {})
    ({'strategy': 'tnls', 'max_seconds': 2.0}, {'samples': 5})
    """
    plain, own = dict(settings), dict(options)
    budget = plain.pop("budget", None)
    if not isinstance(budget, Budget | None):
        raise TypeError(f"budget is a {type(budget).__name__}; it must be a tnsearch.Budget")
    for name, kind, into in (("strategy", Strategy, own), ("fit", Fit, plain)):
        group = plain.get(name)
        if isinstance(group, kind):
            plain[name] = group.name
            _put(into, group, name)
    if budget is not None:
        _put(plain, budget, "budget")
    return plain, own


def _put(into: dict[str, Any], group: Group, name: str) -> None:
    for option, value in group.given().items():
        # False is what `carry` has where nothing is said.
        present = into.get(option)
        if present is not None and present is not False:
            raise TypeError(f"{option} is given twice: by itself and in {name}={group!r}")
        into[option] = value
