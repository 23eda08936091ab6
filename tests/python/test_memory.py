"""`--max-memory` holds: a small version of `memory.py`, which measures more commands, shapes and limits."""

import json
import os
import pathlib

import numpy as np
import pytest
from memory import ALLOWANCE, commands, data, empty, peak, structure

# Large enough that one copy of the tensor too many is seen beside the allowance.
SHAPE = (50, 50, 50, 50)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    np.save(folder / "x.npy", data(SHAPE, "f8"))
    (folder / "path.json").write_text(json.dumps(structure(SHAPE, 5)))
    (folder / "ring.json").write_text(json.dumps(structure(SHAPE, 4, ring=True)))
    return folder


@pytest.mark.parametrize("what", ["search ring", "fit ring", "decompose hosvd", "complete", "certify ring"])
@pytest.mark.parametrize("limit", [1.1, 3.0])
def test_no_more_memory_is_held_than_allowed(place, what, limit):
    program = str(pathlib.Path(os.environ["TNSEARCH"]).resolve())
    allowed = int(limit * 8 * np.prod(SHAPE))
    line = [*commands("4")[what], "--max-memory", allowed]
    code, held, said = peak(program, line, place)
    # Done, target not reached, or refused in one line.
    assert code in (0, 1) or (code == 2 and "memory" in said and "\n" not in said), said
    assert held - empty(program) <= allowed + ALLOWANCE, f"{held / 1e6:.0f} MB, {said}"


def test_the_figure_is_that_of_the_child():
    # One that fills 60 MB holds as much, whatever this process holds.
    program = "/bin/sh"
    script = "x=$(head -c 60000000 /dev/zero | tr '\\0' a); test ${#x} = 60000000"
    code, held, _ = peak(program, ["-c", script], ".")
    small = peak(program, ["-c", "true"], ".")[1]
    assert code == 0 and small < 30e6 < 60e6 < held
