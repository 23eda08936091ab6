"""What a search found."""

from __future__ import annotations

import decimal
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from ._core import Network, Structure
from ._labels import Labels, as_pandas, as_xarray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Result:
    """The answer of :func:`tnsearch.search`, and how it was found.

    Attributes
    ----------
    structure, network
        The best structure and its cores; None where nothing could be fitted.
    params
        The entries of all its cores.
    rse, re
        Its squared relative error, and the root of it.
    error
        Its error by the loss of the search: the ``rse``, unless another loss was asked for.
    loss
        What the objective minimises: ``phi + lambda_ * error``, the params, or the error.
    target_reached
        Whether it is what was asked for.
    rounding
        What networks of this kind of number can reach, in words, where that is why the error was missed; else None.
    statement
        What is proven, over which structures: a dict with ``proven`` (``"nothing"``, ``"lower_bound"``, ``"optimal"`` or
        ``"impossible"``), ``over`` (the same as ``bound_over``), ``answer`` (whether the answer is one of these:
        ``"inside"``, or why not), ``reason`` (where nothing is) and ``text``, all of it in one sentence.
    bound_over
        The structures that the proof is about: their ``template`` (``"any-tree"``: all trees) and their ``max_rank``
        (None: any); None where nothing was proven. A search of several formats proves something about trees only.
    certified_optimal
        Whether the answer is one of these, and it is proven that none of them is better.
    proven_impossible
        Whether it is proven that none of these is what was asked for; ``needed_rank`` then says the rank it would take,
        and why.
    lower_bound
        What none of these can go below: a dict with ``params``, ``rse`` and ``loss``, one of which is a number, by the
        objective; None where nothing was proven.
    no_answer
        Why nothing was found, in words; None where something was.
    evaluations, samples, cached, pruned, refused, direct, speculative
        What became of the structures, in numbers.
    history
        How the best improved: a list of dicts with ``evaluations, samples, loss, rse, params, seconds``.
    pareto
        The front of everything fitted: a list of dicts with ``params, rse, structure, run``.
    front
        The networks of that front, where ``front=True`` was asked for.
    formats
        The best of each format, where several were searched.
    runs
        One dict for each independent run.
    stopped_by
        ``"finished"``, ``"max_evaluations"``, ``"max_seconds"`` or ``"interrupted"``.
    seconds
        How long it took.
    """

    network: Network | None
    structure: Structure | None
    params: int | None
    rse: float | None
    re: float | None
    error: float | None
    loss: float | None
    phi: float | None
    target_reached: bool
    certified_optimal: bool
    proven_impossible: bool
    lower_bound: dict[str, float | None] | None
    bound_over: dict[str, Any] | None
    statement: dict[str, Any]
    no_answer: str | None
    needed_rank: dict[str, Any] | None
    strategy: str
    template: str
    dims: tuple[int, ...]
    seed: int
    direct: int
    samples: int
    evaluations: int
    cached: int
    pruned: int
    refused: int
    speculative: int
    seconds: float
    stopped_by: str
    history: list[dict[str, Any]]
    pareto: list[dict[str, Any]]
    front: list[Network]
    formats: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    run: int | None
    run_seed: int | None
    measure: dict[str, Any]
    objective: dict[str, Any]
    shrunk: dict[str, Any] | None = None
    journal_error: str | None = None
    rounding: str | None = None
    _trials: list[dict[str, Any]] = field(default_factory=list)
    _summary: str = "{}"
    _labels: Labels | None = None

    @property
    def log10_cr(self) -> float | None:
        """The logarithm of the compression ratio: entries of the tensor over params."""
        return None if self.phi is None else -math.log10(self.phi)

    @property
    def fidelity(self) -> float | None:
        """A fidelity that it has at least, ``1 - rse``: what it has where the network's length fits best."""
        return None if self.rse is None else max(0.0, 1.0 - self.rse)

    def to_xarray(self) -> Any:
        """The tensor of the network as an ``xarray.DataArray``, with the dimensions, coordinates, name and attributes of the
        one that was searched."""
        return as_xarray(self._dense("to_xarray()"), self._labels)

    def to_pandas(self) -> Any:
        """The matrix of the network as a ``pandas.DataFrame``, with the index and columns of the one that was searched."""
        return as_pandas(self._dense("to_pandas()"), self._labels)

    def _dense(self, function: str) -> Any:
        if self.network is None:
            raise ValueError(f"{function}: there is no network")
        return self.network.to_dense()

    def summary(self) -> dict[str, Any]:
        """What the command line writes with ``--json``: every claim and every record of the search, by the names there."""
        said: dict[str, Any] = json.loads(self._summary)
        return said

    @overload
    def trials(self, as_frame: Literal[False] = False) -> list[dict[str, Any]]: ...
    @overload
    def trials(self, as_frame: Literal[True]) -> pd.DataFrame: ...
    def trials(self, as_frame: bool = False) -> list[dict[str, Any]] | pd.DataFrame:
        """Every structure that was fitted, in the order they were told: a list of dicts, or a DataFrame (pandas)."""
        if not as_frame:
            return [dict(trial) for trial in self._trials]
        try:
            import pandas
        except ImportError as missing:
            raise ImportError("trials(as_frame=True) needs pandas: pip install pandas") from missing
        return pandas.DataFrame(self._trials)

    def __repr__(self) -> str:
        if self.params is None or self.error is None:
            return f"<Result: nothing found: {self.no_answer}>"
        proof = self._proof()
        name = self.structure.template if self.structure else self.template
        name = name if isinstance(name, str) else "network"
        error = f"re {self.re:.3g}" if self.re is not None else f"error {self.error:.3g}"
        missed = missed_text(self.target_reached, self.rounding)
        return f"<Result: {name}, {self.params} params, {error}, {proof}{missed}>"

    def _proof(self) -> str:
        """What is proven, in a few words: of what else than trees a search of several formats proves nothing."""
        if not self.certified_optimal:
            return "not proven optimal"
        trees = self.bound_over is not None and self.bound_over["template"] == "any-tree"
        return "optimal among trees" if trees else "optimal"

    def _repr_html_(self) -> str:
        from ._html import result_html

        return result_html(self)


def at_most(value: float, digits: int = 3) -> str:
    """A number of at least 0 in few digits, rounded down: nothing is said to be more than what is proven.

    >>> at_most(0.012399), at_most(0.3), at_most(2e-17), at_most(1368), at_most(12345678, 6), at_most(math.inf)
    ('0.0123', '0.3', '2e-17', '1368', '12345678', 'inf')
    """
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    down = decimal.Context(prec=digits, rounding=decimal.ROUND_FLOOR)
    return f"{down.create_decimal(repr(float(value))):.{digits}g}"


def missed_text(reached: bool, rounding: str | None) -> str:
    """That an error was missed, and why where the kind of number is the reason.

    >>> missed_text(True, None), missed_text(False, None), missed_text(False, "f32 is coarse")
    ('', ', target NOT reached', ', target NOT reached: f32 is coarse')
    """
    return "" if reached else ", target NOT reached" + ("" if rounding is None else f": {rounding}")


def fields(values: dict[str, Any], network: Network, **more: Any) -> dict[str, Any]:
    """What the classes of results share, from the values that Rust gives: the network, its structure, and RE."""
    shared = {"network": network, "structure": Structure(values["structure"]), "re": math.sqrt(values["rse"])}
    return {name: value for name, value in values.items() if name != "dims"} | shared | more


def named(values: dict[str, Any], measure: str) -> dict[str, Any]:
    """A part of a result by the name of its error: ``rse`` for the squared relative error."""
    return {(measure if name == "error" else name): value for name, value in values.items()}


def result_of(parts: tuple[dict[str, Any], Network | None, list[Network]]) -> Result:
    """The result from what the engine gives."""
    values, network, front = parts
    measure = values["measure"]["id"]
    structure = values["structure"]
    bound = values["lower_bound"]
    if bound is not None:
        bound = named(bound, measure)
    rse = network.rse if network is not None else None
    if rse is None and measure == "rse":
        rse = values["error"]
    return Result(
        network=network,
        structure=None if structure is None else Structure(structure),
        rse=rse,
        re=None if rse is None else math.sqrt(rse),
        front=front,
        lower_bound=bound,
        dims=tuple(values["dims"]),
        history=[named(point, measure) for point in values["history"]],
        pareto=[
            {**named(point, measure), "structure": Structure(point["structure"])}
            for point in values["pareto"]
        ],
        formats=[named(best, measure) for best in values["formats"]],
        _summary=values["summary"],
        _trials=[named(trial, measure) for trial in values["trials"]],
        **{
            name: values[name]
            for name in (
                "params error loss phi target_reached certified_optimal proven_impossible needed_rank strategy template "
                "bound_over statement no_answer "
                "seed direct samples evaluations cached pruned refused speculative seconds stopped_by runs run run_seed "
                "measure objective shrunk journal_error rounding"
            ).split()
        },
    )
