"""How much memory commands take under `--max-memory`: the most that a run held at a time, beside what the program takes
for itself, against the limit it was given.

    TNSEARCH=target/debug/tnsearch python tests/python/memory.py [--megabytes 50] [--only WORD] [--limits 1.1,2,4]

measures a table of commands, shapes and limits and names every run beyond its limit. `test_memory.py` is the small
version of it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from limits import HANG

# What no limit counts: pages of the program and of libraries that a run touches beyond those of `--version`, stacks of threads,
# tables that do not grow with the tensor, what the allocator keeps for itself, and what kernels touch of their buffers
# for small tensors (21 MB in all was seen, for 40^4).
ALLOWANCE = 32e6
# A thread that multiplies or factors large matrices packs them into a buffer of the kernels' own, of up to 64 MiB; how much of it is
# touched depends on the matrices and on the caches.
KERNELS = 2**26

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
    "picture": (512, 768, 3),
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


def commands(name):
    """Words, by what is measured."""
    search = ["search", "x.npy", "--quiet", "-o", "net.safetensors"]
    brief = ["--max-evaluations", "6", "--max-seconds", "15"]
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
        "fit path": ["fit", "x.npy", "--structure", "path.json", "--quiet", "-o", "net.safetensors", "--max-sweeps", "3"],
        "fit ring": ["fit", "x.npy", "--structure", "ring.json", "--quiet", "-o", "net.safetensors", "--max-sweeps", "3"],
        "decompose tt-svd": ["decompose", "x.npy", "--method", "tt-svd", "--max-re", "0.06", "--quiet", "-o", "net.safetensors"],
        "decompose hosvd": ["decompose", "x.npy", "--method", "hosvd", "--max-re", "0.06", "--quiet", "-o", "net.safetensors"],
        "decompose tr-svd": ["decompose", "x.npy", "--method", "tr-svd", "--max-re", "0.06", "--quiet", "-o", "net.safetensors"],
        "decompose tree-svd": ["decompose", "x.npy", "--method", "tree-svd", "--template", "star", "--max-re", "0.06", "--quiet", "-o", "net.safetensors"],
        "decompose tr-als": ["decompose", "x.npy", "--method", "tr-als", "--ranks", ",".join("3" for _ in SHAPES[name]), "--max-sweeps", "3", "--quiet", "-o", "net.safetensors"],
        "complete": ["complete", "x.npy", "--missing", "0.5", "--template", "ring", "--max-rank", "2", "--max-sweeps", "3", "--quiet", "-o", "full.npy"],
        "certify ring": ["certify", "x.npy", "--template", "ring", "--max-re", "0.06", "--quiet"],
        "certify any-tree": ["certify", "x.npy", "--template", "any-tree", "--max-re", "0.06", "--quiet"],
        "bound": ["bound", "x.npy", "--structure", "ring.json", "--quiet"],
        "verify": ["verify", "x.npy", "net.safetensors", "--quiet"],
    }


def measure(program, folder, name, kind, megabytes, limits, only, show):
    """All commands on one tensor; the runs beyond their limits."""
    entries = megabytes * 1e6 / np.dtype(kind).itemsize
    shape = SHAPES[name] if name == "picture" else scaled(SHAPES[name], entries)
    x = data(shape, kind)
    size = x.nbytes
    np.save(folder / "x.npy", x)
    del x
    (folder / "path.json").write_text(json.dumps(structure(shape, 5)))
    (folder / "ring.json").write_text(json.dumps(structure(shape, 4, ring=True)))
    beyond = []
    own = empty(program)
    for what, words in commands(name).items():
        if only and not any(word in what for word in only):
            continue
        for limit in limits:
            allowed = int(limit * size)
            words_now = [*words, "--max-memory", f"{allowed}"]
            code, held, said = peak(program, words_now, folder)
            taken = held - own
            over = taken > allowed + ALLOWANCE + KERNELS
            packed = "(kernels)" if taken > allowed + ALLOWANCE else ""
            said = said.splitlines()[-1][:110] if said and code else ""
            show(f"{name:8} {kind:4} {what:20} limit {allowed / 1e6:6.0f} MB  held {taken / 1e6:6.0f} MB  "
                 f"exit {code}  {'BEYOND' if over else packed} {said}")
            if over:
                beyond.append((name, kind, what, allowed, taken))
    return beyond


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--megabytes", type=float, default=50)
    options.add_argument("--limits", default="1.1,1.6,2.4,4")
    options.add_argument("--shapes", default="3:f8,4:f8,5:f8,6:f8,4:f4,picture:f8")
    options.add_argument("--only", default="")
    asked = options.parse_args()
    limits = [float(x) for x in asked.limits.split(",")]
    only = [word for word in asked.only.split(",") if word]
    program = str(pathlib.Path(os.environ["TNSEARCH"]).resolve())
    beyond = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in asked.shapes.split(","):
            name, kind = entry.split(":")
            show = lambda line: print(line, flush=True)
            beyond += measure(program, pathlib.Path(folder), name, kind, asked.megabytes, limits, only, show)
    print(f"{len(beyond)} runs beyond their limit and {(ALLOWANCE + KERNELS) / 1e6:.0f} MB")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
