"""Times one sweep of tensorly's tensor_ring_als: a 4^8 tensor as a ring of ranks 6, one thread.

Prints one JSON line. The time of a sweep is (t(n2 sweeps) - t(n1 sweeps)) / (n2 - n1), so that the
set-up of a call does not count; tol=0 spares tensorly its error computation. `sweep_ms` is its
default solver ("lstsq"), `sweep_normal_eq_ms` its faster and less accurate one.

    python benches/peer/tensorly_ring_als.py [--repeats 5]
"""

import os

for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"):
    os.environ[name + "_NUM_THREADS"] = "1"  # before numpy is imported, or it has no effect

import argparse
import json
import statistics
import time

import numpy as np
import tensorly
from tensorly.decomposition import tensor_ring_als

DIMS, RANKS = [4] * 8, [6] * 9


def seconds(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def sweep_ms(tensor, solver, sweeps, repeats):
    """The median over `repeats` of the time of one sweep."""
    few, many = sweeps

    def run(n, seed):
        tensor_ring_als(tensor, RANKS, ls_solve=solver, n_iter_max=n, tol=0, random_state=seed)

    run(1, 0)  # warm up
    times = [
        (seconds(lambda: run(many, s)) - seconds(lambda: run(few, s))) / (many - few)
        for s in range(repeats)
    ]
    return 1e3 * statistics.median(times)


def gemm_gflops(n, repeats):
    """The rate of an n^3 product in f64: the machine's practical peak, best of the repeats."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    a @ b
    return 2e-9 * n**3 / min(seconds(lambda: a @ b) for _ in range(repeats))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=5, help="measurements; the median counts")
    repeats = parser.parse_args().repeats
    tensor = np.random.default_rng(1).standard_normal(DIMS)
    result = {
        "peer": "tensorly",
        "version": tensorly.__version__,
        "sweep_ms": round(sweep_ms(tensor, "lstsq", (1, 5), repeats), 3),
        "sweep_normal_eq_ms": round(sweep_ms(tensor, "normal_eq", (1, 5), repeats), 3),
        "gemm512_gflops": round(gemm_gflops(512, 4 * repeats), 2),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
