"""A search on the processes of an MPI job, started as users start one."""

import pathlib
import subprocess
import sys

# Nothing here is about the speed of a machine: a job that has not ended by then hangs.
HANG = 600

SCRIPT = """
import numpy as np
import tnsearch

x = np.random.default_rng(0).normal(size=(4, 4, 4, 4))
options = dict(template="ring", strategy="tnls", lambda_=5.0, samples=6, iterations=2, seed=1)
if __name__ == "__main__":
    here = tnsearch.search(x, **options)
    there = tnsearch.search(x, parallel="mpi", workers=2, **options)
    assert (here.params, here.rse, here.evaluations) == (there.params, there.rse, there.evaluations)
    assert all(np.array_equal(a, b) for a, b in zip(here.network.cores, there.network.cores, strict=True))
    print("equal", there.evaluations > 0)
"""


def test_mpi_is_local(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    mpiexec = pathlib.Path(sys.executable).with_name("mpiexec")
    line = [str(mpiexec), "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["equal", "True"]
