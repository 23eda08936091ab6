"""Whether another method in the box has fewer params than the default search, on tensors drawn at random.

    nice python tests/python/never_larger.py target/release/tnsearch --draws 90

For each draw: `compare` with one number of evaluations for every search, then the default by itself for its lines of formats.
Draws on which it is beaten, or has a line that is worse than that of a format it contains, are printed.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from draws import draw

#: The formats whose answers are answers of another.
CONTAINED = {"ring": ["path"], "any-tree": ["path", "tree", "star", "ht", "tucker"]}


def asked(program, command, tensor, re, evaluations):
    """The JSON of a command about a tensor."""
    line = [program, command, tensor, "--max-re", repr(re), "--max-evaluations", str(evaluations)]
    done = subprocess.run([*line, "--threads", "1", "--quiet", "--json", "-"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def smaller(rows):
    """The methods that are better than the default, the best first."""
    default = next(row for row in rows if row["method"] == "default")
    most = default["params"] if default["target_reached"] else float("inf")
    found = [(row["params"], row["method"]) for row in rows if row["target_reached"] and row["params"] < most]
    return default, sorted(found)


def out_of_order(lines):
    """Pairs of formats of which the first contains the second, and is worse."""
    best = {line["format"]: line["params"] if line["target_reached"] else float("inf") for line in lines}
    pairs = [(large, small) for large, contained in CONTAINED.items() for small in contained]
    return [(large, small) for large, small in pairs if large in best and best[large] > best.get(small, float("inf"))]


def looked_at(program, folder, n, evaluations):
    """What is wrong with the default on a draw."""
    kind, x, re = draw(n)
    tensor = str(pathlib.Path(folder) / "x.npy")
    np.save(tensor, x)
    default, better = smaller(asked(program, "compare", tensor, re, evaluations)["rows"])
    lines = out_of_order(asked(program, "search", tensor, re, evaluations)["formats"])
    said = f"draw {n}, {kind} {x.shape} at RE {re}: default {default['params']} params"
    said += "" if default["target_reached"] else " (missed)"
    return said, better, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--draws", type=int, default=90)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--max-evaluations", type=int, default=40)
    given = parser.parse_args()
    beaten = disordered = 0
    with tempfile.TemporaryDirectory() as folder:
        for n in range(given.first, given.first + given.draws):
            said, better, lines = looked_at(given.program, folder, n, given.max_evaluations)
            beaten, disordered = beaten + bool(better), disordered + bool(lines)
            if better or lines:
                print(said, better[:3], lines, flush=True)
    print(f"{beaten} of {given.draws} beaten; {disordered} with formats out of order")


if __name__ == "__main__":
    main()
