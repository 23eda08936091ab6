"""The example scripts run, with small sizes."""

import pathlib
import subprocess
import sys

import pytest
from conftest import HANG

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.mark.parametrize(
    "line, said",
    [
        (["field_to_quimb.py", "--side", "6"], "mean of the field"),
        (["complete_picture.py", "--side", "24", "--missing", "0.5"], "PSNR"),
        (["search_on_dask.py", "--workers", "2", "--samples", "8"], "the same, after"),
    ],
)
def test_the_example_runs(line, said, tmp_path):
    script = [sys.executable, str(EXAMPLES / line[0]), *line[1:]]
    done = subprocess.run(script, capture_output=True, text=True, cwd=tmp_path, timeout=HANG)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout, done.stdout
