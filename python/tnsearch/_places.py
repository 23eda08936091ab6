"""Where structures are evaluated: ``parallel=`` and ``workers=``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._conduct import Workers
from ._core import Engine
from ._own import Evaluated, Here, Measured, evaluate_own


@dataclass(frozen=True)
class Place:
    """Threads of the library, or workers that Python has."""

    threads: int | None = None
    workers: int | None = None
    make: Callable[[Engine], Workers] | None = None
    close: Callable[[], None] = lambda: None


def open_place(parallel: Any, workers: int | None, own: Measured | Evaluated | None) -> Place:
    """The place that was asked for.

    >>> open_place(None, None, None).threads, open_place(False, None, None).threads, open_place(4, None, None).threads
    (None, 1, 4)
    """
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ValueError(f"workers is {workers!r}; it must be a whole number of at least 1")
    number = parallel if isinstance(parallel, int) and not isinstance(parallel, bool) else None
    if number is not None and number < 1:
        raise ValueError(f"parallel is {parallel}; a number of threads is at least 1")
    if parallel is None and workers is not None:
        number = workers
    if (isinstance(parallel, str) and parallel == "threads") or parallel is True:
        from .parallel.pools import processors

        number = workers or processors()
    if own is None and (parallel is None or parallel is False or number is not None):
        return Place(threads=1 if parallel is False else number)
    if own is not None and (parallel is None or parallel is False) and (number or 1) == 1:
        return Place(workers=1, make=lambda engine: Here(engine, own))
    from .parallel import Driver, Work, open_pool
    from .parallel.pools import ThreadPool

    pool = open_pool(parallel, workers) if number is None else ThreadPool(number)
    work = Work() if own is None else Work(evaluate_own, {own.name: own})
    try:
        # Before the search begins, and its journal.
        for name, thing in work.extra.items():
            pool.check(name, thing)
    except BaseException:
        pool.close()
        raise
    return Place(workers=pool.workers, make=lambda engine: Driver(engine, pool, work), close=pool.close)
