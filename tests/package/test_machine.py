"""A state machine over Python: searches, journals, resumes, files, clusters, rounding, picking and completion in any order.

What holds after every step: the same call gives the same bits, here and in other processes; a network that is loaded is the one
that was saved; a journal goes on with the settings it was begun with and with no others; what is claimed is so, by NumPy and by
`tnsearch verify`. The seed changes every day and is printed; TNSEARCH_SEED repeats one. TNSEARCH_MACHINE=500 runs so many
machines instead of a few.
"""

import json
import os
import pickle
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import daily
import hypothesis
import numpy as np
import pytest
from conftest import HANG
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import tnsearch

MACHINES = int(os.environ.get("TNSEARCH_MACHINE", "4"))
STEPS = 8


def tensor(kind: str, dims: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    grid = np.meshgrid(*[np.linspace(0, 1, d) for d in dims], indexing="ij", sparse=True)
    smooth = np.sin(1 + sum((k + 1) * g for k, g in enumerate(grid)))
    match kind:
        case "smooth":
            return smooth
        case "noisy":
            return smooth + 0.1 * rng.standard_normal(dims)
        case "whole":
            return rng.integers(-2, 3, dims).astype(float) + np.eye(1)[0, 0]
        case "complex":
            return smooth * np.exp(1j * rng.standard_normal(dims[0])).reshape(-1, *[1] * (len(dims) - 1))
        case "single":
            return smooth.astype(np.float32)
    return rng.standard_normal(dims)


TENSORS = st.builds(
    tensor,
    st.sampled_from(["smooth", "noisy", "whole", "complex", "single", "random"]),
    st.sampled_from([(3, 4, 3), (4, 3, 2, 3), (5, 6), (2, 3, 2, 2, 3)]),
    st.integers(0, 5),
)
GOALS = st.sampled_from([{"max_re": 0.3}, {"max_re": 0.05}, {"max_rse": 0.01}, {"max_params": 40}, {"lambda_": 3.0}])
# A path has any order; rings need three modes.
SPACES = st.sampled_from([{"template": "path"}, {"template": "path", "max_rank": 3}, {"template": "any-tree"}, {"template": "star"}, {}])
WAYS = st.sampled_from([{}, {"seed": 3}, {"strategy": "tnls", "samples": 3, "iterations": 2}, {"strategy": "random", "samples": 4}, {"shrink": False}])
#: What decides the answer, and another value of it: a journal must not go on with that.
OTHERS: list[dict[str, Any]] = [{"seed": 11}, {"max_re": 0.123, "max_rse": None, "max_params": None, "lambda_": None}, {"dtype": "f32"}, {"restarts": 7}, {"max_rank": 2}]


@dataclass
class Found:
    """A search, and what it gave."""

    x: np.ndarray
    options: dict[str, Any]
    result: tnsearch.Result
    folder: Path
    journal: Path
    files: list[Path] = field(default_factory=list)


def bits(network: tnsearch.Network) -> tuple[Any, ...]:
    return (str(network.structure.to_dict()), *[(c.shape, c.dtype.str, c.tobytes()) for c in network.cores])


def error(x: np.ndarray, network: tnsearch.Network, known: Any = True) -> float:
    """The squared relative error by NumPy."""
    lost = np.where(known, x - network.to_dense(), 0)
    return float(np.linalg.norm(lost) ** 2 / np.linalg.norm(np.where(known, x, 0)) ** 2)


def near(x: np.ndarray) -> float:
    return 1e-5 if x.dtype == np.float32 else 1e-10


def arguments(options: dict[str, Any]) -> list[str]:
    """As the command line has them."""
    made: list[str] = []
    for name, value in options.items():
        flag = name.strip("_").replace("_", "-")
        made += [f"--no-{flag}"] if value is False else [f"--{flag}", str(value)]
    return made


class Machine(RuleBasedStateMachine):
    searches = Bundle("searches")
    networks = Bundle("networks")

    @initialize()
    def begin(self) -> None:
        self.place = tempfile.TemporaryDirectory(prefix="machine-")
        self.count = 0
        self.clusters = 0

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.place.cleanup()

    def folder(self) -> Path:
        self.count += 1
        made = Path(self.place.name) / str(self.count)
        made.mkdir()
        return made

    def command(self, *line: Any, codes: tuple[int, ...] = (0,), folder: Path) -> int:
        done = subprocess.run([os.environ["TNSEARCH"], *map(str, line)], cwd=folder, capture_output=True, text=True, timeout=HANG)
        assert done.returncode in codes, f"{line}: {done.returncode} {done.stderr}"
        return done.returncode

    def run(self, x: np.ndarray, options: dict[str, Any], **more: Any) -> tnsearch.Result:
        return tnsearch.search(x, progress=False, max_evaluations=6, **options, **more)

    def same(self, one: tnsearch.Result, other: tnsearch.Result) -> None:
        assert (one.params, one.rse, one.target_reached) == (other.params, other.rse, other.target_reached)
        assert (one.network is None) == (other.network is None)
        if one.network is not None and other.network is not None:
            assert bits(one.network) == bits(other.network)

    @rule(target=searches, x=TENSORS, goal=GOALS, space=SPACES, way=WAYS)
    def search(self, x: np.ndarray, goal: dict[str, Any], space: dict[str, Any], way: dict[str, Any]) -> Found:
        if "strategy" in way and space.get("template") in ("any-tree", None):
            way = {}
        folder = self.folder()
        options = goal | space | way
        found = Found(x, options, self.run(x, options, journal=folder / "journal"), folder, folder / "journal")
        np.save(folder / "X.npy", x)
        result = found.result
        if result.network is not None:
            assert abs(error(x, result.network) - result.rse) <= near(x)
            assert result.params == sum(core.size for core in result.network.cores)
            if "max_re" in goal:
                assert result.target_reached == (result.rse <= goal["max_re"] ** 2)
        if result.certified_optimal:
            assert result.network is not None and result.target_reached
        return found

    @rule(found=searches)
    def again(self, found: Found) -> None:
        self.same(found.result, self.run(found.x, found.options))
        self.same(found.result, self.run(found.x, found.options, threads=1))

    @rule(found=searches)
    def resume(self, found: Found) -> None:
        self.same(found.result, self.run(found.x, found.options, journal=found.journal, resume=True))

    @rule(found=searches, change=st.sampled_from(OTHERS))
    def resume_with_a_change(self, found: Found, change: dict[str, Any]) -> None:
        options = {n: v for n, v in (found.options | change).items() if v is not None}
        if options == found.options or (found.x.dtype == np.float32 and "dtype" in change):
            return
        before = found.journal.read_bytes()
        # Some say that first: a complex tensor is no f32.
        with pytest.raises((ValueError, TypeError)) as refused:
            self.run(found.x, options, journal=found.journal, resume=True)
        assert "\n" not in str(refused.value) and "damaged" not in str(refused.value)
        assert found.journal.read_bytes() == before

    @rule(found=searches)
    def not_by_accident(self, found: Found) -> None:
        with pytest.raises(ValueError, match="resume"):
            self.run(found.x, found.options, journal=found.journal)

    @precondition(lambda self: self.clusters < 1)
    @rule(found=searches)
    def elsewhere(self, found: Found) -> None:
        self.clusters += 1
        self.same(found.result, self.run(found.x, found.options, parallel="processes", workers=2))

    @rule(target=networks, found=searches)
    def save_and_load(self, found: Found) -> Any:
        network = found.result.network
        if network is None:
            return hypothesis.stateful.multiple()
        path = found.folder / "net.safetensors"
        network.save(path)
        loaded = tnsearch.Network.load(path)
        assert bits(loaded) == bits(network) and loaded.rse == network.rse
        assert np.array_equal(loaded.to_dense(), network.to_dense())
        assert bits(pickle.loads(pickle.dumps(network))) == bits(network)
        loaded.save(found.folder / "again.safetensors")
        assert (found.folder / "again.safetensors").read_bytes() == path.read_bytes()
        self.command("verify", "X.npy", "net.safetensors", folder=found.folder)
        return loaded

    @rule(found=searches)
    def by_the_command(self, found: Found) -> None:
        """The command finds the same, its claims hold, and points of its front can be picked."""
        line = ["search", "X.npy", *arguments(found.options), "--max-evaluations", 6, "-o", "own.safetensors", "--json", "own.json"]
        self.command(*line, codes=(0, 1), folder=found.folder)
        report = json.loads((found.folder / "own.json").read_text())
        assert (report["params"], report["rse"]) == (found.result.params, found.result.rse)
        if found.result.network is None:
            return
        assert bits(tnsearch.Network.load(found.folder / "own.safetensors")) == bits(found.result.network)
        self.command("verify", "X.npy", "own.safetensors", "own.json", folder=found.folder)
        front = report["pareto"]
        if front:
            point = front[len(front) // 2]
            self.command("pick", "own.json", "--params", point["params"], "-o", "picked.safetensors", folder=found.folder)
            picked = tnsearch.Network.load(found.folder / "picked.safetensors")
            assert picked.params <= point["params"]
            assert abs(error(found.x, picked) - picked.rse) <= near(found.x)

    @rule(target=networks, network=networks, goal=st.sampled_from([{"max_re": 0.2}, {"max_rse": 1e-6}, {"ranks": 1}, {"max_params": 30}]))
    def round(self, network: tnsearch.Network, goal: dict[str, Any]) -> tnsearch.Network:
        made, again = tnsearch.round(network, **goal), tnsearch.round(network, **goal)
        assert bits(made.network) == bits(again.network)
        z = network.to_dense()
        slack = 1e-4 if z.dtype in (np.float32, np.complex64) else 1e-7
        assert abs(np.sqrt(error(z, made.network)) - made.re) <= slack
        assert made.params == sum(core.size for core in made.network.cores)
        if "max_re" in goal and made.target_reached:
            assert made.re <= goal["max_re"]
        return made.network

    @rule(x=TENSORS, share=st.sampled_from([0.2, 0.5]), seed=st.integers(0, 3))
    def complete(self, x: np.ndarray, share: float, seed: int) -> None:
        holes = np.random.default_rng(seed).random(x.shape) < share
        options = {"template": "path", "max_rank": 2, "max_sweeps": 3, "seed": seed, "max_seconds": None}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_: None)
            found = tnsearch.complete(x, mask=holes, **options)
            dirty = np.where(holes, np.nan, x)
            for again in (
                tnsearch.complete(np.ma.masked_array(dirty, holes), **options),
                tnsearch.complete(dirty, nan_missing=True, **options),
                tnsearch.complete(x, mask=~holes, mask_marks="observed", **options),
            ):
                assert again.tensor.tobytes() == found.tensor.tobytes() and bits(again.network) == bits(found.network)
        assert (found.observed, found.missing) == ((~holes).sum(), holes.sum())
        assert np.array_equal(found.tensor[~holes], x[~holes])
        predicted = found.network.to_dense()
        assert np.allclose(found.tensor[holes], predicted[holes], rtol=1e-5, atol=1e-8)
        assert abs(error(x, found.network, ~holes) - found.rse) <= near(x)


def test_everything_in_any_order() -> None:
    settings = hypothesis.settings(
        max_examples=MACHINES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    print(daily.said())
    run_state_machine_as_test(hypothesis.seed(daily.seed())(Machine), settings=settings)
