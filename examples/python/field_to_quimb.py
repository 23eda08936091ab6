"""Compresses a field and hands the network to quimb, which computes with it without ever making it dense.

    python field_to_quimb.py [--side 16] [--max-re 0.001]

The field is the potential of two charges on a grid of five parameters: the places of both, and the distance from which
they are seen.
"""

import argparse

import numpy as np
import quimb.tensor as qtn

import tnsearch


def field(side: int) -> np.ndarray:
    """The potential at side^5 points."""
    a, b, x, y, z = np.meshgrid(*[np.linspace(0.1, 1.0, side)] * 5, indexing="ij", sparse=True)
    return 1 / np.sqrt((x - a / 3) ** 2 + y**2 + z**2 + 0.1) - 1 / np.sqrt((x + b / 3) ** 2 + y**2 + z**2 + 0.1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--max-re", type=float, default=0.001)
    asked = parser.parse_args()

    X = field(asked.side)
    found = tnsearch.search(X, template="any-tree", max_re=asked.max_re)
    assert found.network is not None
    print(f"{X.size:,} entries as {found.params:,} params, relative error {found.re:.2g}")
    print(f"no tree of any shape has fewer than {found.lower_bound['params']:,} params" if found.lower_bound else "")

    tn = found.network.to_quimb()
    print(f"quimb: {tn.num_tensors} tensors, {tn.num_indices} indices")

    # The mean over all five parameters: each mode is closed with a vector, nothing dense is made.
    for n, side in enumerate(X.shape):
        tn &= qtn.Tensor(np.full(side, 1 / side), inds=[f"k{n}"])
    mean = tn.contract(optimize="auto")
    print(f"mean of the field: {mean:.6f} by the network, {X.mean():.6f} by the array")
    assert abs(mean - X.mean()) <= asked.max_re * np.linalg.norm(X) / np.sqrt(X.size)


if __name__ == "__main__":
    main()
