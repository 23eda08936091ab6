"""Where nothing is said, Python and the command line search the same, bit for bit (Rust: crates/tnsearch-cli/tests/defaults.rs)."""

import json
import os
import subprocess

import numpy as np
import pytest
import tnsearch


def cases():
    x = [np.arange(n) / 7 for n in (8, 7, 6, 5)]
    smooth = 1 / (1 + sum(np.meshgrid(*x, indexing="ij")))
    i, j, k, l = np.indices((5, 4, 4, 3))
    steps = np.where(i + 2 * j > 3 * k, 1.0, 0.2 * l)
    noise = np.random.default_rng(5).normal(size=(4, 5, 4))
    return {"smooth": smooth, "steps": steps, "noise": noise}


@pytest.mark.parametrize("name", cases())
def test_the_default_search_is_the_same(name, tmp_path):
    x = cases()[name]
    np.save(tmp_path / "x.npy", x)
    command = [os.environ["TNSEARCH"], "search", "x.npy", "--max-re", "0.01", "--json", "-", "--quiet"]
    done = subprocess.run([*command, "-o", "net.safetensors"], cwd=tmp_path, capture_output=True)
    told = json.loads(done.stdout)
    found = tnsearch.search(x, max_re=0.01)
    assert (told["params"], told["rse"]) == (found.params, found.rse)
    assert told["certified_optimal"] == found.certified_optimal
    network = tnsearch.Network.load(tmp_path / "net.safetensors")
    cores = [np.asarray(core) for core in found.network.cores]
    assert [core.tobytes() for core in cores] == [np.asarray(core).tobytes() for core in network.cores]
    # One percent is what is meant where nothing is said.
    again = tnsearch.search(x)
    assert (again.params, again.rse) == (found.params, found.rse)
