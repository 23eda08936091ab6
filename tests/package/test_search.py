"""Searches from Python: the answers of the command line, callbacks, journals, interrupts."""

import html
import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import tnsearch
from tnsearch import _progress

# A process that has not ended by then hangs.
HANG = 600
HIDDEN = ["--template", "ring", "--dims", "4,4,4,4,4,4", "--ranks", "1..3", "--seed", "5"]


def dense(network):
    return network.to_dense()


@pytest.fixture
def hidden(generate):
    """A tensor with a hidden ring, its file, and what is hidden."""
    path, made = generate(*HIDDEN)
    return np.load(path), path, made


@pytest.mark.parametrize(
    "options",
    [
        {"template": "ring", "max_re": 1e-6, "max_rank": 4},
        {"template": "path", "max_rse": 1e-3, "runs": 2, "seed": 3},
        {"template": "ring", "lambda_": 200.0, "strategy": "tnls", "samples": 10, "iterations": 3, "direct": False},
        {"max_params": 90},
        {"template": "tucker", "max_re": 0.3, "dtype": "f32"},
        {"template": "ring", "split": "2", "max_re": 0.1, "max_evaluations": 20},
    ],
    ids=lambda options: "-".join(map(str, options)),
)
def test_same_answer_as_the_command_line(hidden, command, tmp_path, options):
    x, path, _ = hidden
    line = []
    for name, value in options.items():
        if name == "direct":
            line.append("--no-direct")
        else:
            line += [f"--{name.rstrip('_').replace('_', '-')}", str(value)]
    net = tmp_path / "net.safetensors"
    # Where the target is not reached, the command says so by its exit code.
    theirs = json.loads(command("search", path, *line, "--json", "-", "-o", net, code=None))
    ours = tnsearch.search(x, **options)
    for name in "params rse loss evaluations samples pruned cached direct certified_optimal stopped_by strategy".split():
        assert getattr(ours, name) == theirs[name], name
    assert ours.structure.permutation == theirs["permutation"]
    assert ours.structure.edges == theirs["edges"]
    assert ours.lower_bound == theirs["lower_bound"]
    # One statement, in the same words.
    assert (ours.statement, ours.bound_over) == (theirs["statement"], theirs["bound_over"])
    assert ours.statement["text"] in html.unescape(ours._repr_html_())
    assert [p["params"] for p in ours.pareto] == [p["params"] for p in theirs["pareto"]]
    strip = lambda points: [{k: v for k, v in p.items() if k != "seconds"} for p in points]  # noqa: E731
    assert strip(ours.history) == strip(theirs["history"])
    # The same cores, bit for bit, in the same file.
    mine = tmp_path / "mine.safetensors"
    ours.network.save(mine)
    assert mine.read_bytes() == net.read_bytes()
    again = tnsearch.Network.load(mine)
    assert np.array_equal(again.to_dense(), ours.network.to_dense())
    assert ours.network.to_dense().shape == x.shape
    error = np.sum((x - ours.network.to_dense().astype(float)) ** 2) / np.sum(x**2)
    assert error == pytest.approx(ours.rse, rel=1e-4, abs=1e-12)


def test_the_hidden_ring_is_found_and_certified(hidden):
    x, _, made = hidden
    found = tnsearch.search(x, template="ring", max_re=1e-6)
    assert found.certified_optimal and found.target_reached
    assert found.params == made["params"] == found.structure.params(list(x.shape))
    assert found.lower_bound == {"params": found.params, "rse": None, "loss": None}
    assert ", optimal" in repr(found)
    assert found.statement["text"] == "optimal: no ring with ranks up to 7 is better"
    # What is proven of trees is not said of a ring.
    other = tnsearch.search(x, max_re=1e-6)
    assert other.bound_over == {"template": "any-tree", "max_rank": None}
    if other.statement["answer"] == "cyclic":
        assert not other.certified_optimal and "not proven optimal" in repr(other)
    else:
        assert "optimal among trees" in repr(other) or not other.certified_optimal


def test_why_nothing_was_found_is_said(hidden):
    x, _, _ = hidden
    found = tnsearch.search(x, template="ring", max_phi=1e-9, strategy="tnls", samples=2, iterations=1)
    assert found.network is None and "--max-phi" in found.no_answer and found.no_answer in repr(found)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(hidden, threads):
    x = hidden[0]
    options = dict(template="ring", strategy="tnls", lambda_=20.0, samples=12, iterations=3, seed=1)
    one = tnsearch.search(x, parallel=False, **options)
    more = tnsearch.search(x, parallel=threads, **options)
    assert (one.params, one.rse, one.evaluations, one.samples) == (more.params, more.rse, more.evaluations, more.samples)
    assert all(np.array_equal(a, b) for a, b in zip(one.network.cores, more.network.cores, strict=True))


def test_callbacks_hear_everything_in_order_and_may_end_it(hidden):
    x = hidden[0]
    options = dict(template="ring", strategy="tnls", lambda_=20.0, samples=12, iterations=3, seed=1, parallel=False)
    heard, threads = [], set()

    def note(event):
        heard.append(event)
        threads.add(threading.current_thread())

    whole = tnsearch.search(x, callback=note, **options)
    told = [e for e in heard if e["event"] == "evaluated"]
    assert len(told) == len(whole.trials()) >= whole.evaluations
    assert [e["key"] for e in told] == [t["key"] for t in whole.trials()]
    assert sum(e["event"] == "generation" for e in heard) > 1
    assert threads == {threading.main_thread()}
    part = []

    def some(event):
        part.append(event)
        return len(part) == 5

    ended = tnsearch.search(x, callback=some, **options)
    assert ended.stopped_by == "interrupted" and ended.network is not None
    assert [e.get("key") for e in part[:5]] == [e.get("key") for e in heard[:5]]


def test_what_a_callback_raises_is_raised(hidden):
    class Own(Exception):
        pass

    def bad(event):
        raise Own("here")

    with pytest.raises(Own, match="here"):
        tnsearch.search(hidden[0], template="ring", strategy="tnls", lambda_=20.0, callback=bad)


def test_a_journal_is_resumed_by_either(hidden, command, tmp_path):
    x, path, _ = hidden
    journal = tmp_path / "run.jsonl"
    options = dict(template="ring", strategy="tnls", lambda_=20.0, samples=12, iterations=3, seed=1, direct=False, prune=False)
    whole = tnsearch.search(x, **options)
    part = tnsearch.search(x, journal=journal, max_evaluations=7, **options)
    assert part.stopped_by == "max_evaluations"
    with pytest.raises(ValueError, match="journal"):
        tnsearch.search(x, journal=journal, **options)
    line = ["--template", "ring", "--strategy", "tnls", "--lambda", 20.0, "--samples", 12, "--iterations", 3, "--seed", 1]
    line += ["--no-direct", "--no-prune"]
    command("search", path, *line, "--journal", journal, "--resume", "--max-evaluations", 15)
    rest = tnsearch.search(x, journal=journal, resume=True, **options)
    assert (rest.params, rest.rse, rest.evaluations) == (whole.params, whole.rse, whole.evaluations)
    assert all(np.array_equal(a, b) for a, b in zip(rest.network.cores, whole.network.cores, strict=True))
    assert len(rest.trials()) == len(whole.trials())
    with pytest.raises(ValueError, match="seed"):
        tnsearch.search(x, journal=journal, resume=True, **{**options, "seed": 2})


def test_trials_are_dicts_or_a_frame(hidden):
    found = tnsearch.search(hidden[0], template="ring", strategy="tnls", lambda_=20.0, samples=5, iterations=2)
    rows = found.trials()
    frame = found.trials(as_frame=True)
    assert len(frame) == len(rows) and {"params", "rse", "loss", "permutation"} <= set(frame.columns)
    assert min(row["loss"] for row in rows) == found.loss


def test_the_front_is_returned_where_asked(hidden):
    x = hidden[0]
    found = tnsearch.search(x, max_re=0.05, front=True)
    assert [net.params for net in found.front] == sorted(net.params for net in found.front)
    for net in found.front:
        error = np.linalg.norm(x - net.to_dense()) / np.linalg.norm(x)
        assert error**2 == pytest.approx(net.rse, rel=1e-6, abs=1e-12)
    assert tnsearch.search(x, max_re=0.05).front == []


def test_other_losses_and_holes():
    rng = np.random.default_rng(1)
    rates = np.einsum("ia,ja,ka->ijk", *(rng.random((6, 2)) + 0.1 for _ in range(3)))
    counts = rng.poisson(20 * rates).astype(float)
    found = tnsearch.search(counts, loss="poisson", lambda_=0.1, template="path", max_evaluations=30)
    assert found.measure["id"] != "rse" and found.error != found.rse
    dense = found.network.to_dense()
    assert (dense >= 0).all()
    assert found.rse == pytest.approx(np.sum((counts - dense) ** 2) / np.sum(counts**2), rel=1e-6)
    x = rates.copy()
    mask = rng.random(x.shape) < 0.8
    x[~mask] = np.nan
    for how in ({"mask": ~mask}, {"mask": mask, "mask_marks": "observed"}, {"nan_missing": True}):
        found = tnsearch.search(x, template="path", max_re=1e-3, **how)
        filled = found.network.to_dense()
        assert np.linalg.norm((filled - rates)[mask]) <= 2e-3 * np.linalg.norm(rates[mask])


# Runs in another process, which is interrupted when it has said where it is: in the callback, or anywhere.
INTERRUPTED = """
import sys, numpy as np, tnsearch
x = np.random.default_rng(0).normal(size=(6,) * 5)
said = []
def hear(event):
    if event["event"] == "evaluated" and not said:
        said.append(1)
        print("evaluated", flush=True)
        if "inside" in sys.argv:
            sys.stdin.read()
found = tnsearch.search(x, template="ring", strategy="tnls", lambda_=2.0, samples=1000, iterations=100000, callback=hear)
print(found.stopped_by, found.params, found.network is not None, flush=True)
"""


@pytest.mark.parametrize("where", ["inside", "anywhere", "anywhere", "anywhere"])
def test_ctrl_c_returns_the_best_so_far(where):
    line = [sys.executable, "-c", INTERRUPTED, where]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "evaluated"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=HANG)
    stopped, params, network = out.split()
    assert (stopped, network) == ("interrupted", "True") and int(params) > 0
    assert process.returncode == 0


def test_other_threads_of_python_go_on(hidden):
    """While a search computes, the interpreter is free: another thread answers what the callback asks before the next."""
    asked, counted = threading.Event(), threading.Event()

    def count():
        asked.wait()
        counted.set()

    thread = threading.Thread(target=count)
    thread.start()

    def hear(event):
        asked.set()
        # It could not return if the other thread could not run.
        counted.wait()

    tnsearch.search(hidden[0], template="ring", strategy="tnls", lambda_=20.0, samples=5, iterations=2, callback=hear)
    assert counted.is_set()
    thread.join()


def test_an_unheard_event_does_not_hold_the_search(hidden):
    """The engine ends when it is told to, though nobody says that an event was heard."""
    asked = tnsearch._search.order("search", {"template": "ring", "lambda_": 2.0, "strategy": "tnls"}, {}, False)
    engine = tnsearch._core.Engine(hidden[0], {**asked, "events": True})
    inbox = []
    while not inbox:
        engine.collect(inbox, 1.0)
    engine.stop()
    while not engine.ended():
        engine.collect(inbox, 1.0)
    assert engine.result()[0]["stopped_by"] == "interrupted"


MADE = {
    "numpy": "import numpy; x = numpy.full((256, 256, 512), 2.0)",
    "torch": "import torch; x = torch.full((256, 256, 512), 2.0, dtype=torch.float64)",
}


@pytest.mark.parametrize("library", sorted(MADE))
def test_large_arrays_are_read_where_they_are(library, request):
    """Peak memory of another process: the array itself, and far less than a second one."""
    if library == "torch":
        request.getfixturevalue("torch")
    code = f"""
import resource, tnsearch
{MADE[library]}
tnsearch._core.fingerprint(x[:2, :2, :2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tnsearch._core.fingerprint(x)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(after - before)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(out) < 256 * 1024 // 20, out


def test_progress_lines(capsys):
    state = dict(samples=10, evaluations=4, planned_samples=40, params=30, error=0.25, target_reached=False)
    text = _progress.line(state, 2.0, {"max_seconds": 4.0})
    assert text == "10 of 40 samples, 4 evaluations (2/s), best 30 params, error 0.25 (target not reached yet), 2.0 s left"
    bar = _progress.Progress(False)
    bar.update(state)
    bar.close()
    assert capsys.readouterr().err == ""
    bar = _progress.Progress(True)
    bar.write("a line")
    assert "a line" in capsys.readouterr().err


def test_a_search_is_ended_by_its_limits(hidden):
    found = tnsearch.search(hidden[0], template="ring", strategy="tnls", lambda_=2.0, max_evaluations=5)
    assert found.stopped_by == "max_evaluations" and found.evaluations == 5
    found = tnsearch.search(hidden[0], template="ring", strategy="tnls", iterations=10**6, lambda_=2.0, max_seconds=0.5)
    assert found.stopped_by == "max_seconds"


def test_the_environment_is_left_alone(hidden):
    before = dict(os.environ)
    tnsearch.search(hidden[0], template="path", max_re=0.1)
    assert dict(os.environ) == before


def test_what_a_kind_of_number_cannot_reach_is_said():
    """The terminal has a line for it; so have the result, its text and what notebooks show."""
    i, j, k = np.ogrid[0:20, 0:21, 0:22]
    tensor = 1.0 / (1.0 + (i + j + k) / 10)
    asked = {"template": "path", "max_re": 1e-9, "max_seconds": 20}
    coarse = tnsearch.search(tensor, dtype="f32", **asked)
    assert not coarse.target_reached
    said = "networks of f32 numbers come to an RE of about 5e-7, whatever their ranks; dtype f64 comes closer"
    assert coarse.rounding == said
    assert repr(coarse).endswith(f", target NOT reached: {said}>")
    assert html.escape(said) in coarse._repr_html_()
    fine = tnsearch.search(tensor, **asked)
    assert fine.target_reached and fine.rounding is None and "rounding" not in fine._repr_html_()
    # An error that is missed for another reason has no such line.
    small = tnsearch.search(tensor, dtype="f32", template="path", max_re=1e-3, max_rank=1, max_seconds=20)
    assert not small.target_reached and small.rounding is None
    direct = tnsearch.decompose(tensor, dtype="f32", max_re=1e-9)
    assert not direct.target_reached and direct.rounding == said and said in repr(direct)
    assert tnsearch.decompose(tensor, max_re=1e-9).rounding is None
    claims = tnsearch.verify(tensor, coarse, dtype="f32").claims
    assert {c.claim: c.verdict for c in claims}["rounding"] == "recorded"
