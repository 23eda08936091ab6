"""The options that Python and the command line share mean the same: one table, derived from the help and the signatures.

Every option of either side is in `SHARED` (with a value, given to both sides: the same answer has to come, and another one than
without it) or in one of the lists of options that one side alone has, with a reason. A new option cannot be forgotten.
"""

import inspect
import json
import os
import re
import subprocess
import warnings

import numpy as np
import pytest
from conftest import HANG

import tnsearch
from tnsearch import _core

RING = {"template": "ring", "permutation": [0, 2, 1, 3], "edges": [[0, 1, 2], [0, 3, 2], [1, 2, 2], [2, 3, 2]]}
STAR = {"vertices": [{"mode": True}] * 4, "edges": [[0, 1], [0, 2], [0, 3]]}


def wave():
    i, j, k, l = np.ogrid[0:4, 0:5, 0:4, 0:6]
    return np.sin(1 + i * j / 5 + k * l / 7) + 0.05 * np.random.default_rng(0).standard_normal((4, 5, 4, 6))


X = wave()
# A third of it is marked: what is known and what is missing are not the same number.
MASK = np.random.default_rng(3).random(X.shape) < 0.3
HOLED = np.where(MASK, np.nan, X)
COUNTS = np.random.default_rng(4).poisson(3 + 2 * np.abs(X)).astype(float)

# Names that differ: those of Python, and of the command line.
RENAMED = {"lambda_": "lambda"}
# What is on unless it is switched off.
SWITCHES = {"prune", "shrink", "direct"}

#: The function, what it is given, the options of every call, and which numbers of the answers are compared.
CALLS = {
    "search": ((X,), {"template": "ring", "max_re": 0.2, "max_rank": 3, "max_evaluations": 4, "max_sweeps": 20}, ("params", "rse", "evaluations")),
    "fit": ((X, RING), {"max_sweeps": 7, "restarts": 1}, ("params", "rse", "sweeps", "restarts")),
    "bound": ((X, RING), {}, ("params", "rse", "cuts")),
    "certify": ((X,), {"template": "ring", "max_re": 0.2, "max_rank": 3}, ("lower_bound", "nodes", "complete", "proven_impossible", "net")),
    "complete": ((X,), {"mask": MASK, "template": "path", "max_rank": 2, "max_sweeps": 4, "max_seconds": 3600.0}, ("params", "rse", "observed", "missing", "structures", "ridge", "held_out")),
    "compress": ((X,), {"template": "path", "max_re": 0.2, "max_seconds": 3600.0}, ("params", "rse", "psnr", "cores")),
    "decompose": ((X,), {"method": "tt-svd", "max_re": 0.2}, ("params", "rse", "sweeps", "target_reached")),
    "round": ((None,), {"max_re": 0.3}, ("params", "rse", "params_before")),
    "space": ((), {"template": "ring", "order": 5, "max_rank": 3}, ("order", "structures", "search_space")),
}

DATA = {
    "dtype": {"dtype": "f32"},
    "split": {"split": "2x2,5,4,6", "template": "path"},
    "reshape": {"reshape": "4x5x24", "template": "path"},
    "column_major": {"column_major": True, "split": "2x2,5,4,6", "template": "path"},
    "max_memory": {"max_memory": 1000},
    "threads": {"threads": 0},
    "max_seconds": {"max_seconds": -1.0},
}
HOLES = {
    "mask": {"mask": MASK},
    "mask_marks": {"mask": MASK, "mask_marks": "observed"},
    "nan_missing": {"X": HOLED, "nan_missing": True, "mask": None},
}
FIT = {
    "restarts": {"restarts": 2},
    "scouts": {"scouts": 3, "restarts": 3, "max_sweeps": 5},
    "max_sweeps": {"max_sweeps": 2},
    "tolerance": {"tolerance": 0.9, "max_sweeps": 60},
    "stop_rse": {"stop_rse": 0.2},
    "learning_rate": {"fit": "adam", "method": "adam", "learning_rate": 0.05},
    "sigma": {"sigma": 3.0},
    "rescue": {"rescue": 2, "max_sweeps": 3},
}
GOALS = {
    "max_re": {"max_re": 0.4},
    "max_rse": {"max_re": None, "max_rse": 0.003},
    "max_params": {"max_re": None, "max_params": 40},
}


def less(options, name):
    return {other: value for other, value in options.items() if other != name}


# Every option of a strategy: with which one it is tried, and what.
STRATEGIES = {
    "nodes": ("exact", 3), "iterations": ("tnls", 1), "samples": ("tnls", 2), "c1": ("tnls", 0.1), "c2": ("tnls", 0.1),
    "radius": ("tnale", 2), "init_iterations": ("tnale", 1), "init_radius": ("tnale", 1), "generations": ("tnga-plus", 1),
    "population": ("tnga-plus", 3), "elimination": ("tnga-plus", 0.9), "reproduction": ("tnga-plus", 0), "alpha": ("tnga-plus", 1.0),
    "beta": ("tnga-plus", 5.0), "mutation": ("tnga-plus", 0.9), "temperature": ("annealing", 10.0), "cooling": ("annealing", 0.1),
    "steps": ("walk", 1), "width": ("walk", 1), "patience": ("walk", 1), "trees": ("auto", 2),
    "terms": ("auto", 2),
}  # fmt: skip

#: For each function what an option is tried with: options that come to those of `CALLS`, or take their places (None: it goes).
SHARED = {
    "search": DATA | HOLES | FIT | GOALS | {
        "lambda_": {"max_re": None, "lambda_": 3.0},
        # An array is in memory already; a file is not.
        "max_memory": {"max_memory": "much"},
        "loss": {"X": COUNTS, "loss": "poisson", "max_re": None, "max_loss": 0.3},
        "max_loss": {"X": COUNTS, "loss": "kl", "max_re": None, "max_loss": 0.05},
        "template": {"template": STAR},
        "max_rank": {"max_rank": 2},
        "strategy": {"strategy": "random", "samples": 3},
        "runs": {"runs": 2, "strategy": "tnls", "samples": 2, "iterations": 1},
        "seed": {"seed": 7, "strategy": "random", "samples": 3},
        "prune": {"prune": False, "strategy": "random", "samples": 5},
        "shrink": {"shrink": False, "strategy": "tnls", "samples": 3},
        "direct": {"direct": False},
        "certificate_nodes": {"certificate_nodes": 1},
        "fit": {"fit": "lm"},
        "carry": {"carry": True, "strategy": "tnls", "samples": 4, "iterations": 2},
        "max_phi": {"max_phi": 0.1},
        "max_cost": {"max_cost": 3.0},
        "max_evaluations": {"max_evaluations": 1, "strategy": "random"},
    },
    "fit": DATA | HOLES | FIT | {
        "split": {"split": "2x2,5,4,6"},
        "reshape": {"reshape": "4x5x24"},
        "column_major": {"column_major": True, "reshape": "5x4x4x6"},
        "method": {"method": "lm"},
        "seed": {"seed": 7},
        "loss": {"loss": "huber:0.5"},
    },
    "bound": DATA | {
        "split": {"split": "2x2,5,4,6"},
        "reshape": {"reshape": "4x4x5x6"},
        "column_major": {"column_major": True, "reshape": "4x4x5x6"},
    },
    "certify": DATA | GOALS | {
        "lambda_": {"max_re": None, "lambda_": 3.0},
        "template": {"template": STAR},
        "max_rank": {"max_rank": 2},
        "shrink": {"shrink": False},
        "nodes": {"nodes": 1},
        "net": {"net": RING},
    },
    "complete": DATA | HOLES | {
        "missing": {"missing": 0.4, "mask": None},
        "method": {"method": "trals", "rank": 2, "template": None, "max_rank": None},
        "rank": {"method": "trals", "rank": 3, "template": None, "max_rank": None},
        "held_out": {"held_out": 0.3},
        "folds": {"folds": 3},
        "template": {"template": "star"},
        "max_rank": {"max_rank": 1},
        "ridge": {"ridge": 1.0},
        "max_sweeps": {"max_sweeps": 1},
        "seed": {"seed": 7},
    },
    "compress": less(DATA, "dtype") | {
        "max_re": {"max_re": 0.05},
        "psnr": {"max_re": None, "psnr": 30.0},
        "max_params": {"max_re": None, "max_params": 40},
        "cores": {"cores": "f16"},
        "template": {"template": "star"},
        "seed": {"seed": 7},
        "tensorise": {"tensorise": "plain", "X": X[0], "max_re": None, "psnr": 10.0},
        "factors": {"factors": "2,2", "X": X[0], "max_re": None, "psnr": 10.0},
        "grey": {"grey": True},
        "resize": {"resize": (4, 4), "X": X[0, :, :, :3], "max_re": None, "psnr": 10.0},
        "crop": {"crop": True, "X": X[0, :, :, :3], "max_re": None, "psnr": 10.0},
    },
    "decompose": less(DATA, "threads") | {
        "method": {"method": "hosvd"},
        "max_re": {"max_re": 0.4},
        "max_rse": {"max_re": None, "max_rse": 0.003},
        "ranks": {"max_re": None, "ranks": [2, 3, 2]},
        "shares": {"shares": "equal", "max_re": 0.1},
        "template": {"method": "tree-svd", "template": "star"},
        "permutation": {"permutation": [1, 0, 2, 3]},
        "restarts": {"method": "tr-als", "max_re": None, "ranks": 2, "restarts": 2},
        "max_sweeps": {"method": "tr-als", "max_re": None, "ranks": 2, "max_sweeps": 2},
        "tolerance": {"method": "tr-als", "max_re": None, "ranks": 2, "tolerance": 0.5},
        "max_rank": {"method": "bayes-tr", "max_rank": 2, "max_sweeps": 9},
        "seed": {"method": "tr-als", "max_re": None, "ranks": 2, "seed": 7},
    },
    "round": GOALS | {
        "max_memory": {"max_memory": 1000},
        "max_seconds": {"max_seconds": -1.0},
        "ranks": {"max_re": None, "ranks": 1},
        "template": {"template": "star"},
        "permutation": {"template": "path", "permutation": [3, 0, 1, 2]},
    },
    "space": {
        "template": {"template": "path"},
        "order": {"order": 4},
        "max_rank": {"max_rank": 2},
        "internal": {"template": "ht", "order": 4, "internal": "fixed"},
    },
}  # fmt: skip

# Shared, and the answer need not change with it.
QUIET = {
    "search": {
        "shrink": "what is found in the smaller tensor is the same", "prune": "what is pruned was no answer",
        "certificate_nodes": "it decides a bound", "scouts": "they choose among starts", "direct": "the same network may be found without", "carry": "no parent may be near",
    },
    "certify": {"column_major": "a bound may be the same", "shrink": "it loses nothing", "nodes": "the proof may take one", "dtype": "a bound is a whole number"},
    "compress": {"seed": "trains need no random numbers", "grey": "it is refused", "factors": "those that are taken anyway", "crop": "nothing sticks out", "resize": "the picture has that size"},
    "complete": {"folds": "the same structure may be chosen", "seed": "the same structure may be chosen"},
    "fit": {"restarts": "the first start may be the best", "scouts": "the same", "rescue": "a start may be enough"},
}  # fmt: skip

FILES = dict.fromkeys(("help", "json", "quiet", "output"), "Python returns what the command writes")
PICTURES = dict.fromkeys(("tensorise", "factors", "grey", "resize", "crop"), "pictures are arrays in Python; compress takes their files")
ONLY_COMMAND = {
    "search": FILES | PICTURES | {
        "pareto": "front=True returns the networks", "cluster": "parallel= takes the pools themselves; tests/package/test_cluster.py compares them",
    },
    "fit": FILES | PICTURES | {"structure": "the second argument", "carry": "a fit has no parent"},
    "bound": FILES | PICTURES | {
        "structure": "the second argument", "template": "tnsearch.certify", "loss": "tnsearch.certify", "max-loss": "tnsearch.certify",
        "lambda": "tnsearch.certify", "max-re": "tnsearch.certify", "max-rse": "tnsearch.certify", "max-params": "tnsearch.certify",
    },
    "certify": FILES | PICTURES | {
        "loss": "refused by both but for the squared error", "max-loss": "of a loss",
    },
    "complete": FILES | PICTURES | {"network": "the result has it", "progress": "it shows none"},
    "compress": FILES | {"page": "a file"},
    "decompose": FILES | PICTURES,
    "round": FILES,
    "space": FILES | {
        "x": "dims= is the shape", "threads": "of --x", "max-memory": "of --x", "table": "a text", "figure": "a picture",
    },
}  # fmt: skip
ONLY_PYTHON = {
    "search": {
        "journal": "files: tests/package/test_search.py resumes those of the command", "resume": "see journal",
        "front": "--pareto writes them", "callback": "a function", "progress": "what is shown, not what is found",
        "evaluate": "a function", "fidelity": "max_rse=1 - fidelity: tests/package/test_states.py", "parallel": "--cluster", "workers": "of parallel",
        "budget": "options of both in one object: tests/package/test_groups.py",
    },
    "space": {"dims": "--x reads a tensor"},
}  # fmt: skip
# The command has them too, but they change no answer; tests/package/test_outputs.py compares the files.
CERTIFICATE = {"certificate", "certificate_cases"}
SHOWN = {"search": {"progress", "journal", "resume", "report"} | CERTIFICATE, "certify": CERTIFICATE}


def of_python(name):
    """The options of a function."""
    function = getattr(tnsearch, name)
    parameters = inspect.signature(function).parameters.values()
    options = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    options |= {p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is not p.empty}
    if name == "search":
        options |= {option.replace("-", "_") for option in _core.strategy_options()}
    return options


def of_command(name, command):
    """The options of a command, from its help, in Python's names."""
    found = set(re.findall(r"^(?:  -\w, |      )--([a-z0-9-]+)(?= |$)", command(name, "--help"), re.M))
    assert {"help", "json"} <= found, found
    return found


def python_name(option):
    """The option of Python that an option of the command line is."""
    back = {theirs: ours for ours, theirs in RENAMED.items()}
    if option.startswith("no-"):
        assert option[3:] in SWITCHES, option
        return option[3:]
    return back.get(option, option.replace("-", "_"))


def shared(name):
    return SHARED[name] | ({option: {"strategy": s, option: v} for option, (s, v) in STRATEGIES.items()} if name == "search" else {})


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_option_is_in_the_table(name, command):
    ours, theirs = of_python(name), {python_name(o) for o in of_command(name, command)}
    both, known = ours & theirs, set(shared(name)) | SHOWN.get(name, set())
    alone = {python_name(o) for o in ONLY_COMMAND[name]}
    assert both - known == set(), "shared options that the table does not have"
    assert known - SHOWN.get(name, set()) <= both, "the table has options that are not shared"
    assert theirs - ours - alone == set(), "options of the command that Python does not have, without a reason"
    assert ours - theirs - set(ONLY_PYTHON.get(name, {})) == set(), "options of Python that the command does not have, without a reason"
    assert set(QUIET.get(name, {})) <= set(shared(name))


def test_every_function_is_here():
    """Those that take options and are commands, too."""
    here = {"decompress"} | set(CALLS)
    functions = {n for n in tnsearch.__all__ if inspect.isfunction(getattr(tnsearch, n)) and not n.startswith("plot")}
    # These have tests of their own.
    assert functions - here <= {"verify", "pick", "compare", "compress_model", "decompress_model", "generate", "reconstruct"}


def arguments(options, folder):
    """The options as the command line has them, by the rule of docs/python.md."""
    made = []
    for name, value in options.items():
        flag = "--" + RENAMED.get(name, name).replace("_", "-")
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
            value = folder / f"{name}.npy"
        elif isinstance(value, dict):
            (folder / f"{name}.json").write_text(json.dumps(value))
            value = folder / f"{name}.json"
        elif isinstance(value, tuple):
            value = "x".join(map(str, value))
        elif isinstance(value, list):
            value = ",".join(map(str, value))
        if value is True:
            made.append(flag)
        elif value is False:
            assert name in SWITCHES, name
            made.append(flag.replace("--", "--no-", 1))
        else:
            made += [flag, value]
    return made


def before():
    return tnsearch.decompose(X, "tr-svd", max_re=0.05).network


class Answers:
    """What a function and its command say with the same options."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        (self.given, self.base, self.fields) = CALLS[name]

    def options(self, changes):
        known = of_python(self.name)
        made = self.base | {n: v for n, v in changes.items() if n in known}
        return {n: v for n, v in made.items() if v is not None}

    def header(self, name):
        """The settings that the journal of a search has, all that decides its answer."""
        header = json.loads((self.folder / name).read_text().splitlines()[0])
        (self.folder / name).unlink()
        return {n: v for n, v in header.items() if n != "crc"}

    def python(self, changes):
        given = [changes.get("X", self.given[0]), *self.given[1:]] if self.given else []
        if self.name == "round":
            given = [before()]
        options = self.options(changes)
        method = [options.pop("method")] if self.name == "decompose" else []
        if self.name == "space":
            given = [options.pop("template"), options.pop("order")]
        if self.name == "search":
            options["journal"] = self.folder / "python.jsonl"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = getattr(tnsearch, self.name)(*given, *method, **options)
        except (TypeError, ValueError, MemoryError) as error:
            return f"refused: {type(error).__name__}"
        values = {n: getattr(found, n) for n in self.fields}
        if self.name == "search":
            values["header"] = self.header("python.jsonl")
        return json.loads(json.dumps(values, default=int))

    def command(self, changes):
        line = [os.environ["TNSEARCH"], self.name]
        if self.name == "round":
            before().save(self.folder / "before.safetensors")
            line.append(self.folder / "before.safetensors")
        elif self.given:
            np.save(self.folder / "X.npy", changes.get("X", self.given[0]))
            line.append(self.folder / "X.npy")
        for structure in self.given[1:]:
            line += arguments({"structure": structure}, self.folder)
        line += arguments(self.options(changes), self.folder)
        if self.name == "search":
            line += ["--journal", self.folder / "command.jsonl"]
        if self.name == "compress":
            line += ["-o", self.folder / "out"]
        done = subprocess.run([*map(str, line), "--json", "-"], capture_output=True, text=True, timeout=HANG)
        assert done.returncode in (0, 1, 2), done.stderr
        if done.returncode == 2:
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            return "refused: " + done.stderr.strip()
        report = json.loads(done.stdout)
        # By another loss than the squared error the command says that error alone.
        values = {n: report[n] for n in self.fields if n != "rse" or n in report}
        if self.name == "search":
            values["header"] = self.header("command.jsonl")
        for n in ("structures", "search_space") if self.name == "space" else ():
            values[n] = int(values[n])
        if isinstance(values.get("lower_bound"), dict):
            values["lower_bound"] = {n: v for n, v in values["lower_bound"].items() if v is not None}
        return values


CASES = [(name, option) for name in sorted(CALLS) for option in sorted(shared(name))]


@pytest.mark.parametrize(("name", "option"), CASES, ids=lambda v: v)
def test_shared_options_mean_the_same(name, option, command, tmp_path):
    both = Answers(name, tmp_path)
    changes = shared(name)[option]
    ours, theirs = both.python(changes), both.command(changes)
    if isinstance(ours, str) or isinstance(theirs, str):
        assert isinstance(ours, str) and isinstance(theirs, str), (ours, theirs)
        return
    assert {n: ours[n] for n in theirs} == theirs and set(ours) - set(theirs) <= {"rse"}
    if option not in QUIET.get(name, {}):
        # Without the option (and with all that it was tried with) the answer is another one.
        without = {n: v for n, v in changes.items() if n != option} | ({"mask": None} if option == "mask" and name != "complete" else {})
        assert option in both.base or ours != both.python(without), f"{option} changes nothing"


def test_masks_are_told_apart(command, tmp_path):
    """The number of observed entries is that of NumPy, on both sides, by every way of saying what is missing."""
    both = Answers("complete", tmp_path)
    for changes, observed in [
        ({"mask": MASK}, (~MASK).sum()),
        ({"mask": MASK, "mask_marks": "missing"}, (~MASK).sum()),
        ({"mask": MASK, "mask_marks": "observed"}, MASK.sum()),
        ({"X": HOLED, "mask": None, "nan_missing": True}, (~MASK).sum()),
    ]:
        ours, theirs = both.python(changes), both.command(changes)
        assert ours["observed"] == theirs["observed"] == observed and ours == theirs
    masked = np.ma.masked_array(np.where(MASK, np.inf, X), MASK)
    assert both.python({"X": masked, "mask": None}) == both.python({"mask": MASK})
    # What either says is missing is.
    half = np.ma.masked_array(X, np.where(np.arange(4)[:, None, None, None] < 2, MASK, False))
    rest = np.where(np.arange(4)[:, None, None, None] < 2, False, MASK)
    assert both.python({"X": half, "mask": rest}) == both.python({"mask": MASK})


def test_masked_arrays_are_data_of_search_and_fit():
    masked = np.ma.masked_array(X, MASK)
    assert tnsearch.fit(masked, RING).rse == tnsearch.fit(X, RING, mask=MASK).rse
    options = {"template": "path", "max_re": 0.1, "max_evaluations": 5}
    assert tnsearch.search(masked, **options).rse == tnsearch.search(X, mask=MASK, **options).rse
    # Nothing masked: as the array itself, everywhere.
    whole = np.ma.masked_array(X, np.zeros(X.shape, bool))
    assert tnsearch.decompose(whole, max_re=0.1).rse == tnsearch.decompose(X, max_re=0.1).rse
    assert tnsearch.bound(whole, RING).rse == tnsearch.bound(X, RING).rse
    for call in (lambda: tnsearch.decompose(masked), lambda: tnsearch.bound(masked, RING), lambda: tnsearch.compress(masked)):
        with pytest.raises(TypeError, match="masked arrays are taken by search, fit and complete"):
            call()
