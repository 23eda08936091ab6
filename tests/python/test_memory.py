"""`--max-memory` holds: a small version of `memory.py`, which measures more commands, shapes and limits."""

import os
import pathlib
import struct
import zlib

import numpy as np
import pytest
from memory import ALLOWANCE, chunk, commands, data, empty, peak, picture, png, prepare

# Large enough that one copy of the tensor too many is seen beside the allowance.
SHAPE = (50, 50, 50, 50)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    prepare(str(pathlib.Path(os.environ["TNSEARCH"]).resolve()), folder, data(SHAPE, "f8"))
    return folder


@pytest.mark.parametrize("what", [
    "search ring", "fit ring", "decompose hosvd", "complete", "certify ring", "compress path", "compress picture", "info picture",
    "reconstruct", "decompress", "verify",
])
@pytest.mark.parametrize("limit", [1.1, 3.0])
def test_no_more_memory_is_held_than_allowed(place, what, limit):
    program = str(pathlib.Path(os.environ["TNSEARCH"]).resolve())
    allowed = int(limit * 8 * np.prod(SHAPE))
    line = [*commands("4")[what], "--max-memory", allowed]
    code, held, said = peak(program, line, place)
    # Done, target not reached, not all checked (`verify`), or refused in one line.
    assert code in (0, 1, 3) or (code == 2 and "memory" in said and "\n" not in said), said
    assert held - empty(program) <= allowed + ALLOWANCE, f"{held / 1e6:.0f} MB, {said}"


def test_the_figure_is_that_of_the_child():
    # One that fills 60 MB holds as much, whatever this process holds.
    program = "/bin/sh"
    script = "x=$(head -c 60000000 /dev/zero | tr '\\0' a); test ${#x} = 60000000"
    code, held, _ = peak(program, ["-c", script], ".")
    small = peak(program, ["-c", "true"], ".")[1]
    assert code == 0 and small < 30e6 < 60e6 < held


def zeros(megabytes):
    """So many MB of zeros, packed: a thousandth of it."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(1_000_000)) for _ in range(megabytes)) + packer.flush()


# What stands beside the pixels, and unpacks to 300 MB; a header that promises much; pixels without end.
HEADER = struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)
PIXELS = zlib.compress(b"\0\1\2\3\4" * 4)
BOMBS = {
    "profile": lambda: picture(HEADER, PIXELS, chunk(b"iCCP", b"x\0\0" + zeros(300))),
    "text": lambda: picture(HEADER, PIXELS, chunk(b"zTXt", b"x\0\0" + zeros(300))),
    "translated text": lambda: picture(HEADER, PIXELS, chunk(b"iTXt", b"x\0\1\0\0\0" + zeros(300))),
    "a chunk of somebody's own": lambda: picture(HEADER, PIXELS, chunk(b"xzAp", zeros(300))),
    "notes": lambda: picture(HEADER, PIXELS, chunk(b"eXIf", bytes(100_000_000))),
    "plain text": lambda: picture(HEADER, PIXELS, chunk(b"tEXt", b"x\0" + b"y" * 100_000_000)),
    "pixels without end": lambda: picture(HEADER, zeros(300)),
    "wide": lambda: picture(struct.pack(">IIBBBBB", 2**31 - 1, 1, 16, 6, 0, 0, 0), zeros(300)),
    "large": lambda: picture(struct.pack(">IIBBBBB", 30000, 30000, 8, 0, 0, 0, 1), zeros(300)),
    "cut off": lambda: png(300)[:1000],
}


@pytest.mark.parametrize("what", BOMBS)
def test_no_picture_takes_more_than_allowed(tmp_path, what):
    program = str(pathlib.Path(os.environ["TNSEARCH"]).resolve())
    (tmp_path / "x.png").write_bytes(BOMBS[what]())
    own = empty(program)
    for line in [
        ["info", "x.png"],
        ["search", "x.png", "--max-re", "0.5", "--max-evaluations", "1", "--quiet"],
        ["compress", "x.png", "-o", "y.safetensors", "--max-seconds", "1", "--quiet"],
    ]:
        code, held, said = peak(program, [*line, "--max-memory", "20MB"], tmp_path)
        assert code in (0, 1) or (code == 2 and "\n" not in said), f"{line[0]}: {code} {said}"
        assert held - own <= 20e6 + ALLOWANCE, f"{line[0]}: {held / 1e6:.0f} MB, {said}"


@pytest.mark.parametrize("kilobytes", [300_000, 1_000_000, 4_000_000])
def test_a_picture_beyond_the_addresses_is_refused_in_one_line(tmp_path, kilobytes):
    # 30000 x 30000 pixels, under `ulimit -v`, without a limit of ours.
    program = str(pathlib.Path(os.environ["TNSEARCH"]).resolve())
    (tmp_path / "x.png").write_bytes(BOMBS["large"]())
    script = f"ulimit -v {kilobytes}; exec {program} info x.png"
    code, _, said = peak("/bin/bash", ["-c", script], tmp_path)
    assert code == 2 and "\n" not in said and "memory" in said, f"{code} {said}"
