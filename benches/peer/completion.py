"""Predictions of missing entries: tensorly's masked PARAFAC and Tucker, and `tnsearch complete`, on the same data.

    python completion.py DATA/tensors --program tnsearch [--only kinetic il2] [--seconds 60]

A tenth of the observed entries is held out by NumPy's seed 0 and shown to nobody; the RE is that on these entries.
Of PARAFAC every rank from 1 to 10 is printed, of Tucker every equal rank (cut to the sides): the best of each is what
somebody who knew the answer would choose. tnsearch chooses by entries that it holds out of what it is shown.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import tensorly as tl
from tensorly.decomposition import parafac, tucker


def removed(known, share, rng):
    """A share of the known entries, by the generator."""
    places = np.flatnonzero(known)
    out = np.zeros(known.shape, bool)
    out.flat[rng.permutation(places)[: round(share * len(places))]] = True
    return out


def cases(folder):
    """(name, tensor, observed, held out) of each experiment."""
    rng = np.random.default_rng(0)
    x = np.load(folder / "kinetic.npy")
    known = ~np.load(folder / "kinetic_missing.npy")
    test = removed(known, 0.1, rng)
    yield "kinetic", x, known & ~test, test
    known &= ~removed(known, 0.5, rng)
    test = removed(known, 0.1, rng)
    yield "kinetic-50", x, known & ~test, test
    x = np.load(folder / "il2.npy")
    known = ~np.isnan(x)
    test = removed(known, 0.1, rng)
    yield "il2", np.nan_to_num(x), known & ~test, test


def error(x, z, where):
    return np.linalg.norm((x - z)[where]) / np.linalg.norm(x[where])


def peers(x, observed, test, iterations):
    shown = np.where(observed, x, 0.0)
    for rank in range(1, 11):
        begun = time.perf_counter()
        cp = parafac(shown, rank, n_iter_max=iterations, init="random", random_state=0, mask=observed)
        yield "parafac", rank, error(x, tl.cp_to_tensor(cp), test), time.perf_counter() - begun
    for rank in range(1, 11):
        begun = time.perf_counter()
        ranks = [min(rank, side) for side in x.shape]
        found = tucker(shown, ranks, n_iter_max=iterations, init="random", random_state=0, mask=observed)
        yield "tucker", rank, error(x, tl.tucker_to_tensor(found), test), time.perf_counter() - begun


def ours(program, x, observed, test, options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # What nobody is shown is not even in the file.
        np.save(folder / "X.npy", np.where(observed, x, np.nan))
        line = [program, "complete", folder / "X.npy", "--nan-missing", "-o", folder / "full.npy", "--json", "-"]
        begun = time.perf_counter()
        done = subprocess.run([*map(str, line), *options], capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - begun
        return json.loads(done.stdout), error(x, np.load(folder / "full.npy"), test), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--program", default="tnsearch")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seconds", default="60")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("options", nargs="*", help="for tnsearch, after --")
    args = parser.parse_args()
    for name, x, observed, test in cases(args.data):
        if args.only and name not in args.only:
            continue
        print(f"{name}: {observed.sum()} observed, {test.sum()} held out", flush=True)
        options = ["--max-seconds", args.seconds, *args.options]
        report, re, seconds = ours(args.program, x, observed, test, options)
        held = report["held_out"]
        edges = " ".join(f"{u}-{v}:{r}" for u, v, r in report["edges"])
        print(f"  tnsearch {re:.5f} (expected {held['rse'] ** 0.5:.5f}) {seconds:.0f} s, {report['params']} params, "
              f"{report['template']} {edges}", flush=True)  # fmt: skip
        if args.no_peers:
            continue
        for method, rank, re, seconds in peers(x, observed, test, args.iterations):
            print(f"  {method} {rank} {re:.5f} {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
