"""Conducting a search: its messages to callbacks, progress and workers, until it ends."""

from __future__ import annotations

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
    ended = more = False
    workers = None

    def hear(event: dict[str, Any]) -> None:
        nonlocal error
        try:
            if error is None and callback is not None and callback(event) is True:
                engine.stop()
        except BaseException as raised:
            error = raised
            engine.stop()
        finally:
            engine.acknowledge()

    try:
        workers = None if make is None else make(engine)
        while not ended:
            try:
                for kind, *what in engine.messages(0.0 if more else TICK):
                    if kind == "progress":
                        bar.update(what[0])
                    elif kind == "event":
                        hear(what[0])
                    elif kind == "end":
                        ended = True
                    elif workers is not None:
                        workers.take(kind, *what)
                more = workers is not None and error is None and not ended and workers.turn()
            except KeyboardInterrupt as pressed:
                if signal is not None:
                    raise
                signal = pressed
                engine.stop()
            except Exception as raised:
                # A function of the user, or a pool.
                if error is not None:
                    raise
                error = raised
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
    if signal is not None and result.structure is None:
        raise signal
    return result
