"""What pools of workers cost and bring (docs/clusters.md).

    python benches/cluster.py --workers 1,2 --backends processes,dask,ray

For each backend: the seconds that a task takes beside its work (one after the other, and many at a time), the evaluations
per second against the number of workers for cheap and dear evaluations, and the bytes that are shipped for each. From that:
the cost of an evaluation above which the overhead stays under 5 %, and what a thousand workers would do.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from typing import Any

import numpy as np

from tnsearch import __version__, _core
from tnsearch._search import order
from tnsearch.parallel import Done, Driver, Pool, evaluate, open_pool
from tnsearch.parallel.drive import WORTH

#: Tensors whose evaluations cost about a millisecond, ten, and a hundred.
SIZES = {"small": (4,) * 5, "medium": (8,) * 5, "large": (12,) * 5}
#: Bytes of a request, about.
REQUEST = b"x" * 600


def tensor(dims: tuple[int, ...]) -> np.ndarray:
    """A hidden ring of rank 3 with noise, so that fits go on for some sweeps."""
    rng = np.random.default_rng(0)
    cores = [rng.standard_normal((3, n, 3)) for n in dims]
    x = np.einsum("aib,bjc,ckd,dle,ema->ijklm", *cores)
    return x / np.linalg.norm(x) + 1e-3 * rng.standard_normal(dims) / math.sqrt(x.size)


@contextlib.contextmanager
def pool_of(backend: str, workers: int) -> Iterator[Pool]:
    """A pool whose workers have begun."""
    if backend == "ray":
        import ray

        ray.init(num_cpus=workers, include_dashboard=False, logging_level="error", log_to_driver=False)
    pool = open_pool(backend, workers)
    try:
        wait([nothing(pool) for _ in range(4 * workers)])
        yield pool
    finally:
        with contextlib.suppress(Exception):
            pool.close()
        if backend == "ray":
            ray.shutdown()


def nothing(pool: Pool) -> Any:
    """A task like ours that does nothing: its job is unknown."""
    return pool.submit(evaluate, "nothing", None, [(REQUEST, 0.0)])


def overhead(pool: Pool, tasks: int) -> dict[str, float]:
    """Seconds of a task that does nothing: alone, and as one of many."""
    begun = time.perf_counter()
    for _ in range(tasks // 4):
        nothing(pool).result()
    alone = (time.perf_counter() - begun) / (tasks // 4)
    begun = time.perf_counter()
    wait([nothing(pool) for _ in range(tasks)])
    many = (time.perf_counter() - begun) / tasks
    return {"alone": alone, "many": many}


class Instant(Pool):
    """A thousand workers that have answered before they were asked."""

    def submit(self, function: Any, *arguments: Any) -> Any:
        future: Future[Any] = Future()
        future.set_result(Done([REQUEST] * len(arguments[2]), float(len(arguments[2]))))
        return future


class Nobody:
    """An engine that takes every answer."""

    def answer(self, ticket: int, answer: bytes) -> None: ...

    def wake(self) -> None: ...


def driver_seconds(requests: int) -> float:
    """What the driver itself takes for a request, with a thousand workers."""
    driver = Driver(Nobody(), Instant(1000))  # type: ignore[arg-type]
    begun = time.perf_counter()
    for ticket in range(requests):
        driver.take("submit", ticket, REQUEST)
    while driver.statistics.answers < requests:
        driver.turn()
    return (time.perf_counter() - begun) / requests


def search(x: np.ndarray, evaluations: int, pool: Pool | None, workers: int) -> dict[str, Any]:
    """Generations of 60 samples, none of them pruned; the starts of a fit are made one after the other."""
    settings = {
        "template": "ring", "lambda_": 200.0, "strategy": "tnls", "prune": False, "direct": False, "shrink": False,
        "max_rank": 4, "max_evaluations": evaluations, "seed": 1, "runs": 1, "threads": workers, "certificate_nodes": 0,
    }
    asked = order("search", settings, {"samples": 60, "iterations": 1000}, False)
    asked.update(events=False, progress=False, workers=None if pool is None else pool.workers)
    begun = time.perf_counter()
    engine = _core.Engine(x, asked)
    if pool is None:
        while ("end",) not in engine.messages(1.0):
            pass
        statistics = None
    else:
        driver = Driver(engine, pool)
        close, pool.close = pool.close, lambda: None  # it is used again
        try:
            statistics = driver.run()
        finally:
            pool.close = close
    seconds = time.perf_counter() - begun
    found = engine.result()[0]
    made: dict[str, Any] = {"seconds": seconds, "evaluations": found["evaluations"], "rate": found["evaluations"] / seconds}
    made["loss"] = found["loss"]
    if statistics is not None:
        made["tasks"] = statistics.tasks
        made["answers"] = statistics.answers
        made["cost"] = statistics.worked / max(statistics.answers, 1)
        made["bytes_out"] = statistics.bytes_out / max(statistics.answers, 1)
        made["bytes_back"] = statistics.bytes_back / max(statistics.answers, 1)
    return made


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join("---" for _ in head) + " |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def short(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def on_paper(many: float, alone: float) -> None:
    """A generation on a thousand workers: tasks leave one after the other, `many` seconds apart; the last one comes back
    after `alone` seconds and its work. Where there are more samples than workers, a task has its part of them if they are
    so cheap that its overhead matters."""
    rows = []
    for samples in (60, 300, 5000):
        row = [str(samples)]
        for cost in (0.1, 1.0, 10.0):
            rounds = math.ceil(samples / 1000)
            batch = max(1, min(rounds, math.ceil(WORTH * many / cost)))
            seconds = max(rounds * cost, samples / batch * many) + alone
            row.append(f"{seconds:.2f} s, {samples / seconds:.0f}/s, {100 * samples * cost / (1000 * seconds):.0f} %")
        rows.append(row)
    table(["samples", "0.1 s each", "1 s each", "10 s each"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="1,2", help="numbers of workers")
    parser.add_argument("--backends", default="processes,dask,ray")
    parser.add_argument("--sizes", default="small,medium,large")
    parser.add_argument("--evaluations", type=int, default=240)
    parser.add_argument("--tasks", type=int, default=400)
    parser.add_argument("--json", default=None, help="write all figures there")
    asked = parser.parse_args()
    numbers = [int(n) for n in asked.workers.split(",")]
    backends, sizes = asked.backends.split(","), asked.sizes.split(",")
    print(f"tnsearch {__version__}, Python {platform.python_version()}, {os.cpu_count()} processors\n")
    figures: dict[str, Any] = {"processors": os.cpu_count(), "overhead": {}, "searches": []}
    answers: dict[str, set[float]] = {}

    def note(size: str, backend: str, workers: int, made: dict[str, Any]) -> None:
        figures["searches"].append({"size": size, "backend": backend, "workers": workers} | made)
        answers.setdefault(size, set()).add(made["loss"])
        print(f"{size} {backend} {workers}: {made['rate']:.1f}/s", file=sys.stderr)

    for workers in numbers:
        for size in sizes:
            note(size, "threads", workers, search(tensor(SIZES[size]), asked.evaluations, None, workers))
    for backend in backends:
        for workers in numbers:
            with pool_of(backend, workers) as pool:
                figures["overhead"][f"{backend} {workers}"] = overhead(pool, asked.tasks)
                for size in sizes:
                    note(size, backend, workers, search(tensor(SIZES[size]), asked.evaluations, pool, workers))

    figures["driver"] = driver_seconds(20_000)
    print(f"The driver itself takes {1e6 * figures['driver']:.0f} us for a request\n")
    print("Seconds of a task beside its work, and the cost of an evaluation above which that is under 5 %\n")
    rows = []
    for name, o in figures["overhead"].items():
        workers = int(name.split()[1])
        lost = o["many"] * workers
        rows.append([name, short(o["alone"]), short(o["many"]), short(20 * lost)])
    table(["workers", "one after the other", "many at a time, per task", "5 % at"], rows)
    for size in sizes:
        made = [s for s in figures["searches"] if s["size"] == size]
        cost = [s["cost"] for s in made if "cost" in s]
        print(f"Evaluations per second, {size} ({'x'.join(map(str, SIZES[size]))}; {short(float(np.median(cost)))} each)\n")
        rows = []
        for backend in ["threads", *backends]:
            of = {s["workers"]: s for s in made if s["backend"] == backend}
            some = of[numbers[-1]]
            shipped = f"{some['bytes_out']:.0f} out, {some['bytes_back']:.0f} back" if "bytes_out" in some else ""
            per = f"{some['answers'] / some['tasks']:.1f}" if "tasks" in some else ""
            rows.append([backend, *(f"{of[n]['rate']:.1f}" for n in numbers), per, shipped])
        table(["", *(f"{n} workers" for n in numbers), "requests per task", "bytes per evaluation"], rows)
    for backend in backends:
        o = figures["overhead"][f"{backend} {numbers[-1]}"]
        print(f"On paper: 1,000 workers of {backend}; time of a generation, samples per second, part of the workers' time used\n")
        on_paper(o["many"], o["alone"])
    assert all(len(found) == 1 for found in answers.values()), "the answers differ"
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
