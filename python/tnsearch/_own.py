"""Evaluations by a function of the user: its own error of a fitted network, or the whole evaluation of a structure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union, cast

from ._core import Job, Network, Structure, Worker, describe_request, own_answer

#: The error of a fitted network.
OwnLoss = Callable[[Network], float]
#: The error of a structure, and its network where there is one.
OwnEvaluation = Callable[[Structure, int], Union[float, tuple[float, Union[Network, None]]]]


class Measured:
    """Fits by least squares, and asks a function for the error of the network."""

    name = "loss"
    needs_data = True

    def __init__(self, loss: OwnLoss) -> None:
        self.loss = self.function = loss

    def evaluate(self, worker: Worker | None, request: bytes, waited: float) -> bytes:
        """The answer to a request."""
        assert worker is not None, "it needs the data"
        network, interrupted = worker.fit(request, waited)
        error = number(self.loss(network), self.loss)
        return own_answer(request, error, network, interrupted)


class Evaluated:
    """Asks a function for all."""

    name = "evaluate"
    needs_data = False

    def __init__(self, evaluation: OwnEvaluation) -> None:
        self.evaluation = self.function = evaluation

    def evaluate(self, worker: Worker | None, request: bytes, waited: float) -> bytes:
        """The answer to a request."""
        structure, seed = describe_request(request)
        answer = self.evaluation(structure, seed)
        if isinstance(answer, tuple):
            if len(answer) != 2 or not isinstance(answer[1], (Network, type(None))):
                raise TypeError(
                    f"{name_of(self.evaluation)} returned {answer!r:.80}; it must return the error, or (error, Network)"
                )
            return own_answer(request, number(answer[0], self.evaluation), answer[1])
        return own_answer(request, number(answer, self.evaluation))


def number(value: Any, function: Any) -> float:
    """A number that a function returned.

    >>> number("x", len)
    Traceback (most recent call last):
        ...
    TypeError: len returned 'x'; it must return the error, a number
    """
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name_of(function)} returned {value!r:.80}; it must return the error, a number") from None


def name_of(function: Any) -> str:
    """What a function is called."""
    return getattr(function, "__qualname__", None) or repr(function)


class Here:
    """Evaluates in the calling thread, one request after the other."""

    def __init__(self, engine: Any, work: Measured | Evaluated) -> None:
        self.engine = engine
        self.work = work
        self.worker: Worker | None = None
        self.waiting: dict[int, tuple[bytes, float]] = {}

    def take(self, kind: str, *what: Any) -> None:
        """Takes a message of the engine."""
        if kind == "job":
            job: Job = what[0]
            if isinstance(self.work, Measured):
                self.worker = Worker(job.header, job.entries)
        elif kind == "submit":
            self.waiting[what[0]] = (what[1], time.monotonic())
        elif kind == "cancel":
            self.waiting.pop(what[0], None)

    def turn(self) -> bool:
        """Evaluates the next request; whether there is more to do."""
        if not self.waiting:
            return False
        ticket = next(iter(self.waiting))
        request, since = self.waiting.pop(ticket)
        waited = time.monotonic() - since
        self.engine.answer(ticket, self.work.evaluate(self.worker, request, waited))
        return bool(self.waiting)

    def close(self) -> None:
        """Nothing is held."""

    def error(self) -> BaseException | None:
        """What went wrong elsewhere: nothing."""
        return None


def evaluate_own(key: str, source: Any, batch: Sequence[tuple[bytes, float]], own: Measured | Evaluated) -> Any:
    """Answers requests on a worker, as :func:`tnsearch.parallel.worker.evaluate` does."""
    from .parallel.worker import Done, Missing, guarded, worker_of

    worker = worker_of(key, source) if own.needs_data else None
    if own.needs_data and worker is None:
        return Missing()
    begun = time.perf_counter()
    answers = []
    for request, waited in batch:
        waited += time.perf_counter() - begun
        answers.append(guarded(own.evaluate, worker, request, waited))
    return Done(answers, time.perf_counter() - begun)


def fingerprint_of(work: Measured | Evaluated | Proposing | None, journal: Any, resume: bool) -> str | None:
    """What a function of the user calls itself, by which a journal knows it: its attribute ``fingerprint``. Without one
    nothing tells whether a journal was made with this function, so it is not gone on with.

    >>> def loss(network): return 0.0
    >>> fingerprint_of(Measured(loss), "run.jsonl", False) is None
    True
    >>> fingerprint_of(Measured(loss), "run.jsonl", True)
    Traceback (most recent call last):
        ...
    ValueError: resume: nothing says that loss is the function of the journal; give it a name that changes when it does, as in loss.fingerprint = 'perplexity, v2'
    >>> loss.fingerprint = "perplexity, v2"
    >>> fingerprint_of(Measured(loss), "run.jsonl", True)
    'perplexity, v2'
    """
    if work is None:
        return None
    function = work.function
    text: object = getattr(function, "fingerprint", None)
    if not (text is None or isinstance(text, str)):
        raise TypeError(f"{work.name}.fingerprint is a {type(text).__name__}; it must be a text")
    if text is None and journal is not None and resume:
        raise ValueError(
            f"resume: nothing says that {work.name} is the function of the journal; give it a name that changes when it "
            f"does, as in {work.name}.fingerprint = 'perplexity, v2'"
        )
    return text


class Proposing:
    """A strategy of the user's own: an object that has ``ask()`` and ``tell()``, or a function.

    A function is called with a list of all outcomes so far, and returns the structures to be evaluated next.

    >>> def once(outcomes): return None if outcomes else "a structure"
    >>> strategy = Proposing(once)
    >>> strategy.name, strategy.ask()
    ('once', 'a structure')
    >>> strategy.tell([{"loss": 1.0}]); strategy.ask()
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        has = all(callable(getattr(function, name, None)) for name in ("ask", "tell"))
        self.name = str(getattr(function, "name", None) or getattr(function, "__name__", type(function).__name__))
        self.object = function if has else None
        self.outcomes: list[dict[str, Any]] = []

    def ask(self) -> Any:
        """What is to be evaluated next."""
        return self.function(list(self.outcomes)) if self.object is None else self.object.ask()

    def tell(self, outcomes: list[dict[str, Any]]) -> None:
        """What became of it."""
        self.outcomes += outcomes
        if self.object is not None:
            self.object.tell(outcomes)


def own_strategy(strategy: Any, runs: int | None, options: Mapping[str, Any]) -> Proposing | None:
    """The strategy of the user, if there is one."""
    if strategy is None or isinstance(strategy, str):
        return None
    if isinstance(strategy, type) or not (callable(strategy) or hasattr(strategy, "ask")):
        text = "a name, a tnsearch.Strategy such as Tnls(), an object with ask() and tell(), or a function"
        shown = " ".join(repr(strategy).split())
        raise TypeError(f"strategy is {shown:.80}; it must be {text}")
    if not callable(strategy) and not hasattr(strategy, "tell"):
        raise TypeError(f"strategy is a {type(strategy).__name__} with ask() but without tell()")
    if runs not in (None, 1):
        raise ValueError(f"runs is {runs}; a strategy of your own is one run")
    for name in options:
        raise TypeError(f"{name} is an option of a strategy by name; give it to your own strategy itself")
    return Proposing(strategy)


def own_work(loss: Any, evaluate: Any) -> Measured | Evaluated | None:
    """The functions of the user, if there are any."""
    if callable(loss) and evaluate is not None:
        raise ValueError("loss and evaluate are both functions; evaluate alone decides the error")
    if evaluate is not None:
        if not callable(evaluate):
            raise TypeError(f"evaluate is a {type(evaluate).__name__}; it must be a function of (structure, seed)")
        return Evaluated(cast(OwnEvaluation, evaluate))
    return Measured(cast(OwnLoss, loss)) if callable(loss) else None
