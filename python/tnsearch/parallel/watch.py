"""Tasks of processes of this machine that can be called back while they run."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

#: Seconds between two looks.
TICK = 0.05


class CalledBack(BaseException):
    """Nobody needs the task any more."""


#: The file that calls the running task back once it is there; the one that was seen last.
_flag: str | None = None
_seen: str | None = None
_begun = threading.Event()
_watcher: threading.Thread | None = None


def begin(unset: str | None = None) -> None:
    """Prepares a process: Ctrl-C is for the one that searches, and its tasks can be called back. A variable that was set
    for its start alone is gone from then on."""
    global _watcher
    if unset is not None:
        os.environ.pop(unset, None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, _call_back)
    _watcher = threading.Thread(target=_watch, daemon=True)
    _watcher.start()


def _call_back(number: int, frame: Any) -> None:
    if _flag is not None and _flag == _seen:
        raise CalledBack


def _watch() -> None:
    global _seen
    main = threading.main_thread().ident
    assert main is not None
    while True:
        _begun.wait()
        flag = _flag
        if flag is not None and flag != _seen and os.path.exists(flag):
            _seen = flag
            # The library looks for signals while it computes.
            signal.pthread_kill(main, signal.SIGUSR1)
        time.sleep(TICK)


def watched(flag: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns; `None` where it was called back."""
    global _flag
    try:
        try:
            _flag = flag
            _begun.set()
            return function(*arguments)
        finally:
            _flag = None
            _begun.clear()
    except CalledBack:
        _flag = None
        _begun.clear()
        return None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(flag)
