"""A folder that others filled with modules: no search that is started there runs one of them, here or on workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cluster import HANG, answer, environment, program

__all__ = ["program"]

#: What Python, the package and clusters import, beside all of the standard library.
MODULES = (
    "numpy tnsearch mpi4py dask distributed ray sitecustomize usercustomize psutil cloudpickle msgpack tornado yaml toolz "
    "click zict tblib sortedcontainers"
).split()

SEARCH = "--template ring --max-re 0.3 --strategy tnls --iterations 2 --samples 6 --max-rank 3 --no-direct --seed 5".split()


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with a tensor and modules that leave `ran` behind."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    np.save(folder / "X.npy", np.random.default_rng(1).standard_normal((3, 4, 3, 2)))
    for k, name in enumerate([*sys.stdlib_module_names, *MODULES]):
        text = f"open({str(folder / 'ran')!r}, 'a').write(__name__ + '\\n')\n"
        if k % 2:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(text)
        else:
            (folder / f"{name}.py").write_text(text)
    # What MPI takes for the program that was given as `-c`.
    (folder / "-c").write_text(text)
    return folder


def check(folder: Path) -> None:
    ran = folder / "ran"
    assert not ran.exists(), f"it ran {ran.read_text().split()}"


def run(program: str, folder: Path, *arguments: str, **more: str) -> tuple[Any, bytes]:
    line = [program, "search", "X.npy", *SEARCH, "--json", "-", "-o", "net", *arguments]
    mpi = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line, cwd=folder, env=environment(PATH=mpi, **more), capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode in (0, 1), done.stderr
    return answer(done.stdout, folder / "net")


@pytest.mark.parametrize("cluster", ["processes:1", "dask", "ray", "mpi:1"])
@pytest.mark.parametrize("path", ["", ":/nowhere"])
def test_the_command(program: str, hostile: Path, cluster: str, path: str) -> None:
    pytest.importorskip({"dask": "distributed", "mpi:1": "mpi4py"}.get(cluster, cluster.split(":")[0].replace("processes", "numpy")))
    own = os.environ.get("PYTHONPATH", "")
    here = run(program, hostile)
    assert run(program, hostile, "--cluster", cluster, PYTHONPATH=f"{own}{path}") == here
    check(hostile)


SCRIPT = """
import os, sys
import numpy as np, tnsearch

def loss(network):
    return float("PYTHONSAFEPATH" in os.environ)

if __name__ == "__main__":
    x = np.load("X.npy")
    options = dict(template="ring", strategy="tnls", samples=4, iterations=1, max_rank=2, seed=1, direct=False)
    where = sys.argv[1]
    there = tnsearch.search(x, parallel=where, workers=1, max_re=0.3, **options)
    here = tnsearch.search(x, max_re=0.3, **options)
    assert (there.params, there.rse) == (here.params, here.rse)
    if where == "processes":
        # Nothing that was set for the start of a process is left, here or there.
        assert "PYTHONSAFEPATH" not in os.environ
        assert tnsearch.search(x, parallel=where, workers=1, loss=loss, max_loss=0.5, **options).error == 0.0
"""


@pytest.mark.parametrize("where", ["processes", "dask"])
def test_a_script_of_another_folder(hostile: Path, tmp_path: Path, where: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, str(script), where], cwd=hostile, env=clean, capture_output=True, text=True, timeout=HANG
    )
    assert done.returncode == 0, done.stderr
    check(hostile)


def test_folders_of_data_that_a_kill_left_are_removed(tmp_path: Path) -> None:
    from tnsearch.parallel import pools

    def folder(name: str, lock: bool = True) -> Path:
        made = tmp_path / name
        made.mkdir()
        (made / "data").write_bytes(b"x")
        if lock:
            (made / "lock").touch()
        return made

    left, other, old = folder("tnsearch-abcd1234"), folder("tnsearch-result"), folder("tnsearch-abcd0000", lock=False)
    used = folder("tnsearch-efgh5678")
    held = pools._lock(str(used))
    assert held is not None
    pools.remove_stale(str(tmp_path))
    # Nobody uses the first; nothing is known of those without a lock, and other names are not ours.
    assert not left.exists() and other.exists() and old.exists() and used.exists()
    os.close(held)
    pools.remove_stale(str(tmp_path))
    assert not used.exists()
