"""How much memory commands take under `--max-memory`: the most that a run held at a time, beside what the program takes
for itself, against the limit it was given.

    TNSEARCH=target/debug/tnsearch python tests/python/memory.py [--megabytes 20] [--only WORD] [--limits 1.1,2,4]

measures every command on tensors of that size, several shapes and limits, names every run beyond its limit and 32 MB, and prints a
table. `test_memory.py` is the small version of it.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from limits import HANG

# What no limit counts: pages of the program and of libraries that a run touches beyond those of `--version`, stacks of threads,
# tables that do not grow with the tensor, what the allocator keeps for itself, and what kernels copy of their matrices.
ALLOWANCE = 32e6

# A process has at first the peak of the one that made it, so a small one stands between.
BETWEEN = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def peak(program, arguments, folder):
    """Runs a command: its exit code, the most bytes it held, what it said."""
    line = [sys.executable, "-S", "-E", "-c", BETWEEN, program, *map(str, arguments)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=HANG)
    *said, figures = done.stderr.strip().splitlines()
    code, kib = map(int, figures.split())
    return code, kib * 1024, "\n".join(said)


def empty(program):
    """What the program holds that does nothing."""
    return peak(program, ["--version"], ".")[1]


SHAPES = {
    "3": (250, 250, 100),
    "4": (50, 50, 50, 50),
    "5": (25, 25, 20, 20, 25),
    "6": (10, 25, 10, 10, 25, 10),
}


def scaled(shape, entries):
    """The shape with its modes changed by one factor, to about so many entries; small modes stay."""
    large = [d for d in shape if d > 4]
    factor = (entries / np.prod(shape)) ** (1 / len(large))
    return tuple(max(2, round(d * factor)) if d > 4 else d for d in shape)


def data(shape, kind, seed=1):
    """A ring of ranks 3 with noise of 5 %."""
    rng = np.random.default_rng(seed)
    r = 3
    x = rng.standard_normal((r, shape[0], r))
    for d in shape[1:]:
        core = rng.standard_normal((r, d, r)) / r
        x = np.tensordot(x, core, 1).reshape(r, -1, r)
    x = np.trace(x, axis1=0, axis2=2).reshape(shape)
    x *= 1 / np.sqrt(np.mean(x**2))
    x += 0.05 * rng.standard_normal(shape)
    return x.astype(kind)


def structure(shape, rank, ring=False):
    n = len(shape)
    edges = [[k, k + 1, rank] for k in range(n - 1)] + [[0, n - 1, rank]] * ring
    return {"template": "ring" if ring else "path", "permutation": list(range(n)), "edges": edges}


QUIET = ["--quiet"]


def commands(name):
    """Words, by what is measured: every command that reads a tensor, a network, a picture or a model."""
    search = ["search", "x.npy", "--quiet", "-o", "net.safetensors"]
    brief = ["--max-evaluations", "6", "--max-seconds", "15"]
    decompose = ["decompose", "x.npy", "--max-re", "0.06", "--quiet", "-o", "net.safetensors", "--method"]
    fit = ["fit", "x.npy", "--quiet", "-o", "net.safetensors", "--max-sweeps", "3", "--structure"]
    ranks = ",".join("3" for _ in SHAPES[name])
    return {
        "search default": [*search, "--max-re", "0.06", *brief],
        "search path": [*search, "--template", "path", "--max-re", "0.06", *brief],
        "search ring": [*search, "--template", "ring", "--max-re", "0.06", *brief],
        "search tucker": [*search, "--template", "tucker", "--max-re", "0.06", *brief],
        "search any-tree": [*search, "--template", "any-tree", "--max-re", "0.06", *brief],
        "search no-shrink": [*search, "--no-shrink", "--max-re", "0.06", *brief],
        "search tnls": [*search, "--template", "ring", "--strategy", "tnls", "--lambda", "5", "--max-rank", "4", *brief],
        "search 1e-12": [*search, "--template", "path", "--max-rse", "1e-12", "--max-rank", "9", *brief],
        "search page": [*search, "--max-re", "0.06", *brief, "--report", "page.html", "--certificate", "c.json", "--pareto", "front"],
        "fit path": [*fit, "path.json"],
        "fit ring": [*fit, "ring.json"],
        "decompose tt-svd": [*decompose, "tt-svd"],
        "decompose hosvd": [*decompose, "hosvd"],
        "decompose tr-svd": [*decompose, "tr-svd"],
        "decompose tree-svd": [*decompose, "tree-svd", "--template", "star"],
        "decompose tr-als": ["decompose", "x.npy", "--method", "tr-als", "--ranks", ranks, "--max-sweeps", "3", "--quiet", "-o", "net.safetensors"],
        "complete": ["complete", "x.npy", "--missing", "0.5", "--template", "ring", "--max-rank", "2", "--max-sweeps", "3", "--quiet", "-o", "full.npy"],
        "certify ring": ["certify", "x.npy", "--template", "ring", "--max-re", "0.06", "--quiet"],
        "certify any-tree": ["certify", "x.npy", "--template", "any-tree", "--max-re", "0.06", "--quiet"],
        "bound": ["bound", "x.npy", "--structure", "ring.json", "--quiet"],
        "info": ["info", "x.npy", *QUIET],
        "info picture": ["info", "x.png", *QUIET],
        "compress": ["compress", "x.npy", "--re", "0.06", "--max-seconds", "10", "-o", "packed.safetensors", *QUIET],
        "compress path": ["compress", "x.npy", "--re", "0.06", "--template", "path", "--max-seconds", "10", "-o", "packed.safetensors", *QUIET],
        "compress picture": ["compress", "x.png", "--psnr", "25", "--max-seconds", "10", "-o", "packed.safetensors", *QUIET],
        "compress page": ["compress", "x.png", "--psnr", "25", "--max-seconds", "10", "-o", "packed.safetensors", "--page", "p.html", *QUIET],
        "search picture": ["search", "x.png", "--max-re", "0.1", *brief, "-o", "other.safetensors", *QUIET],
        "decompress": ["decompress", "packed0.safetensors", "-o", "y.npy", *QUIET],
        "reconstruct": ["reconstruct", "small.safetensors", "-o", "y.npy", *QUIET],
        "round": ["round", "small.safetensors", "--max-re", "0.1", "-o", "round.safetensors", *QUIET],
        "verify": ["verify", "x.npy", "small.safetensors", *QUIET],
        "compress-model": ["compress-model", "model.safetensors", "--keep-re", "0.2", "-o", "m.safetensors", *QUIET],
        "decompress-model": ["decompress-model", "m0.safetensors", "-o", "d.safetensors", *QUIET],
    }


def png(side):
    """A picture of smooth waves, side x side x 3."""
    rows, columns = np.mgrid[0:side, 0:side] / side
    waves = [np.sin(7 * rows + 3 * columns), np.cos(5 * rows * columns), rows]
    pixels = np.stack([(127 * (1 + w)).astype(np.uint8) for w in waves], -1).reshape(side, -1)
    raw = np.concatenate([np.zeros((side, 1), np.uint8), pixels], 1).tobytes()
    return picture(struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0), zlib.compress(raw, 1))


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def picture(header, pixels, beside=b""):
    """A PNG file, with chunks beside its pixels."""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + beside + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def model(path, total):
    """A model of four layers, of so many bytes in all."""
    side = int((total / 4 / 4) ** 0.5)
    rng = np.random.default_rng(3)
    layers = [(rng.standard_normal((side, 8)) @ rng.standard_normal((8, side))).astype("<f4") for _ in range(4)]
    each = side * side * 4
    header = {f"w{k}": {"dtype": "F32", "shape": [side, side], "data_offsets": [k * each, (k + 1) * each]} for k in range(4)}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for layer in layers:
            file.write(layer.tobytes())


def prepare(program, folder, x):
    """The files that the commands read."""
    np.save(folder / "x.npy", x)
    shape = x.shape
    (folder / "path.json").write_text(json.dumps(structure(shape, 5)))
    (folder / "ring.json").write_text(json.dumps(structure(shape, 4, ring=True)))
    # Its samples as 64-bit numbers are as large as the tensor.
    (folder / "x.png").write_bytes(png(int((x.nbytes / 24) ** 0.5)))
    model(folder / "model.safetensors", x.nbytes)

    def run(*words):
        done = subprocess.run([program, *words, "--quiet"], cwd=folder, timeout=HANG)
        # Done, or the nearest where the time was up.
        assert done.returncode in (0, 1), words

    run("fit", "x.npy", "--structure", "path.json", "--max-sweeps", "1", "-o", "small.safetensors")
    run("compress", "x.npy", "--re", "0.1", "--template", "path", "--max-seconds", "60", "-o", "packed0.safetensors")
    run("compress-model", "model.safetensors", "--keep-re", "0.2", "-o", "m0.safetensors")


def measure(program, folder, name, kind, megabytes, limits, only, show):
    """All commands on one tensor; what each run held, and its limit."""
    entries = megabytes * 1e6 / np.dtype(kind).itemsize
    x = data(scaled(SHAPES[name], entries), kind)
    size = x.nbytes
    prepare(program, folder, x)
    del x
    runs, own = [], empty(program)
    for what, words in commands(name).items():
        if only and not any(word in what for word in only):
            continue
        for limit in limits:
            allowed = int(limit * size)
            code, held, said = peak(program, [*words, "--max-memory", f"{allowed}"], folder)
            taken = held - own
            over = taken > allowed + ALLOWANCE
            said = said.splitlines()[-1][:110] if said and code else ""
            show(f"{name:8} {kind:4} {what:20} limit {allowed / 1e6:6.0f} MB  held {taken / 1e6:6.0f} MB  "
                 f"exit {code}  {'BEYOND' if over else ''} {said}")
            runs.append((what, f"{name}:{kind}", allowed, taken, code))
    return runs


def table(runs):
    """By command: how many runs did their work, and the most beyond a limit."""
    lines = ["| command | runs | done | most beyond the limit, MB |", "| --- | ---: | ---: | ---: |"]
    for what in dict.fromkeys(run[0] for run in runs):
        own = [run for run in runs if run[0] == what]
        done = sum(run[4] in (0, 1) for run in own)
        most = max(run[3] - run[2] for run in own) / 1e6
        lines.append(f"| {what} | {len(own)} | {done} | {max(most, 0):.0f} |")
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--megabytes", type=float, default=20)
    options.add_argument("--limits", default="1.6,2.5,5,10")
    options.add_argument("--shapes", default="4:f8,6:f8,3:f4")
    options.add_argument("--only", default="")
    asked = options.parse_args()
    limits = [float(x) for x in asked.limits.split(",")]
    only = [word for word in asked.only.split(",") if word]
    program = str(pathlib.Path(os.environ["TNSEARCH"]).resolve())
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in asked.shapes.split(","):
            name, kind = entry.split(":")
            show = lambda line: print(line, flush=True)
            runs += measure(program, pathlib.Path(folder), name, kind, asked.megabytes, limits, only, show)
    print(table(runs))
    beyond = sum(taken > allowed + ALLOWANCE for _, _, allowed, taken, _ in runs)
    most = max((taken - allowed, what) for what, _, allowed, taken, _ in runs)
    print(f"{beyond} of {len(runs)} runs beyond their limit and {ALLOWANCE / 1e6:.0f} MB; "
          f"the most beyond a limit: {max(most[0], 0) / 1e6:.0f} MB ({most[1]})")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
