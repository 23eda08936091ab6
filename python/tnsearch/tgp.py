"""Gaussian process regression whose mean is a tensor network: train, predict, compress.

>>> import numpy as np, tnsearch
>>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
>>> model = tnsearch.tgp.train(X, np.sin(2 * X[:, 0]) + X[:, 1], inducing=5, tt_rank=2)
>>> mean, sd = model.predict(X)
>>> bool(np.abs(mean - np.sin(2 * X[:, 0]) - X[:, 1]).max() < 0.1)
True
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from . import _core
from ._arrays import shared
from ._core import Network
from ._keywords import known_options, unexpected

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Model", "Prediction", "load", "train"]

#: Rows of features: an array, a table of pandas, or a CSV file with a header, the response last.
Rows = Union["ArrayLike", str, "os.PathLike[str]"]
_Table = tuple[list[str], "NDArray[Any]"]


class Prediction(NamedTuple):
    """Mean and standard deviation (noise included) of every row, in the units of the response."""

    mean: NDArray[Any]
    sd: NDArray[Any]


class Model:
    """A trained model.

    Attributes
    ----------
    summary
        What the command that made it writes as JSON: ``test_mse``, ``params``, ``kernel`` and more; of a model that was
        loaded its figures.
    """

    def __init__(self, process: Any, summary: dict[str, Any], table: _Table | None = None) -> None:
        self._process, self._table = process, table
        self.summary = summary

    @property
    def features(self) -> list[str]:
        """The names of the columns that it predicts from."""
        return list(self._process.names[:-1])

    @property
    def response(self) -> str:
        """The name of the column that it predicts."""
        return str(self._process.names[-1])

    @property
    def network(self) -> Network:
        """The mean of the function at the inducing points, standardised."""
        made: Network = self._process.network
        return made

    @property
    def params(self) -> int:
        """The entries of the cores of the mean."""
        return self.network.params

    def __repr__(self) -> str:
        return f"<tgp.Model: {self.response} from {', '.join(self.features)}, {self.params} params>"

    def predict(self, X: Rows, *, threads: int | None = None) -> Prediction:
        """Mean and standard deviation of every row.

        Parameters
        ----------
        X
            An array with a column for each feature, in their order; or a table of pandas or a CSV file, whose columns are
            found by their names.
        """
        names, rows = _rows(X, self.features, self._process.names)
        mean, sd, _ = _core.tgp_predict(self._process, names, rows, threads)
        return Prediction(mean, sd)

    def compress(
        self,
        X: Rows | None = None,
        y: ArrayLike | None = None,
        *,
        max_mse_loss: float = 0.01,
        tune: bool = True,
        plain_metric: bool = False,
        template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        max_rank: int = 14,
        seed: int = 0,
        max_seconds: float | None = None,
        threads: int | None = None,
        max_memory: int | str | None = None,
        **options: Any,
    ) -> Model:
        """A smaller model, at most so much worse on the validation rows.

        Parameters
        ----------
        X, y
            What it was trained with; needed where the model was loaded.
        max_mse_loss
            How much the mean squared error on the validation rows may rise, in standardised units.
        tune, plain_metric, template, max_rank, seed
            As on the command line; ``tune=False`` is ``--no-tune``.
        max_seconds
            It ends then with the best so far; 120 by default.
        max_memory
            Refuse a table that needs more, in bytes or as ``"4GB"``.

        Returns
        -------
        Model
            The smaller model, or this one where nothing smaller is good enough (``summary["target_reached"]``).
        """
        unexpected("compress", options, known_options(Model.compress))
        table = self._table if X is None else _table(X, y, self._process.names, max_memory)
        if table is None:
            raise TypeError("the rows that the model was trained with are needed: give X and y")
        given = {
            "settings": {
                "max_mse_loss": max_mse_loss,
                "tune": tune,
                "plain_metric": plain_metric,
                "max_rank": max_rank,
                "seed": seed,
            },
            "max_seconds": max_seconds,
            "threads": threads,
            "max_memory": max_memory,
        }
        summary, process = _core.tgp_compress(self._process, *table, template, given)
        return Model(process, summary, table)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file of the command line."""
        self._process.save(os.fspath(path))


def train(
    X: Rows,
    y: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    resume: Model | None = None,
    inducing: int | Sequence[int] = 8,
    tt_rank: int = 10,
    sweeps: int = 20,
    stretch: bool = True,
    evidence_rows: int = 1000,
    bound_steps: int = 0,
    batch: int = 2048,
    rate: float = 0.02,
    seed: int = 0,
    max_seconds: float | None = None,
    threads: int | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Model:
    """Train a model: 80 rows of 100 (by seed) are for learning, of which a tenth decides when to end, and 20 for the test.

    Parameters
    ----------
    X, y
        Rows of features, and the response of each; or a CSV file with a header, the response last, and no ``y``.
    names
        What the columns are called, in their order, the response last; by default ``x0, x1, ..., y``, or as the table of
        pandas or the file has them.
    resume
        A model to go on with; it is returned where nothing better is found.
    inducing
        Inducing points of each feature, or a list with one number for each.
    tt_rank, sweeps, stretch, evidence_rows, bound_steps, batch, rate, seed
        As on the command line; ``stretch=False`` is ``--no-stretch``.
    max_seconds, threads, max_memory
        What it may use.
    """
    unexpected("train", options, known_options(train))
    table = _table(X, y, None, max_memory)
    if names is not None:
        if len(names) != len(table[0]):
            raise ValueError(f"names has {len(names)} names; the table has {len(table[0])} columns, the response included")
        table = [str(name) for name in names], table[1]
    given = {
        "settings": {
            "inducing": list(inducing) if isinstance(inducing, (Sequence, np.ndarray)) else [inducing],
            "tt_rank": tt_rank,
            "sweeps": sweeps,
            "stretch": stretch,
            "evidence_rows": evidence_rows,
            "bound_steps": bound_steps,
            "batch": batch,
            "rate": rate,
            "seed": seed,
        },
        "max_seconds": max_seconds,
        "threads": threads,
        "max_memory": max_memory,
    }
    summary, process = _core.tgp_train(*table, None if resume is None else resume._process, given)
    return Model(process, summary, table)


def load(path: str | os.PathLike[str], *, max_memory: int | str | None = None) -> Model:
    """A model from its file, as ``tnsearch tgp`` and :meth:`Model.save` write it."""
    process = _core.Process.load(os.fspath(path), max_memory)
    return Model(process, process.figures or {})


def _rows(
    X: Rows,
    features: Sequence[str] | None,
    needed: Sequence[str] | None = None,
    max_memory: int | str | None = None,
) -> _Table:
    """Names and rows of a table; of an array by the names given, or x0, x1, ..."""
    if isinstance(X, (str, os.PathLike)):
        names, rows = _core.read_table(os.fspath(X), None if needed is None else list(needed), max_memory)
        if needed is not None:
            kept = [k for k, name in enumerate(names) if name in needed]
            names, rows = [names[k] for k in kept], rows[:, kept]
        return list(names), rows
    columns = getattr(X, "columns", None)
    if columns is not None:
        frame: Any = X
        kept = [name for name in columns if needed is None or str(name) in needed]
        return [str(name) for name in kept], np.column_stack([np.asarray(frame[name], float) for name in kept])
    rows = np.asarray(shared(X))
    if rows.ndim != 2:
        raise ValueError(f"X has shape {list(rows.shape)}; it needs a row for each sample and a column for each feature")
    if features is None:
        features = [f"x{k}" for k in range(rows.shape[1])]
    return list(features), rows


def _table(X: Rows, y: ArrayLike | None, names: Sequence[str] | None, max_memory: int | str | None) -> _Table:
    """The table that a model is trained with: the features, and the response last."""
    if y is None:
        if not isinstance(X, (str, os.PathLike)):
            raise TypeError("y is missing: the response of each row of X")
        return _rows(X, None, None, max_memory)
    response = np.asarray(shared(y))
    found, rows = _rows(X, None if names is None else list(names)[:-1], None, max_memory)
    if response.shape != (rows.shape[0],):
        raise ValueError(f"y has shape {list(response.shape)}; X has {rows.shape[0]} rows, so it needs {[rows.shape[0]]}")
    named = getattr(y, "name", None)
    last = str(names[-1]) if names is not None and len(names) else str(named) if isinstance(named, str) else "y"
    return [*found, last], np.column_stack([rows, response])
