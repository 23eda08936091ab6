"""Random work for as long as one likes, every result checked by `tnsearch verify`, memory and threads watched.

`cargo xtask soak --minutes 60` runs it; `test_soak.py` runs a few rounds. Searches run in this process, where what is not given
back adds up, and as commands, whose summaries and certificates are checked as well.

    TNSEARCH=target/debug/tnsearch python tests/package/soak.py --minutes 10 [--seed 0]
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tnsearch

FAMILIES = ["path", "ring", "star", "tree", "complete", "tucker", "ht", "any-tree", "any", None]
STRATEGIES = ["auto", "auto", "exact", "tnls", "tnale", "tnga-plus", "tnga-star", "greedy", "annealing", "random", "walk"]
#: A round takes a second or so; what has not ended by then hangs.
HANG = 600
#: glibc keeps what was freed, for each thread up to twice the largest block it saw (64 MB at most); told to keep less, it leaves
#: to be seen what we hold.
KEEP = ("MALLOC_TRIM_THRESHOLD_", "131072")
#: What memory may grow by, in MB: a tensor of the soak takes 64 kB.
GROWTH = 16


class Wrong(AssertionError):
    """A result that does not hold, or a command that ends as it must not."""


def tensor(rng: np.random.Generator, most: int) -> np.ndarray:
    """Noise, a hidden train with or without noise, a smooth field, counts; real or complex; f64 or f32; of any scale."""
    while True:
        dims = rng.integers(1 if rng.random() < 0.1 else 2, 9, rng.integers(2, 8))
        if 8 <= math.prod(dims) <= most:
            break
    kind = rng.integers(0, 5)
    if kind == 0:
        x = rng.standard_normal(dims)
    elif kind == 1:
        x = rng.integers(0, 6, dims).astype(float)
    elif kind == 2:
        x = np.sin(sum(np.ix_(*[np.linspace(0, rng.uniform(1, 6), d) for d in dims]))) + 1.5
    else:
        x = np.ones((1, 1))
        for d in dims:
            x = np.tensordot(x, rng.standard_normal((x.shape[-1], d, rng.integers(1, 4))), 1)
        x = x[0].sum(axis=-1)
        x = x + (kind == 4) * 0.05 * np.std(x) * rng.standard_normal(dims)
    if rng.random() < 0.15:
        x = x * np.exp(1j * rng.standard_normal(dims))
    x = x * 2.0 ** (0 if rng.random() < 0.8 else rng.integers(-900, 900))
    if rng.random() < 0.15 and 1e-20 < np.abs(x).max() < 1e20:
        x = x.astype(np.complex64 if np.iscomplexobj(x) else np.float32)
    return np.asarray(x)


def options(rng: np.random.Generator, x: np.ndarray, clock: bool = True) -> dict[str, Any]:
    """What is asked of a search: an objective, a space, a strategy, limits; in seconds as well, or not."""
    asked: dict[str, Any] = {"seed": int(rng.integers(0, 1000)), "strategy": str(rng.choice(STRATEGIES))}
    template = FAMILIES[rng.integers(0, len(FAMILIES))]
    if template is not None and (template not in ("any-tree", "any") or asked["strategy"] == "auto"):
        asked["template"] = template
    asked["threads"] = int(rng.integers(1, 3))
    which = rng.integers(0, 6)
    if which == 0:
        # What rank 1 takes, in any template, and more.
        asked["max_params"] = sum(x.shape) + 2 * x.ndim + int(rng.integers(0, x.size))
    elif which == 1:
        asked["lambda_"] = float(10 ** rng.uniform(0, 3))
    elif which == 2 and asked["strategy"] not in ("walk", "exact") and x.dtype == np.float64 and 1e-20 < np.abs(x).max() < 1e20:
        asked |= {"loss": str(rng.choice(["huber:0.5", "huber"])), "max_loss": 0.05}
        # Cuts bound the squared error alone.
        if asked.get("template") in ("any-tree", "any"):
            del asked["template"]
    else:
        asked["max_re"] = float(10 ** rng.uniform(-4, -0.3))
    if rng.random() < 0.5:
        asked["max_rank"] = int(rng.integers(1, 8))
    # Whole searches, and all the ways of ending them early.
    if asked["strategy"] not in ("auto", "exact") or rng.random() < 0.5:
        asked["max_evaluations"] = int(rng.integers(1, 80))
    asked["max_seconds"] = float(rng.choice([0.05, 0.5, 3.0]))
    if not clock:
        asked |= {"max_seconds": None, "max_evaluations": int(rng.integers(20, 40))}
    return {name: value for name, value in asked.items() if value is not None}


class Soak:
    def __init__(self, folder: Path, program: str, seed: int, most: int = 4096, clock: bool = True) -> None:
        self.folder, self.program, self.seed, self.most, self.clock = folder, program, seed, most, clock
        self.counts: collections.Counter[str] = collections.Counter()

    def round(self, number: int) -> None:
        """One piece of work, and its check."""
        rng = np.random.default_rng([self.seed, number])
        x = tensor(rng, self.most)
        np.save(self.folder / "X.npy", x)
        work = [self.in_process, self.in_process, self.command, self.command, self.decompose, self.holes]
        for old in ("net.safetensors", "out.json", "c.json", "M.npy"):
            (self.folder / old).unlink(missing_ok=True)
        chosen = work[rng.integers(0, len(work))]
        try:
            chosen(rng, x)
        except Wrong as wrong:
            raise Wrong(f"round {number} of seed {self.seed} ({chosen.__name__}, {x.dtype} {x.shape}): {wrong}") from None
        self.counts[chosen.__name__] += 1

    def in_process(self, rng: np.random.Generator, x: np.ndarray) -> None:
        asked = options(rng, x, self.clock)
        if rng.random() < 0.2:
            # Ended from within, by the caller.
            left = int(rng.integers(1, 6))

            def enough(event: dict[str, Any]) -> bool:
                nonlocal left
                left -= 1
                return left > 0

            asked["callback"] = enough
        found = tnsearch.search(x, progress=False, **asked)
        if found.network is None:
            self.counts["nothing found"] += 1
            return
        found.network.save(self.folder / "net.safetensors")
        self.verify(asked)

    def command(self, rng: np.random.Generator, x: np.ndarray) -> None:
        asked = options(rng, x, self.clock)
        line: list[Any] = ["search", "X.npy", "-o", "net.safetensors", "--json", "out.json"]
        certificate = rng.random() < 0.3 and "max_re" in asked and asked["strategy"] in ("auto", "exact")
        if certificate:
            line += ["--certificate", "c.json"]
        for name, value in asked.items():
            line += ["--" + name.strip("_").replace("_", "-"), value]
        if self.run(line, (0, 1)) is not None and (self.folder / "net.safetensors").exists():
            certificate = certificate and (self.folder / "c.json").exists()
            self.counts["certificates"] += certificate
            self.verify(asked, "out.json", *(["--certificate", "c.json"] if certificate else []))

    def decompose(self, rng: np.random.Generator, x: np.ndarray) -> None:
        method = str(rng.choice(["tt-svd", "tr-svd", "hosvd", "ht-svd", "tree-svd", "tr-als"]))
        line = ["decompose", "X.npy", "--method", method, "--max-re", 10 ** rng.uniform(-3, -0.3)]
        line += ["--max-seconds", 3] if self.clock else []
        if self.run([*line, "-o", "net.safetensors", "--json", "out.json"], (0, 1, 2)) in (0, 1):
            self.verify({}, "out.json")

    def holes(self, rng: np.random.Generator, x: np.ndarray) -> None:
        np.save(self.folder / "M.npy", rng.random(x.shape) < rng.uniform(0.05, 0.5))
        line = ["search", "X.npy", "--mask", "M.npy", "--max-re", 10 ** rng.uniform(-2, -0.5), "--max-evaluations", 10]
        line += ["--max-seconds", 2] if self.clock else []
        line += ["-o", "net.safetensors", "--json", "out.json"]
        if self.run(line, (0, 1, 2)) in (0, 1) and (self.folder / "net.safetensors").exists():
            self.verify({}, "out.json", "--mask", "M.npy")

    def verify(self, asked: dict[str, Any], *more: Any) -> None:
        """No claim that the files make is wrong; some cannot be checked (3), and are counted."""
        line = ["verify", "X.npy", "net.safetensors", *more]
        if "loss" in asked:
            line += ["--loss", asked["loss"]]
        self.counts["not all checked"] += self.run(line, (0, 3)) == 3
        self.counts["verified"] += 1

    def run(self, line: list[Any], codes: tuple[int, ...]) -> int:
        words = [self.program, *map(str, line)]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=HANG)
        if done.returncode not in codes:
            said = (done.stdout + done.stderr).strip()
            raise Wrong(f"`{' '.join(words[1:])}` ended with {done.returncode}: {said}")
        return done.returncode


def used() -> tuple[float, int, int]:
    """Memory in MB, threads and open files of this process."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["Threads"]), len(os.listdir("/proc/self/fd"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    program = os.path.abspath(os.environ.get("TNSEARCH") or "")
    if not os.path.isfile(program):
        parser.error("set TNSEARCH to the tnsearch program, or use `cargo xtask soak`")
    if KEEP[0] not in os.environ:
        # Read when a process begins.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | dict([KEEP]))
    watched, begun, said, number = [], time.monotonic(), 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), program, asked.seed)
        while (now := time.monotonic() - begun) < 60 * asked.minutes:
            try:
                soak.round(number)
            except Wrong as wrong:
                print(f"WRONG {wrong}", file=sys.stderr)
                return 1
            number += 1
            watched.append(used())
            if now - said > 30:
                said = now
                print(f"{now / 60:5.1f} min, {number} rounds, {watched[-1][0]:.0f} MB, {watched[-1][1]} threads", flush=True)
    tenth = max(1, len(watched) // 10)
    # After the first tenth everything was seen once.
    first, last = watched[tenth : 2 * tenth] or watched, watched[-tenth:]
    figures = {
        "rounds": number,
        **soak.counts,
        "memory_mb": [float(np.median([w[0] for w in part])) for part in (first, last)],
        "threads": [max(w[1] for w in part) for part in (first, last)],
        "files": [max(w[2] for w in part) for part in (first, last)],
    }
    text = json.dumps(figures, indent=1)
    print(text)
    if asked.json:
        asked.json.write_text(text)
    flat = figures["memory_mb"][1] < figures["memory_mb"][0] + GROWTH
    flat = flat and figures["threads"][1] <= figures["threads"][0] + 1 and figures["files"][1] <= figures["files"][0] + 2
    print("all results hold; memory, threads and files are flat" if flat else "all results hold, but something GROWS")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
