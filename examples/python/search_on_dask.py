"""Searches on a Dask cluster: the workers fit structures, the answer is that of this machine alone, bit for bit.

    python search_on_dask.py [--workers 2] [--scheduler tcp://HOST:8786]

Without a scheduler a cluster of processes is started on this machine.
"""

import argparse

import numpy as np
from dask.distributed import Client, LocalCluster

import tnsearch


def hidden_ring(seed: int) -> np.ndarray:
    """A tensor of order 6 with a ring of ranks 2 in it, its modes shuffled, and a little noise."""
    rng = np.random.default_rng(seed)
    a, b, c, d, e, f = (rng.standard_normal((2, 3, 2)) for _ in range(6))
    X = np.einsum("iaj,jbk,kcl,ldm,men,nfi->dafbec", a, b, c, d, e, f)
    return X + 1e-3 * rng.standard_normal(X.shape)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scheduler")
    parser.add_argument("--samples", type=int, default=60)
    asked = parser.parse_args()

    X = hidden_ring(seed=1)
    options = {"template": "ring", "max_rank": 4, "lambda_": 200, "strategy": "tnls", "seed": 3}
    options |= {"samples": asked.samples, "iterations": 5}
    if asked.scheduler:
        client = Client(asked.scheduler)
    else:
        cluster = LocalCluster(n_workers=asked.workers, threads_per_worker=1, processes=True, dashboard_address=None)
        client = Client(cluster)
    with client:
        found = tnsearch.search(X, parallel=client, **options)
        print(f"on Dask: {found}")
    alone = tnsearch.search(X, **options)
    print(f"alone:   {alone}")
    assert found.structure == alone.structure and found.rse == alone.rse
    assert found.evaluations == alone.evaluations
    print(f"the same, after {found.evaluations} evaluations on {asked.workers} workers")


if __name__ == "__main__":
    main()
