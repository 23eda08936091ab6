"""Searches on pools give the answers of this process, bit for bit, whatever happens to the workers."""

from __future__ import annotations

import concurrent.futures as futures
import contextlib
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import large
import tnsearch
from tnsearch.parallel import open_pool


def tensor() -> np.ndarray:
    """A ring of rank 2 with a little noise."""
    rng = np.random.default_rng(3)
    cores = [rng.standard_normal((2, n, 2)) for n in (4, 3, 4, 3)]
    x = np.einsum("aib,bjc,ckd,dla->ijkl", *cores)
    return x + 1e-3 * rng.standard_normal(x.shape)


OPTIONS: dict[str, Any] = {
    "template": "ring",
    "max_re": 0.01,
    "seed": 5,
    "strategy": "tnls",
    "iterations": 3,
    "samples": 12,
    "max_rank": 3,
    "direct": False,
    "prune": False,
}


def answer(result: tnsearch.Result) -> tuple[Any, ...]:
    """All that must be equal."""
    assert result.network is not None
    return (
        result.params,
        result.rse,
        result.structure,
        result.evaluations,
        [core.tobytes() for core in result.network.cores],
        sorted((t["key"], t.get("rse", t.get("error")), t["sweeps"]) for t in result.trials()),
    )


@pytest.fixture(scope="module")
def expected() -> tuple[Any, ...]:
    """By this process alone."""
    return answer(tnsearch.search(tensor(), parallel=False, **OPTIONS))


class KillAfter:
    """A callback that kills a worker when so many evaluations were told."""

    def __init__(self, number: int, victims: Any) -> None:
        self.number, self.victims, self.killed = number, victims, []

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] != "evaluated":
            return
        self.number -= 1
        if self.number == 0:
            victim = self.victims()
            os.kill(victim, signal.SIGKILL)
            self.killed.append(victim)


def child() -> int:
    """A process that this one started."""
    pid = multiprocessing.active_children()[0].pid
    assert pid is not None
    return pid


def kill_once(marker: str) -> None:
    """Kills this process, and no other after it."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)


class DeadlyOnce:
    """A loss whose first evaluation takes its worker along."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __call__(self, network: tnsearch.Network) -> float:
        kill_once(self.marker)
        assert network.rse is not None
        return network.rse


def test_processes(expected: tuple[Any, ...]) -> None:
    assert answer(tnsearch.search(tensor(), parallel="processes", workers=2, **OPTIONS)) == expected


def test_a_killed_process_is_replaced(expected: tuple[Any, ...]) -> None:
    kill = KillAfter(3, child)
    found = tnsearch.search(tensor(), parallel="processes", workers=2, callback=kill, **OPTIONS)
    assert kill.killed and answer(found) == expected


def test_an_executor_of_ones_own(expected: tuple[Any, ...]) -> None:
    with futures.ThreadPoolExecutor(3) as executor:
        assert answer(tnsearch.search(tensor(), parallel=executor, **OPTIONS)) == expected
        # It is still open.
        assert executor.submit(int, "3").result() == 3


def test_a_broken_executor_is_replaced(expected: tuple[Any, ...]) -> None:
    kill = KillAfter(3, child)
    with futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        found = tnsearch.search(tensor(), parallel=executor, callback=kill, **OPTIONS)
    assert kill.killed and answer(found) == expected


def test_functions_survive_the_death_of_their_worker(tmp_path: Path) -> None:
    options = {name: value for name, value in OPTIONS.items() if name != "max_re"} | {"max_loss": 1e-4}
    (tmp_path / "here").touch()
    here = answer(tnsearch.search(tensor(), loss=DeadlyOnce(tmp_path / "here"), **options))
    deadly = DeadlyOnce(tmp_path / "there")
    there = tnsearch.search(tensor(), loss=deadly, parallel="processes", workers=2, **options)
    assert Path(deadly.marker).exists() and answer(there) == here


class Always:
    """A loss that no worker survives."""

    def __call__(self, network: tnsearch.Network) -> float:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0.0


def test_what_kills_every_worker_is_named() -> None:
    with pytest.raises(Exception, match=r"request \d+ was lost 4 times|end before they answer"):
        tnsearch.search(tensor(), loss=Always(), max_loss=0.1, template="ring", parallel="processes", workers=1)


def endless(marker: str) -> None:
    """Works until it is called back."""
    Path(marker).touch()
    while True:
        time.sleep(0.01)


def test_a_task_that_runs_is_called_back_and_its_process_goes_on(tmp_path: Path) -> None:
    pool = open_pool("processes", 1)
    try:
        before = pool.submit(os.getpid).result()
        future = pool.submit(endless, str(tmp_path / "begun"))
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        pool.cancel(future)
        assert future.result() is None
        assert pool.submit(os.getpid).result() == before
    finally:
        pool.close()


def fails(network: tnsearch.Network) -> float:
    raise KeyError("no such thing")


def test_what_a_function_raises_is_raised() -> None:
    with pytest.raises(KeyError, match="no such thing"):
        tnsearch.search(tensor(), loss=fails, max_loss=0.1, template="ring", parallel="processes", workers=2)


def test_what_cannot_be_pickled_is_named() -> None:
    def local(network: tnsearch.Network) -> float:
        return 0.0

    with pytest.raises(TypeError, match=r"loss cannot be pickled for processes: .*local.*top level"):
        tnsearch.search(tensor(), loss=local, max_loss=0.1, parallel="processes", workers=2)
    with pytest.raises(TypeError, match=r"parallel is a set; it must be"):
        tnsearch.search(tensor(), parallel={1}, **OPTIONS)
    with pytest.raises(ValueError, match=r"parallel is 'dusk'; it must be"):
        tnsearch.search(tensor(), parallel="dusk", **OPTIONS)
    with pytest.raises(ValueError, match=r"workers is 0"):
        tnsearch.search(tensor(), parallel="processes", workers=0, **OPTIONS)


def test_holes_losses_complex_numbers_and_a_shrunk_tensor() -> None:
    rng = np.random.default_rng(1)
    x = tensor()
    few = {"template": "ring", "seed": 2, "strategy": "tnls", "iterations": 2, "samples": 6, "max_rank": 3}
    wide = np.einsum("ijkl,ai,bj->abkl", x, rng.standard_normal((16, 4)), rng.standard_normal((12, 3)))
    cases: list[tuple[Any, dict[str, Any]]] = [
        (x, {"mask": rng.random(x.shape) >= 0.8, "max_re": 0.1}),
        (x, {"loss": "huber:0.1", "max_loss": 0.01}),
        (np.abs(x), {"loss": "kl", "max_loss": 0.05}),
        (x + 1j * x[::-1], {"max_re": 0.1}),
        (x.astype(np.float32), {"dtype": "f32", "max_re": 0.1}),
        (wide, {"max_re": 0.01}),
    ]
    with futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        for case, more in cases:
            here = answer(tnsearch.search(case, **few, **more))
            assert answer(tnsearch.search(case, parallel=executor, **few, **more)) == here


@pytest.mark.parametrize("workers", [2, 4])
def test_dask(expected: tuple[Any, ...], workers: int) -> None:
    import distributed
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        kill = KillAfter(3, lambda: pids[0])
        found = tnsearch.search(tensor(), parallel=client, callback=kill, **OPTIONS)
        assert kill.killed and answer(found) == expected
        # By name, and by its address.
        assert answer(tnsearch.search(tensor(), parallel="dask", **OPTIONS)) == expected
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert answer(tnsearch.search(tensor(), parallel=address, **OPTIONS)) == expected


def test_dask_scatters_data_to_other_machines(expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed
    from tnsearch.parallel import clusters

    monkeypatch.setattr(clusters.DaskPool, "_is_local", lambda self: False)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        kill = KillAfter(3, lambda: pids[1])
        found = tnsearch.search(tensor(), parallel=client, callback=kill, **OPTIONS)
        assert kill.killed and answer(found) == expected


def test_data_in_a_folder_that_all_machines_see(
    expected: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TNSEARCH_SHARED", str(tmp_path))
    seen: set[int] = set()

    def look(event: dict[str, Any]) -> None:
        seen.update(path.stat().st_size for path in tmp_path.glob("tnsearch-*/*") if "back-" not in path.name)

    found = tnsearch.search(tensor(), parallel="processes", workers=1, callback=look, **OPTIONS)
    assert answer(found) == expected
    assert seen == {tensor().nbytes}
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_a_worker_that_cannot_reach_the_file_is_sent_the_data(
    expected: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tnsearch.parallel import pools

    monkeypatch.setattr(pools.ProcessPool, "source", lambda self: pools.Mapped(self._job.header, "/nowhere/at/all"))
    assert answer(tnsearch.search(tensor(), parallel="processes", workers=2, **OPTIONS)) == expected


def test_another_scheduler_goes_on_from_the_journal(expected: tuple[Any, ...], tmp_path: Path) -> None:
    import distributed
    journal = tmp_path / "search.jsonl"

    def search(stop_after: int | None) -> tnsearch.Result:
        heard = 0

        def callback(event: dict[str, Any]) -> bool:
            nonlocal heard
            heard += event["event"] == "evaluated"
            return heard == stop_after

        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            return tnsearch.search(
                tensor(), parallel=client, journal=journal, resume=True, callback=callback, **OPTIONS
            )

    assert search(4).evaluations < expected[3]
    assert journal.stat().st_size > 0
    found = search(None)
    assert answer(found)[:5] == expected[:5]


def ray_worker() -> int:
    """A process of Ray that works for us."""
    import psutil
    for process in psutil.process_iter(["name", "cmdline"]):
        with contextlib.suppress(psutil.Error):
            command = process.info["cmdline"] or [""]
            if command[0].startswith("ray::") and "evaluate" in command[0] + " ".join(command):
                return int(process.pid)
    for process in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error):
            if (process.info["cmdline"] or [""])[0].startswith("ray::IDLE"):
                return int(process.pid)
    raise AssertionError("Ray has no worker")


def test_ray(expected: tuple[Any, ...], tmp_path: Path) -> None:
    ray = large("ray")
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}}
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False, runtime_env=environment)
    try:
        kill = KillAfter(3, ray_worker)
        found = tnsearch.search(tensor(), parallel="ray", callback=kill, **OPTIONS)
        assert kill.killed and answer(found) == expected
        # In the middle of an evaluation.
        options = {name: value for name, value in OPTIONS.items() if name != "max_re"} | {"max_loss": 1e-4}
        (tmp_path / "here").touch()
        here = answer(tnsearch.search(tensor(), loss=DeadlyOnce(tmp_path / "here"), **options))
        deadly = DeadlyOnce(tmp_path / "there")
        assert answer(tnsearch.search(tensor(), loss=deadly, parallel="ray", **options)) == here
        assert Path(deadly.marker).exists()
        assert ray.is_initialized(), "what was there before stays"
    finally:
        ray.shutdown()
