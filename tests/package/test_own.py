"""Errors and evaluations by functions of the user, and ask and tell."""

import concurrent.futures
import functools
import gc
import threading
import weakref

import numpy as np
import pytest

import tnsearch

OPTIONS = dict(template="ring", strategy="tnls", samples=8, iterations=3, seed=2, lambda_=5.0)


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    cores = [rng.normal(size=(2, 3, 2)) for _ in range(4)]
    return np.einsum("aib,bjc,ckd,dla->ijkl", *cores)


class Measure:
    """The largest error of an entry: module-level, so that it can be sent to processes."""

    def __init__(self, x):
        self.x = x

    def __call__(self, network):
        return float(np.max(np.abs(self.x - network.to_dense())) / np.max(np.abs(self.x)))


def evaluate(structure, seed):
    """No fit at all: a number that depends on the structure."""
    return (sum(structure.ranks) % 7) / 10


def scaled(factor, structure, seed):
    return factor * evaluate(structure, seed)


def ranks(network):
    return 1 / (1 + sum(network.structure.ranks))


def equal(a, b):
    return (a.params, a.error, a.evaluations, a.structure) == (b.params, b.error, b.evaluations, b.structure)


def test_a_function_replaces_the_loss(x):
    found = tnsearch.search(x, loss=Measure(x), **OPTIONS)
    assert found.error == pytest.approx(Measure(x)(found.network))
    assert found.rse == pytest.approx(np.sum((x - found.network.to_dense()) ** 2) / np.sum(x**2), abs=1e-12)
    assert found.measure["id"] == "error" and found.lower_bound is None and not found.certified_optimal
    reached = tnsearch.search(x, loss=Measure(x), max_loss=0.05, **{k: v for k, v in OPTIONS.items() if k != "lambda_"})
    assert reached.error <= 0.05 and reached.target_reached


def test_a_function_replaces_the_evaluation(x):
    seen = []

    def noted(structure, seed):
        seen.append((structure, seed, threading.current_thread()))
        return evaluate(structure, seed)

    found = tnsearch.search(x, evaluate=noted, **OPTIONS)
    assert found.network is None and found.structure is not None
    assert found.error in {evaluate(structure, seed) for structure, seed, _ in seen}
    assert found.loss == min(t["loss"] for t in found.trials())
    assert {thread for *_, thread in seen} == {threading.main_thread()}
    assert found.evaluations == len({s for s, *_ in seen})


def test_a_function_may_return_its_network(x):
    def fitted(structure, seed):
        result = tnsearch.fit(x, structure, seed=seed, restarts=1, max_sweeps=20)
        return result.rse, result.network

    found = tnsearch.search(x, evaluate=fitted, **OPTIONS)
    error = np.sum((x - found.network.to_dense()) ** 2) / np.sum(x**2)
    assert error == pytest.approx(found.error, abs=1e-12)


@pytest.mark.parametrize("parallel", [3, "threads", "processes"])
def test_parallel_is_serial(x, parallel):
    one = tnsearch.search(x, loss=Measure(x), **OPTIONS)
    assert equal(one, tnsearch.search(x, loss=Measure(x), parallel=parallel, workers=2, **OPTIONS))
    one = tnsearch.search(x, evaluate=evaluate, **OPTIONS)
    assert equal(one, tnsearch.search(x, evaluate=evaluate, parallel=parallel, workers=2, **OPTIONS))


def test_what_a_function_raises_is_raised(x):
    def bad(structure, seed):
        raise ZeroDivisionError("mine")

    for parallel in (False, 2):
        with pytest.raises(ZeroDivisionError, match="mine"):
            tnsearch.search(x, evaluate=bad, parallel=parallel, **OPTIONS)
    for answer, kind in [("x", TypeError), (float("nan"), ValueError), (-1.0, ValueError), ((1, 2, 3), TypeError)]:
        with pytest.raises(kind):
            tnsearch.search(x, evaluate=lambda structure, seed, answer=answer: answer, **OPTIONS)
    with pytest.raises(TypeError, match="function"):
        tnsearch.search(x, evaluate=3, **OPTIONS)
    with pytest.raises(ValueError, match="max_loss"):
        tnsearch.search(x, evaluate=evaluate, template="ring", max_re=0.1)


def test_a_partial_of_a_function_is_sent(x):
    one = tnsearch.search(x, evaluate=evaluate, **OPTIONS)
    part = functools.partial(scaled, 1.0)
    assert equal(one, tnsearch.search(x, evaluate=part, parallel="processes", workers=1, **OPTIONS))


def test_nothing_is_kept_of_a_search():
    kept = np.random.default_rng(3).normal(size=(64, 64, 64))
    gone = weakref.ref(kept)
    tnsearch.search(kept, loss=ranks, template="path", max_params=20000, strategy="random", samples=2, parallel=2)
    del kept
    gc.collect()
    assert gone() is None


def test_what_cannot_be_sent_is_named(x, tmp_path):
    lock = threading.Lock()

    def held(structure, seed):
        return 0.1 if lock else 0.2

    with pytest.raises(Exception, match="evaluate"):
        tnsearch.search(x, evaluate=held, parallel="processes", workers=1, journal=tmp_path / "j", **OPTIONS)
    assert not (tmp_path / "j").exists()


def test_an_executor_of_ones_own(x):
    one = tnsearch.search(x, **OPTIONS)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        other = tnsearch.search(x, parallel=pool, workers=3, **OPTIONS)
    assert equal(one, other)
    assert all(np.array_equal(a, b) for a, b in zip(one.network.cores, other.network.cores, strict=True))


# Ask and tell.


def run(study, order=1):
    """Tells batches of trials, each batch in this order."""
    told = 0
    while True:
        batch = []
        try:
            while (trial := study.ask()) is not None:
                batch.append(trial)
        except RuntimeError:
            pass
        if not batch:
            return told
        for trial in batch[::order]:
            study.tell(trial, evaluate(trial.structure, trial.seed))
            told += 1


def test_ask_and_tell_is_the_search(x):
    whole = tnsearch.search(x, evaluate=evaluate, **OPTIONS)
    for order, workers in [(1, 1), (-1, 4)]:
        study = tnsearch.Study(x.shape, workers=workers, **OPTIONS)
        assert run(study, order) >= whole.evaluations
        assert study.ask() is None
        assert equal(study.result(), whole)


def test_a_study_keeps_a_journal(x, tmp_path):
    whole = tnsearch.search(x, evaluate=evaluate, **OPTIONS)
    journal = tmp_path / "study.jsonl"
    with tnsearch.Study(x.shape, journal=journal, **OPTIONS) as study:
        for _ in range(5):
            trial = study.ask()
            study.tell(trial, evaluate(trial.structure, trial.seed))
        assert study.result().stopped_by == "interrupted"
    study = tnsearch.Study(x.shape, journal=journal, resume=True, **OPTIONS)
    told = run(study)
    assert equal(study.result(), whole)
    # One more than the rest: the best is evaluated again for its network.
    assert told <= whole.evaluations - 5 + 1


def test_a_journal_knows_the_function_it_was_made_with(x, tmp_path):
    def one(structure, seed):
        return evaluate(structure, seed)

    def other(structure, seed):
        return 2 * evaluate(structure, seed)

    whole = tnsearch.search(x, evaluate=one, **OPTIONS)
    journal = tmp_path / "own.jsonl"
    one.fingerprint = "size, v1"
    part = {**OPTIONS, "max_evaluations": 5}
    tnsearch.search(x, evaluate=one, journal=journal, **part)
    # Another function, the same with another name, and none: each is told in one line, and the journal stays as it is.
    text = journal.read_text()
    with pytest.raises(ValueError, match="nothing says that evaluate is the function of the journal"):
        tnsearch.search(x, evaluate=other, journal=journal, resume=True, **OPTIONS)
    other.fingerprint = "twice the size"
    with pytest.raises(ValueError, match='made with fingerprint "size, v1", now fingerprint "twice the size"'):
        tnsearch.search(x, evaluate=other, journal=journal, resume=True, **OPTIONS)
    with pytest.raises(ValueError, match="made with measure"):
        tnsearch.search(x, journal=journal, resume=True, **OPTIONS)
    other.fingerprint = 3
    with pytest.raises(TypeError, match="evaluate.fingerprint is a int"):
        tnsearch.search(x, evaluate=other, journal=journal, resume=True, **OPTIONS)
    assert journal.read_text() == text
    assert equal(tnsearch.search(x, evaluate=one, journal=journal, resume=True, **OPTIONS), whole)


def test_a_study_goes_on_as_soon_as_a_trial_is_told():
    """Four chains, each of one structure after the other: with three trials open and one told, the search can go on, and
    asking never says that it cannot."""
    study = tnsearch.Study((3, 3, 3, 3), template="ring", strategy="annealing", lambda_=1.0, runs=4, workers=4)
    trials = [study.ask() for _ in range(4)]
    told = 0
    while told < 60 and trials[-1] is not None:
        trial = trials.pop(0)
        study.tell(trial, evaluate(trial.structure, 0))
        told += 1
        trials.append(study.ask())
    assert told > 10
    study.stop()


def test_a_trial_belongs_to_its_study():
    one, other = (tnsearch.Study((3, 3, 3), template="ring", strategy="tnls", lambda_=1.0, seed=s) for s in (1, 2))
    mine, theirs = one.ask(), other.ask()
    one.tell(theirs, 0.0)
    one.tell(mine, 0.5)
    one.stop()
    assert {trial["error"] for trial in one.result().trials()} == {0.5}
    other.stop()


def test_an_interrupt_loses_no_trial():
    """Ctrl-C at whichever moment: what the search had asked for is still there."""
    study = tnsearch.Study((3, 3, 3), template="ring", strategy="tnls", lambda_=1.0, samples=5)

    class Inbox(type(study._inbox)):
        interrupt = True

        def popleft(self):
            if Inbox.interrupt:
                Inbox.interrupt = False
                raise KeyboardInterrupt
            return super().popleft()

    study._inbox = Inbox()
    with pytest.raises(KeyboardInterrupt):
        study.ask()
    assert run(study) > 5
    assert study.result().stopped_by == "finished"


def test_a_study_that_cannot_go_on_says_so():
    study = tnsearch.Study((3, 3, 3), template="ring", strategy="tnls", lambda_=1.0)
    open_trials = []
    with pytest.raises(RuntimeError, match=r"tell\(\)"):
        while True:
            open_trials.append(study.ask())
    assert all(isinstance(trial, tnsearch.Trial) for trial in open_trials)
    with pytest.raises(TypeError):
        study.tell(3, 0.5)
    with pytest.raises(ValueError):
        study.tell(open_trials[0], float("inf"))
    with pytest.raises(TypeError, match="did you mean 'template'"):
        tnsearch.Study((3, 3), tmplate="ring")
    study.stop()
    assert study.result().structure is None
