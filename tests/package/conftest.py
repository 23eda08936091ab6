"""What the tests of the installed package share."""

import json
import os
import subprocess

import daily
import numpy as np
import pytest

import tnsearch

# Nothing here is about the speed of a machine: a command that has not ended by then hangs.
HANG = 600
# Dask's schedulers share the cores with all else: it is they that answer or hang, not the machine. The commands that tests start see it as well.
for limit in ("CONNECT", "TCP"):
    os.environ[f"DASK_DISTRIBUTED__COMM__TIMEOUTS__{limit}"] = f"{HANG}s"


def pytest_report_header():
    return daily.said()


@pytest.fixture(scope="session")
def command():
    """Runs the program named by TNSEARCH (`cargo xtask test` sets it), which must succeed; returns its output."""
    program = os.environ.get("TNSEARCH")
    if not program:
        pytest.exit("set TNSEARCH to the tnsearch program, or use `cargo xtask test`", 2)

    def run(*arguments, code=0):
        line = [program, *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=HANG)
        assert code is None or done.returncode == code, f"{line} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def generate(command, tmp_path):
    """Makes a tensor with `tnsearch generate`; returns its file and the structure that is hidden in it."""

    def run(*options):
        path = tmp_path / "X.npy"
        report = json.loads(command("generate", "-o", path, "--json", "-", *options))
        return path, report

    return run


@pytest.fixture(scope="session")
def torch():
    """PyTorch, where it is there."""
    return large("torch")


def large(name):
    """A package that is not installed for every test: without it a test is skipped, with a line."""
    return pytest.importorskip(name, reason=f"{name} is not installed; cargo xtask test large installs it")


def random_network(structure, dims, dtype=float, seed=0):
    """A network of random cores."""
    rng = np.random.default_rng(seed)
    structure = tnsearch.Structure(structure)
    cores = []
    for vertex in range(len(structure.modes)):
        shape = structure.core_shape(vertex, dims)
        core = rng.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            core = core + 1j * rng.standard_normal(shape)
        cores.append(core.astype(dtype))
    return tnsearch.Network(structure, cores, rse=0.5)


def dense(network):
    """The tensor of a network's modes, from the description of its cores in docs/formats.md, by np.einsum alone."""
    structure = network.structure
    order = structure.order
    operands = []
    for vertex, core in enumerate(network.cores):
        edges = [order + e for e, (u, v, _) in enumerate(structure.edges) if vertex in (u, v)]
        modes = [n for n in range(order) if structure.permutation[n] == vertex]
        operands += [core, edges + modes]
    return np.einsum(*operands, list(range(order)), optimize="greedy")


def graph(modes, edges):
    """A template of one's own: whether each vertex carries modes, and the edges."""
    return {"vertices": [{"mode": mode} for mode in modes], "edges": edges}


# Structures of every kind that networks may have, with dimensions for them.
STRUCTURES = {
    "ring": (
        {"template": "ring", "permutation": [2, 0, 3, 1], "edges": [[0, 1, 2], [0, 3, 3], [1, 2, 4], [2, 3, 2]]},
        [3, 4, 2, 5],
    ),
    "ring with an edge of rank 1": (
        {"template": "ring", "permutation": [0, 2, 1], "edges": [[0, 1, 2], [0, 2, 1], [1, 2, 3]]},
        [3, 4, 2],
    ),
    "path": (
        {"template": "path", "permutation": [1, 3, 0, 2], "edges": [[0, 1, 2], [1, 2, 3], [2, 3, 2]]},
        [3, 4, 2, 5],
    ),
    "tucker": (
        {"template": "tucker", "permutation": [2, 0, 1], "edges": [[0, 3, 2], [1, 3, 3], [2, 3, 2]]},
        [4, 3, 5],
    ),
    "tree": (
        {"template": "tree", "permutation": [0, 3, 1, 2, 4], "edges": [[0, 1, 2], [0, 2, 3], [1, 3, 2], [1, 4, 2]]},
        [2, 3, 4, 2, 3],
    ),
    "ht": (
        {"template": "ht", "permutation": [1, 0, 3, 2], "edges": []},
        [3, 2, 4, 3],
    ),
    "complete": (
        {"template": "complete", "permutation": [1, 0, 3, 2], "edges": [[0, 1, 2], [0, 2, 1], [1, 3, 3], [2, 3, 2]]},
        [3, 2, 4, 3],
    ),
    "several modes on a vertex": (
        {
            "template": graph([True, True, True], [[0, 1], [0, 2], [1, 2]]),
            "permutation": [2, 0, 2, 1, 0],
            "edges": [[0, 1, 3], [0, 2, 2], [1, 2, 2]],
        },
        [2, 3, 4, 5, 2],
    ),
    "internal vertices": (
        {
            "template": graph([True, False, True, False, True], [[0, 1], [1, 2], [1, 3], [3, 4]]),
            "permutation": [4, 0, 2],
            "edges": [[0, 1, 2], [1, 2, 3], [1, 3, 2], [3, 4, 4]],
        },
        [4, 3, 5],
    ),
    "one vertex": ({"template": graph([True], []), "permutation": [0, 0, 0], "edges": []}, [2, 3, 4]),
}


@pytest.fixture(params=sorted(STRUCTURES))
def network(request):
    """A random network of each kind."""
    return random_network(*STRUCTURES[request.param])
