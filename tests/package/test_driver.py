"""The driver of pools, with workers that do what the test says and a clock that it sets."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from tnsearch.parallel import Done, Driver, Failure, Missing, Pool
from tnsearch.parallel import drive as module


class Script:
    """An engine that was told what to say; every ticket is answered once."""

    def __init__(self) -> None:
        self.answers: dict[int, bytes] = {}
        self.failures: dict[int, str] = {}
        self.wakes = 0

    def answer(self, ticket: int, answer: bytes) -> None:
        assert ticket not in self.answers and ticket not in self.failures
        self.answers[ticket] = answer

    def fail(self, ticket: int, text: str) -> None:
        assert ticket not in self.answers and ticket not in self.failures
        self.failures[ticket] = text

    def wake(self) -> None:
        self.wakes += 1

    def set_workers(self, workers: int) -> None:
        self.told = workers

    def messages(self, timeout: float) -> list[tuple[Any, ...]]:
        raise AssertionError("the driver is told")

    def stop(self) -> None:
        raise AssertionError


class Hand(Pool):
    """A pool whose tasks end by hand."""

    overhead = 0.01

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.key = "job"
        self.tasks: list[tuple[tuple[Any, ...], Future[Any]]] = []
        self.rebuilt = 0

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append((arguments, future))
        return future

    def rebuild(self) -> None:
        self.rebuilt += 1

    def source(self) -> Any:
        return "path"

    def whole_source(self) -> Any:
        return "data"

    def requests(self, at: int) -> list[bytes]:
        return [request for request, _ in self.tasks[at][0][2]]

    def running(self) -> list[int]:
        return [at for at, (_, future) in enumerate(self.tasks) if not future.done()]

    def finish(self, at: int, seconds: float = 0.001) -> None:
        requests = self.requests(at)
        self.tasks[at][1].set_result(Done([b"to " + request for request in requests], seconds * len(requests)))

    def lose(self, at: int) -> None:
        self.tasks[at][1].set_exception(BrokenProcessPool("killed"))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def made(workers: int) -> tuple[Script, Hand, Driver, Clock]:
    engine, pool, clock = Script(), Hand(workers), Clock()
    return engine, pool, Driver(engine, pool, clock=clock), clock


def submit(driver: Driver, tickets: Any) -> None:
    for ticket in tickets:
        driver.take("submit", ticket, b"%d" % ticket)
    driver.turn()


def test_every_request_is_answered_once_and_short_ones_go_in_batches() -> None:
    engine, pool, driver, _ = made(2)
    submit(driver, range(60))
    # What a request costs is not known yet.
    assert [pool.requests(at) for at in pool.running()] == [[b"0"], [b"1"]]
    sizes = set()
    while pool.running():
        at = pool.running()[-1]
        sizes.add(len(pool.requests(at)))
        pool.finish(at)
        driver.turn()
        assert len(pool.running()) <= 4
    assert engine.answers == {ticket: b"to %d" % ticket for ticket in range(60)}
    # 20 times the overhead would be 200, but each worker has its part.
    assert 1 < max(sizes) <= 29
    assert engine.wakes == driver.statistics.tasks < 30


def test_workers_that_join_are_told_and_used() -> None:
    engine, pool, driver, clock = made(1)
    submit(driver, range(4))
    assert len(pool.running()) == 1
    pool.count = lambda: setattr(pool, "_workers", 3) or 3  # type: ignore[method-assign,assignment]
    driver.turn()
    assert len(pool.running()) == 1, "they are not counted all the time"
    clock.now += 6.0
    driver.turn()
    assert engine.told == 3 and len(pool.running()) == 3


def test_long_requests_go_alone() -> None:
    engine, pool, driver, _ = made(2)
    submit(driver, range(10))
    while pool.running():
        assert len(pool.running()) <= 2
        pool.finish(pool.running()[0], seconds=5.0)
        driver.turn()
    assert driver.statistics.tasks == 10 == len(engine.answers)


def test_what_a_broken_pool_lost_is_done_again_in_a_new_one() -> None:
    engine, pool, driver, _ = made(3)
    submit(driver, range(5))
    pool.lose(0)
    driver.turn()
    # The others of the old pool are lost, too, some of them later.
    assert pool.rebuilt == 1
    pool.lose(1)
    pool.lose(2)
    driver.turn()
    assert pool.rebuilt == 1 and not engine.failures
    while pool.running():
        pool.finish(pool.running()[0])
        driver.turn()
    assert sorted(engine.answers) == list(range(5))
    assert driver.statistics.lost == 3


def test_a_request_that_takes_every_worker_along_is_run_alone_and_then_named() -> None:
    engine, pool, driver, _ = made(2)
    submit(driver, range(6))
    alone = 0
    while pool.running() and not engine.failures:
        running = pool.running()
        deadly = [at for at in running if b"3" in pool.requests(at)]
        if deadly:
            alone += len(running) == 1
            for at in running:
                pool.lose(at)
        else:
            pool.finish(running[0])
        driver.turn()
    assert list(engine.failures) == [3] and "request 3 was lost 4 times" in engine.failures[3]
    assert alone >= 1
    while pool.running():
        pool.finish(pool.running()[0])
        driver.turn()
    assert sorted(engine.answers) == [0, 1, 2, 4, 5]


def test_workers_that_never_begin_end_the_search() -> None:
    engine, pool, driver, _ = made(1)
    submit(driver, range(50))
    for _ in range(200):
        for at in pool.running():
            pool.lose(at)
        driver.turn()
    assert engine.failures and not engine.answers
    assert pool.rebuilt <= module.MOST_REBUILDS


def test_a_worker_without_the_data_is_sent_it() -> None:
    engine, pool, driver, _ = made(1)
    submit(driver, [7])
    assert pool.tasks[0][0][1] == "path"
    pool.tasks[0][1].set_result(Missing())
    driver.turn()
    assert pool.tasks[1][0][1] == "data" and pool.requests(1) == [b"7"]
    pool.finish(1)
    driver.turn()
    assert engine.answers == {7: b"to 7"} and driver.statistics.lost == 0


def test_what_was_cancelled_is_not_shipped_and_not_answered() -> None:
    engine, pool, driver, _ = made(1)
    submit(driver, [1, 2, 3])
    driver.take("cancel", 1)
    driver.take("cancel", 2)
    driver.turn()
    # One that waits is called back, and what never ran is never shipped.
    assert pool.tasks[0][1].cancelled()
    while pool.running():
        pool.finish(pool.running()[0])
        driver.turn()
    assert list(engine.answers) == [3] and pool.rebuilt == 0 and not engine.failures


def test_a_late_answer_to_what_was_cancelled_is_left_out() -> None:
    engine, pool, driver, _ = made(1)
    submit(driver, [1])
    assert pool.tasks[0][1].set_running_or_notify_cancel()
    driver.take("cancel", 1)
    driver.turn()
    submit(driver, [2])
    assert len(pool.tasks) == 1, "its worker is still busy"
    pool.finish(0)
    driver.turn()
    pool.finish(1)
    driver.turn()
    assert engine.answers == {2: b"to 2"}


def test_idle_workers_copy_what_takes_too_long_and_the_first_answer_counts() -> None:
    engine, pool, driver, clock = made(2)
    submit(driver, [1, 2])
    pool.finish(1, seconds=0.5)
    driver.turn()
    clock.now += 1.2
    driver.turn()
    assert len(pool.tasks) == 2, "not late yet"
    clock.now += 1.0
    driver.turn()
    assert len(pool.tasks) == 3 and pool.requests(2) == pool.requests(0) == [b"1"]
    clock.now += 100.0
    driver.turn()
    assert len(pool.tasks) == 3, "one copy is enough"
    pool.finish(2)
    driver.turn()
    assert sorted(engine.answers) == [1, 2]
    assert pool.tasks[0][1].cancelled() and driver.statistics.copies == 1
    driver.turn()
    assert not engine.failures and pool.rebuilt == 0


def test_a_copy_that_is_lost_leaves_the_other() -> None:
    engine, pool, driver, clock = made(2)
    submit(driver, [1, 2])
    pool.finish(1, seconds=0.1)
    driver.turn()
    clock.now += 10.0
    driver.turn()
    pool.lose(2)
    driver.turn()
    assert not engine.failures and driver.statistics.lost == 0
    pool.finish(0)
    driver.turn()
    assert sorted(engine.answers) == [1, 2]


def test_what_cannot_be_evaluated_fails_and_what_was_raised_is_kept() -> None:
    engine, pool, driver, _ = made(1)
    submit(driver, [4])
    pool.tasks[0][1].set_result(Done([Failure("no")], 0.0))
    driver.turn()
    assert engine.failures == {4: "no"}
    submit(driver, [5])
    pool.tasks[1][1].set_exception(ModuleNotFoundError("No module named 'tnsearch'"))
    driver.turn()
    assert engine.failures[5] == "ModuleNotFoundError: No module named 'tnsearch'"
    assert driver.error() is None
    submit(driver, [6])
    pool.tasks[2][1].set_result(Done([Failure("KeyError: 6", KeyError("6"))], 0.0))
    driver.turn()
    assert engine.failures[6] == "KeyError: 6" and isinstance(driver.error(), KeyError)
