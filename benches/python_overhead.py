"""What `tnsearch.search` takes beside the command line, and what reading a large array takes (docs/benchmarks.md).

    python benches/python_overhead.py target/release/tnsearch

Both sides make the same searches in turn, with the same answers; the ratio is that of the medians of one run. Build the
package as the command is built: `pip install .` for a release.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tnsearch

SEARCHES = {
    "tnls, 240 samples of a ring of order 6": dict(
        template="ring", strategy="tnls", lambda_=200.0, samples=60, iterations=4, prune=False, direct=False, seed=1
    ),
    "auto, a certified ring of order 6": dict(template="ring", max_re=1e-6, seed=1),
}
ROUNDS = 7


def line(options: dict[str, object]) -> list[str]:
    """The options as the command line has them."""
    words: list[str] = []
    for name, value in options.items():
        name = name.rstrip("_").replace("_", "-")
        words += [f"--no-{name}"] if value is False else [f"--{name}", str(value)]
    return words


def hidden() -> np.ndarray:
    rng = np.random.default_rng(0)
    cores = [rng.standard_normal((3, 5, 3)) for _ in range(6)]
    return np.einsum("aib,bjc,ckd,dle,emf,fna->ijklmn", *cores, optimize=True).transpose(rng.permutation(6))


def main() -> None:
    command = sys.argv[1]
    x = np.ascontiguousarray(hidden())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, x)
        for name, options in SEARCHES.items():
            whole, inside, ours = [], [], []
            for _ in range(ROUNDS):
                begun = time.perf_counter()
                done = subprocess.run([command, "search", path, *line(options), "--json", "-"], capture_output=True, check=True)
                whole.append(time.perf_counter() - begun)
                theirs = json.loads(done.stdout)
                inside.append(theirs["seconds"])
                begun = time.perf_counter()
                found = tnsearch.search(x, **options)
                ours.append(time.perf_counter() - begun)
                assert (found.params, found.rse, found.evaluations) == (
                    theirs["params"], theirs["rse"], theirs["evaluations"]
                )
            a, b, c = map(statistics.median, (whole, inside, ours))
            print(f"{name}: command {a:.3f} s ({b:.3f} s of it searching), Python {c:.3f} s, ratio {c / a:.3f}")
    y = np.full((512, 512, 512), 2.0)
    tnsearch._core.fingerprint(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tnsearch._core.fingerprint(y)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"an array of {y.nbytes / 1e6:.0f} MB: {(after - before) / 1e3:.1f} MB more at the peak")


if __name__ == "__main__":
    main()
