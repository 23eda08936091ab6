"""All methods on one tensor, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._data import Shape, Split, data_options, ket_shape
from ._keywords import known_options, unexpected
from ._progress import Progress

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, DTypeLike


@dataclass(frozen=True, repr=False)
class Comparison:
    """What :func:`tnsearch.compare` found.

    Attributes
    ----------
    rows
        One dict for each method, the best first: ``method``, ``sort`` (``"default"``, ``"decompose"`` or ``"search"``),
        ``template`` (of its answer), ``params``, ``log10_cr``, ``rse``, ``re``, ``seconds``, ``target_reached``, ``won``,
        ``stopped_by``, and ``reason`` where it failed. Methods that missed what was asked for come after those that did
        not, those that failed last.
    verdict
        Who won, in a sentence.
    target_reached
        Whether any method is what was asked for.
    interrupted
        Whether Ctrl-C ended it: these are then the methods so far.
    objective, max_seconds, max_evaluations, seed
        What was asked, and what each method might use.
    """

    rows: list[dict[str, Any]]
    verdict: str
    target_reached: bool
    interrupted: bool
    objective: dict[str, Any]
    max_seconds: float | None
    max_evaluations: int | None
    seed: int
    table: str

    @property
    def winners(self) -> list[str]:
        """The methods that nothing is better than."""
        return [row["method"] for row in self.rows if row["won"]]

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame (pandas)."""
        try:
            import pandas
        except ImportError as missing:
            raise ImportError("to_pandas() needs pandas: pip install pandas") from missing
        return pandas.DataFrame(self.rows)

    def __repr__(self) -> str:
        return f"{self.table}\n{self.verdict}"


def compare(
    X: ArrayLike,
    *,
    max_re: float | None = None,
    max_rse: float | None = None,
    max_params: int | None = None,
    methods: Sequence[str] | str | None = None,
    max_rank: int | None = None,
    direct: bool = True,
    seed: int = 0,
    max_seconds: float | None = None,
    max_evaluations: int | None = None,
    threads: int | None = None,
    max_memory: int | str | None = None,
    dtype: DTypeLike | str | None = None,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Comparison:
    """Compare all methods on one tensor: the default search, fixed formats without a search, other strategies.

    Parameters
    ----------
    X
        The tensor; see :func:`tnsearch.search`.
    max_re, max_rse, max_params
        What is looked for, one of: the fewest params with a relative error of at most ``max_re`` (the default, 0.01), the
        same by its square, or the smallest error with at most so many params.
    methods
        Only these, by name; by default all. ``"default"`` is ``search(X)``, ``"tt-svd"`` is ``decompose(X, "tt-svd")``,
        ``"tnls"`` is ``search(X, strategy="tnls")``.
    max_rank, direct, seed, threads
        Of searches; see :func:`tnsearch.search`.
    max_seconds, max_evaluations
        What each method may use: 10 seconds, unless one of them is given.
    max_memory, dtype, split, reshape, column_major
        See :func:`tnsearch.search`.
    progress
        Whether a line of progress is shown; by default in terminals and notebooks.

    Returns
    -------
    Comparison
        Its ``repr`` is a table. Ctrl-C returns the methods so far.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:4, 0:5, 0:6]
    >>> found = tnsearch.compare(np.sin(1.0 + i + 2 * j + 3 * k), max_re=1e-6, methods=["default", "tt-svd", "hosvd"])
    >>> "default" in found.winners, [row["target_reached"] for row in found.rows]
    (True, [True, True, True])
    """
    unexpected("compare", options, known_options(compare))
    names = [methods] if isinstance(methods, str) else list(methods or [])
    reshape = ket_shape(X, split, reshape)
    search = {
        "objective": {"max_re": max_re, "max_rse": max_rse, "max_params": max_params},
        "max_rank": max_rank,
        "direct": direct,
        "seed": seed,
        "max_seconds": max_seconds,
        "max_evaluations": max_evaluations,
        "threads": threads,
    }
    asked = {
        "data": data_options(
            split=split, reshape=reshape, column_major=column_major, dtype=dtype, max_memory=max_memory
        ),
        "search": search,
        "methods": names,
    }
    bar = Progress(progress)
    try:
        return Comparison(**_core.compare(X, asked, bar.write if bar.shown else None))
    finally:
        bar.close()
