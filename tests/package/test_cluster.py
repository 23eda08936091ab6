"""The command's way to workers elsewhere, `tnsearch search --cluster`: the answers of its own threads, bit for bit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Nothing here is about the speed of a machine: what has not happened by then never will.
HANG = 600

SEARCH = "--template ring --max-re 0.01 --strategy tnls --iterations 3 --samples 12 --max-rank 3 --no-direct --no-prune --seed 5".split()


@pytest.fixture(scope="session")
def program() -> str:
    found = os.environ.get("TNSEARCH")
    if not found:
        pytest.exit("set TNSEARCH to the tnsearch program, or use `cargo xtask test`", 2)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a tensor: a ring of rank 2, and a little noise."""
    rng = np.random.default_rng(3)
    cores = [rng.standard_normal((2, n, 2)) for n in (4, 3, 4, 3)]
    x = np.einsum("aib,bjc,ckd,dla->ijkl", *cores)
    np.save(tmp_path / "X.npy", x + 1e-3 * rng.standard_normal(x.shape))
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "TNSEARCH_PYTHON": sys.executable, **more}


def answer(report: str, network: Path) -> tuple[Any, bytes]:
    """What the command says without its times, and what it wrote."""
    found = json.loads(report)
    kept = "params rse loss permutation edges evaluations samples pruned cached stopped_by target_reached lower_bound"
    return {name: found[name] for name in kept.split()}, network.read_bytes()


def run(program: str, place: Path, *arguments: str, **more: str) -> tuple[Any, bytes]:
    line = [program, "search", "X.npy", *SEARCH, "--json", "-", "-o", "net.safetensors", *arguments]
    done = subprocess.run(line, cwd=place, env=environment(**more), capture_output=True, text=True, timeout=HANG)
    assert done.returncode in (0, 1), done.stderr
    return answer(done.stdout, place / "net.safetensors")


@contextlib.contextmanager
def held(program: str, place: Path, number: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A search that waits after so many evaluations, until the file `held` is gone."""
    line = [program, "search", "X.npy", *SEARCH, "--json", "-", "-o", "net.safetensors", *arguments]
    hold = environment(TNSEARCH_TEST_HOLD=f"{place / 'held'}:evaluation {number}")
    process = subprocess.Popen(
        line, cwd=place, env=hold, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        until((place / "held").exists, process)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(condition: Any, process: subprocess.Popen[str] | None = None) -> None:
    """Waits for something that happens elsewhere."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < HANG, "it hangs"
        if process is not None and process.poll() is not None:
            raise AssertionError(f"it ended with {process.returncode}: {process.stderr and process.stderr.read()}")
        time.sleep(0.01)


def test_processes(program: str, place: Path) -> None:
    here = run(program, place)
    assert run(program, place, "--cluster", "processes:2") == here


def test_a_worker_killed_in_mid_search(program: str, place: Path) -> None:
    import psutil
    here = run(program, place)
    with held(program, place, 3, "--cluster", "processes:2", "--journal", "run.jsonl") as process:
        children = psutil.Process(process.pid).children(recursive=True)
        workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
        assert len(workers) == 2
        workers[0].kill()
        (place / "held").unlink()
        said, _ = process.communicate(timeout=HANG)
        assert process.returncode in (0, 1)
        assert answer(said, place / "net.safetensors") == here


@contextlib.contextmanager
def dask_cluster() -> Iterator[str]:
    """A scheduler and two workers, each a process of its own."""
    module = "distributed.cli.dask_{}"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", module.format("scheduler"), "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    worker = None
    try:
        assert scheduler.stderr is not None
        said = (re.search(r"Scheduler at:\s+tcp://(\S+)", line) for line in scheduler.stderr)
        address = next(found[1] for found in said if found)
        worker = subprocess.Popen(
            [sys.executable, "-m", module.format("worker"), f"tcp://{address}", "--nworkers", "2", "--nthreads", "1",
             "--no-dashboard"], stderr=subprocess.DEVNULL,
        )  # fmt: skip
        yield f"dask://{address}"
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.terminate()
                process.wait()


def test_another_scheduler_goes_on_with_resume(program: str, place: Path) -> None:
    here = run(program, place)
    journal = ("--journal", "run.jsonl", "--resume")
    with dask_cluster() as address, held(program, place, 4, "--cluster", address, *journal) as process:
        process.kill()
        process.wait()

        def is_gone() -> bool:
            """The broker, too, which notices that nobody asks any more."""
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return True
            return False

        until(is_gone)
    assert len((place / "run.jsonl").read_text().splitlines()) >= 4
    with dask_cluster() as address:
        found = run(program, place, "--cluster", address, *journal)
    assert found == here


def refusal(program: str, place: Path, python: str, where: str) -> str:
    line = [program, "search", "X.npy", "--cluster", where]
    env = {**os.environ, "TNSEARCH_PYTHON": python}
    done = subprocess.run(line, cwd=place, env=env, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done
    return done.stderr


def test_what_is_missing_is_said(program: str, place: Path) -> None:
    bare = place / "python"
    # Without anything that was installed.
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    assert "has no Python package tnsearch" in refusal(program, place, str(bare), "dask://127.0.0.1:8786")
    # A module that hides the package.
    (place / "without").mkdir()
    (place / "without" / "distributed.py").write_text("raise ModuleNotFoundError('no', name='distributed')\n")
    hidden = place / "hidden"
    hidden.write_text(f'#!/bin/sh\nPYTHONPATH="{place / "without"}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    hidden.chmod(0o755)
    said = refusal(program, place, str(hidden), "dask://127.0.0.1:8786")
    assert "distributed is not installed; pip install 'tnsearch[dask]'" in said
