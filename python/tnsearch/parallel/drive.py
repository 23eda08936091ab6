"""Ships the requests of a search to a pool and brings the answers back.

The engine decides what is evaluated, in which order results count, and what is written down; here it is only decided where
and when a request is run. So batches, retries, second copies and lost workers change no answer.
"""

from __future__ import annotations

import itertools
import math
import queue
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from .pools import Pool
from .worker import Done, Failure, Missing, evaluate

#: Requests that a task takes at most.
MOST_PER_TASK = 256
#: A task takes as long as so many times its overhead, where there is enough to do.
WORTH = 20.0
#: How often a request may be lost with its worker; the last time it is run alone, so that it is known to be at fault.
MOST_LOSSES = 3
#: How often a pool is rebuilt without any answer in between.
MOST_REBUILDS = 5
#: A task runs too long, and idle workers get a copy of it, after so many times what was expected...
LATE = 3.0
#: ... and so many seconds.
LATE_SECONDS = 1.0
#: How long messages are waited for: late tasks are looked for that often.
TICK = 1.0
#: Seconds after which workers are counted again: they come and go.
COUNT = 5.0


class Engine(Protocol):
    """A search that asks for evaluations."""

    def messages(self, timeout: float) -> list[tuple[Any, ...]]:
        """What is to be done: `("job", job)` once, `("submit", ticket, bytes)`, `("cancel", ticket)`, `("end",)`."""
        ...

    def answer(self, ticket: int, answer: bytes, /) -> None: ...

    def fail(self, ticket: int, text: str, /) -> None: ...

    def set_workers(self, workers: int) -> None:
        """There are now so many."""

    def wake(self) -> None:
        """Lets `messages` return at once, from any thread."""

    def stop(self) -> None: ...


@dataclass
class Work:
    """What workers do with requests: a function of a module, called as `function(key, source, batch, *extra)`, that
    returns `Done` or `Missing`. `extra` are things by the names that users know them by; they go along with each task."""

    function: Callable[..., Any] = evaluate
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Statistics:
    """What was shipped."""

    answers: int = 0
    tasks: int = 0
    copies: int = 0
    lost: int = 0
    rebuilds: int = 0
    bytes_out: int = 0
    bytes_back: int = 0
    #: Seconds that workers computed, and that tasks took in all.
    worked: float = 0.0
    waited: float = 0.0


@dataclass
class _Request:
    ticket: int
    bytes: bytes
    since: float
    losses: int = 0


@dataclass(eq=False)
class _Task:
    requests: list[_Request]
    since: float
    whole: bool = False
    #: Whether nothing else runs meanwhile: it is the last try of a request.
    alone: bool = False
    copied: bool = False
    cancelled: bool = False
    futures: list[Any] = field(default_factory=list)


class Driver:
    """Runs the requests of a search on a pool: told its messages by `take`, it does what can be done by `turn`."""

    def __init__(
        self, engine: Engine, pool: Pool, work: Work | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.engine, self.pool, self.work = engine, pool, work or Work()
        for name, thing in self.work.extra.items():
            pool.check(name, thing)
        self.statistics = Statistics()
        self._clock = clock
        self._counted = clock()
        self._waiting: deque[_Request] = deque()
        #: Those that wait or run, by ticket.
        self._needed: dict[int, _Request] = {}
        #: Those under way, the oldest first; how many times all of them run; those that are to run alone.
        self._tasks: dict[_Task, None] = {}
        self._running = 0
        self._alone = 0
        self._done: queue.SimpleQueue[tuple[_Task, Any, int]] = queue.SimpleQueue()
        self._broken = False
        #: How often the pool was rebuilt: what an earlier one lost says nothing about this one.
        self._generation = 0
        self._rebuilds = 0
        self._cancelled = False
        self._error: BaseException | None = None
        #: Measured: the seconds of a request.
        self._cost: float | None = None

    def run(self) -> Statistics:
        """Until the search ends."""
        try:
            while True:
                messages = self.engine.messages(TICK)
                for kind, *what in messages:
                    self.take(kind, *what)
                if ("end",) in messages:
                    return self.statistics
                self.turn()
        finally:
            self.close()

    def take(self, kind: str, *what: Any) -> None:
        """Takes a message of the engine: ``job``, ``submit`` or ``cancel``."""
        if kind == "submit":
            request = _Request(what[0], what[1], self._clock())
            self._needed[request.ticket] = request
            self._waiting.append(request)
        elif kind == "cancel":
            if what[0] in self._needed:
                del self._needed[what[0]]
                self._cancelled = True
        elif kind == "job":
            self.pool.place(what[0])

    def turn(self) -> bool:
        """Answers what has come back, and ships what there is room for; whether there is more to do at once: never."""
        if self._cancelled:
            self._call_back()
        if self._clock() - self._counted > COUNT:
            self._counted = self._clock()
            before = self.pool.workers
            if self.pool.count() != before:
                self.engine.set_workers(self.pool.workers)
        self._collect()
        self._ship()
        return False

    def close(self) -> None:
        """Calls back what is under way, and lets go of the pool."""
        self._needed.clear()
        self._waiting.clear()
        self._call_back()
        self.pool.close()

    def error(self) -> BaseException | None:
        """What a request raised on its worker, where that could be sent."""
        return self._error

    def _call_back(self) -> None:
        """Tasks that nobody needs any more end where the pool can do that."""
        self._cancelled = False
        for task in self._tasks:
            if not task.cancelled and not any(self._is_needed(request) for request in task.requests):
                task.cancelled = True
                for future in task.futures:
                    self.pool.cancel(future)

    def _is_needed(self, request: _Request) -> bool:
        return self._needed.get(request.ticket) is request

    # What workers say.

    def _collect(self) -> None:
        lost: BaseException | None = None
        while True:
            try:
                task, future, generation = self._done.get_nowait()
            except queue.Empty:
                break
            task.futures.remove(future)
            self._running -= 1
            over = task not in self._tasks
            error = _error_of(future)
            breaks = error is not None and generation == self._generation and self.pool.is_loss(error)
            if error is None:
                if not over:
                    self._remove(task)
                    self._finish(task, future.result())
            elif over or not any(self._is_needed(request) for request in task.requests):
                if not task.futures and not over:
                    self._remove(task)
                # Nobody needs it, but the pool may be broken all the same.
                self._broken |= breaks and not future.cancelled()
            elif self.pool.is_loss(error):
                lost = error
                self._broken |= breaks
                if not task.futures:
                    self._remove(task)
                    self._lose(task, error)
            else:
                self._remove(task)
                self._fail(task.requests, f"{type(error).__name__}: {error}")
        if self._broken:
            self._rebuild(lost)

    def _remove(self, task: _Task) -> None:
        del self._tasks[task]
        self._alone -= task.alone

    def _finish(self, task: _Task, result: Any) -> None:
        for future in task.futures:
            self.pool.cancel(future)
        if result is None:
            # It was called back.
            return
        if isinstance(result, Missing):
            # The worker is sent the data with the same task.
            again = [request for request in task.requests if self._is_needed(request)]
            if task.whole:
                self._fail(again, "a worker cannot take the data of the job")
            elif again:
                self._submit(_Task(again, self._clock(), whole=True, alone=task.alone))
            return
        assert isinstance(result, Done)
        self._rebuilds = 0
        self._measure(task, result)
        for request, answer in zip(task.requests, result.answers, strict=True):
            if not self._is_needed(request):
                continue
            del self._needed[request.ticket]
            if isinstance(answer, Failure):
                self._error = self._error or answer.exception
                self.engine.fail(request.ticket, answer.text)
                continue
            self.statistics.answers += 1
            self.statistics.bytes_back += len(answer)
            self.engine.answer(request.ticket, answer)

    def _measure(self, task: _Task, done: Done) -> None:
        """Learns what a request costs."""
        self.statistics.worked += done.seconds
        self.statistics.waited += self._clock() - task.since
        cost = done.seconds / len(task.requests)
        self._cost = cost if self._cost is None else 0.7 * self._cost + 0.3 * cost

    def _lose(self, task: _Task, error: BaseException) -> None:
        """What was under way on a worker that is gone comes first."""
        for request in reversed(task.requests):
            if not self._is_needed(request):
                continue
            self.statistics.lost += 1
            request.losses += 1
            if request.losses > MOST_LOSSES:
                text = (
                    f"request {request.ticket} was lost {request.losses} times with the worker that ran it, the last time "
                    f"alone ({type(error).__name__}: {error}); a worker that is killed each time has perhaps too little memory"
                )
                self._fail([request], text)
            else:
                self._waiting.appendleft(request)

    def _fail(self, requests: list[_Request], text: str) -> None:
        for request in requests:
            if self._is_needed(request):
                del self._needed[request.ticket]
                self.engine.fail(request.ticket, text)

    def _rebuild(self, error: BaseException | None) -> None:
        self._broken = False
        self._generation += 1
        self._rebuilds += 1
        self.statistics.rebuilds += 1
        try:
            if self._rebuilds > MOST_REBUILDS:
                raise RuntimeError(f"its workers end before they answer ({type(error).__name__}: {error})") from error
            self.pool.rebuild()
        except Exception as problem:
            self._fail(list(self._needed.values()), f"{self.pool.name} cannot be used any more: {problem}")

    # What is shipped.

    def _ship(self) -> None:
        while not self._broken:
            while self._waiting and not self._is_needed(self._waiting[0]):
                self._waiting.popleft()
            free = self._room() - self._running
            if free <= 0 or self._alone:
                return
            if not self._waiting:
                self._copy_late(free)
                return
            if self._is_last_try(self._waiting[0]) and self._tasks:
                return
            batch = self._batch()
            self._submit(_Task(batch, self._clock(), alone=self._is_last_try(batch[0])))

    def _is_last_try(self, request: _Request) -> bool:
        return request.losses >= MOST_LOSSES

    def _room(self) -> int:
        """How many tasks may be under way: where they are short, each worker has the next one at hand."""
        short = self._cost is not None and self._cost < 0.1
        return 2 * self.pool.workers if short else self.pool.workers

    def _batch(self) -> list[_Request]:
        """Enough requests that the overhead is small, but no more than a fair part of those that wait."""
        size = 1
        if self._cost is not None:
            worth = math.ceil(WORTH * self.pool.overhead / max(self._cost, 1e-6))
            size = max(1, min(worth, math.ceil(len(self._waiting) / self.pool.workers), MOST_PER_TASK))
        batch: list[_Request] = []
        while self._waiting and len(batch) < size:
            request = self._waiting.popleft()
            if not self._is_needed(request):
                continue
            # What was lost before is run by itself.
            if request.losses and batch:
                self._waiting.appendleft(request)
                break
            batch.append(request)
            if request.losses:
                break
        return batch

    def _copy_late(self, free: int) -> None:
        """Idle workers run what has taken too long elsewhere a second time; the first answer counts."""
        now = self._clock()
        open_tasks = (t for t in self._tasks if not t.copied and any(map(self._is_needed, t.requests)))
        for task in list(itertools.islice(open_tasks, free)):
            expected = LATE * len(task.requests) * (self._cost or 0.0)
            if now - task.since > max(expected, LATE_SECONDS):
                task.copied = True
                self.statistics.copies += 1
                self._run(task)

    def _submit(self, task: _Task) -> None:
        self._tasks[task] = None
        self._alone += task.alone
        self._run(task)

    def _run(self, task: _Task) -> None:
        now = self._clock()
        batch = [(request.bytes, now - request.since) for request in task.requests]
        source = self.pool.whole_source() if task.whole else self.pool.source()
        future: Any
        try:
            future = self.pool.submit(self.work.function, self.pool.key, source, batch, *self.work.extra.values())
        except Exception as error:
            future = _Failed(error)
        self.statistics.tasks += 1
        self.statistics.bytes_out += sum(len(request) for request, _ in batch)
        task.futures.append(future)
        self._running += 1

        generation = self._generation

        def done(future: Any) -> None:
            self._done.put((task, future, generation))
            self.engine.wake()

        future.add_done_callback(done)


class _Failed:
    """What could not even be submitted."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def add_done_callback(self, function: Callable[[Any], None]) -> None:
        function(self)

    def exception(self) -> BaseException:
        return self._error

    def cancelled(self) -> bool:
        return False

    def cancel(self) -> bool:
        return False


def _error_of(future: Any) -> BaseException | None:
    try:
        error: BaseException | None = future.exception()
    except BaseException as cancelled:  # a future that was cancelled raises
        return cancelled
    return error
