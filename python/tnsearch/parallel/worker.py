"""What runs in the processes of a pool: one function, and the data of the last jobs."""

from __future__ import annotations

import mmap
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Union

import numpy as np

from .. import _core

#: A request and the seconds it has waited since it was submitted.
Asked = tuple[bytes, float]


class Source(Protocol):
    """Where a worker gets the data of a job from."""

    def worker(self) -> Any:
        """A worker with that data; `None` where the data is out of reach."""


@dataclass(frozen=True)
class Mapped:
    """Data in a file, which is mapped into memory: processes of one machine share it."""

    header: bytes
    path: str

    def worker(self) -> Any:
        try:
            with open(self.path, "rb") as file:
                entries = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError:
            return None
        return _core.Worker(self.header, entries)


@dataclass(frozen=True)
class Sent:
    """Data that comes along: with the task, or scattered to the workers beforehand."""

    header: bytes
    entries: Any

    def worker(self) -> Any:
        entries = np.frombuffer(self.entries, np.uint8)
        # What came over a network may begin anywhere.
        return _core.Worker(self.header, entries.copy() if entries.ctypes.data % 16 else entries)


@dataclass(frozen=True)
class Missing:
    """A worker has not got the data: it is to be sent."""


@dataclass(frozen=True)
class Failure:
    """A request that raised: it cannot be evaluated, here or elsewhere."""

    text: str
    exception: BaseException | None = None


@dataclass(frozen=True)
class Done:
    """The answers to a batch of requests, and the seconds they took."""

    answers: list[Union[bytes, Failure]]
    seconds: float


#: The jobs a process keeps at a time.
_MOST = 2
_workers: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def worker_of(key: str, source: Source | None) -> Any:
    """The worker of a job, made once in a process; `None` where its data is not at hand."""
    with _lock:
        found = _workers.get(key)
        if found is None and source is not None:
            found = source.worker()
            if found is not None:
                _workers[key] = found
                while len(_workers) > _MOST:
                    _workers.popitem(last=False)
        return found


def forget(key: str) -> None:
    """A job is over: what this process keeps of it goes."""
    with _lock:
        _workers.pop(key, None)


def evaluate(key: str, source: Source | None, batch: Sequence[Asked]) -> Done | Missing:
    """Answers requests of a job. A pure function of them: it may run anywhere, and more than once."""
    worker = worker_of(key, source)
    if worker is None:
        return Missing()
    begun = time.perf_counter()
    answers: list[Union[bytes, Failure]] = []
    for request, waited in batch:
        waited += time.perf_counter() - begun
        answers.append(guarded(worker.run, request, waited))
    return Done(answers, time.perf_counter() - begun)


def guarded(function: Any, *arguments: Any) -> Any:
    """What a function returns, or the failure that its exception is."""
    try:
        return function(*arguments)
    except Exception as error:  # a worker must survive whatever a request does
        return failure(error)


def failure(error: BaseException) -> Failure:
    """An exception as a value that can be sent, itself included where it can be pickled."""
    import pickle

    text = "".join(traceback.format_exception_only(error)).strip()
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return Failure(text)
    return Failure(text, error)
