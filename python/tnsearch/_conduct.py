"""Conducting a search: its messages to callbacks, progress and workers, until it ends."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from ._core import Engine
from ._progress import Progress
from ._result import Result, result_of

# Seconds between two looks for signals.
TICK = 0.1

Callback = Callable[[dict[str, Any]], "bool | None"]


class Workers(Protocol):
    """What evaluates requests: in the calling thread, or a pool."""

    def take(self, kind: str, *what: Any) -> None:
        """Takes a message about work: ``job``, ``submit`` or ``cancel``."""

    def turn(self) -> bool:
        """Does what can be done at once; whether there is more to do at once."""
        ...

    def close(self) -> None:
        """Lets go of everything."""

    def error(self) -> BaseException | None:
        """What a function of the user raised elsewhere."""


def conduct(
    engine: Engine, callback: Callback | None, bar: Progress, make: Callable[[Engine], Workers] | None = None
) -> Result:
    """Listens to a search until it ends. Ctrl-C ends it with the best so far; what a function of the user raises is
    raised when it has ended."""
    signal: KeyboardInterrupt | None = None
    error: BaseException | None = None
    workers: Workers | None = None
    more = False
    # A message leaves it when it was handled: Ctrl-C at any moment loses none.
    inbox: deque[tuple[Any, ...]] = deque()

    def handle(kind: str, *what: Any) -> None:
        nonlocal error
        if kind == "progress":
            bar.update(what[0])
        elif kind == "event":
            number, event = what
            try:
                heard = callback is not None and signal is None and error is None
                if heard and callback is not None and callback(event) is True:
                    engine.stop()
            finally:
                engine.acknowledge(number)
        elif kind != "end" and workers is not None:
            workers.take(kind, *what)

    try:
        workers = None if make is None else make(engine)
        while inbox or not engine.ended():
            try:
                if not inbox:
                    engine.collect(inbox, 0.0 if more else TICK)
                while inbox:
                    handle(*inbox[0])
                    inbox.popleft()
                more = workers is not None and error is None and not engine.ended() and workers.turn()
            except KeyboardInterrupt as pressed:
                if signal is not None:
                    raise
                signal = pressed
                engine.stop()
            except BaseException as raised:
                # A function of the user, or a pool: raised when the search has ended.
                if error is not None:
                    raise
                error = raised
                if inbox:
                    inbox.popleft()
                engine.stop()
    finally:
        engine.stop()
        bar.close()
        if workers is not None:
            workers.close()
        if error is None and workers is not None:
            error = workers.error()
    if error is not None:
        raise error
    result = result_of(engine.result())
    if result.journal_error is not None:
        warnings.warn(f"the journal is incomplete: {result.journal_error}", stacklevel=3)
    if signal is not None and result.structure is None:
        raise signal
    return result
