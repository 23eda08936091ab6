"""What the tests share: the command, and the numpy reader printed in docs/formats.md."""

import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest
from limits import HANG

ROOT = pathlib.Path(__file__).resolve().parents[2]


def relative_error(x, z):
    """RE, the square root of the RSE: rounding moves it by about 1e-16, whatever its size."""
    return np.linalg.norm((x - z).ravel()) / np.linalg.norm(x.ravel())


@pytest.fixture(scope="session")
def command():
    """Runs the program named by TNSEARCH (`cargo xtask test` sets it) and checks its exit code."""
    program = os.environ.get("TNSEARCH")
    if not program:
        pytest.exit("set TNSEARCH to the tnsearch program, or use `cargo xtask test`", 2)

    def run(*arguments, code):
        line = [program, *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=HANG)
        codes = code if isinstance(code, tuple) else (code,)
        assert done.returncode in codes, f"{line} ended with {done.returncode}:\n{done.stderr}"
        return done

    return run


@pytest.fixture(scope="session")
def tnsearch(command):
    """Runs the command, which must succeed; returns its standard output."""
    return lambda *arguments: command(*arguments, code=0).stdout


@pytest.fixture(scope="session")
def refused(command):
    """Runs the command on bad input, which it must refuse; returns its standard error."""
    return lambda *arguments: command(*arguments, code=2).stderr


@pytest.fixture(scope="session")
def info(tnsearch):
    """The JSON that `tnsearch info` gives about a file."""
    return lambda source: json.loads(tnsearch("info", source, "--json", "-"))


@pytest.fixture
def fit(tnsearch, tmp_path):
    """Fits a structure to the tensor in a file; returns the report and the network file."""

    def run(tensor, structure, *options):
        (tmp_path / "s.json").write_text(json.dumps(structure))
        net = tmp_path / "net.safetensors"
        line = ["fit", tensor, "--structure", tmp_path / "s.json", "--json", "-", "-o", net]
        return json.loads(tnsearch(*line, *options)), net

    return run


@pytest.fixture
def generate(tnsearch, tmp_path):
    """Makes a tensor with `tnsearch generate`; returns its file and the report, which is a structure."""

    def run(*options):
        tensor = tmp_path / "X.npy"
        return tensor, json.loads(tnsearch("generate", "-o", tensor, "--json", "-", *options))

    return run


@pytest.fixture(scope="session")
def read_network():
    """The reader of docs/formats.md, taken from the page itself."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.S)
    names = {}
    exec(code, names)
    return names["read_network"]
