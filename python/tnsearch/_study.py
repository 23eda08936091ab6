"""Ask and tell: the search proposes structures, the user evaluates them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core import Engine, Network, Structure, describe_request, own_answer
from ._keywords import known_options, unexpected
from ._result import Result, result_of
from ._search import order, search

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Seconds between two looks for signals.
TICK = 0.1


@dataclass(frozen=True)
class Trial:
    """A structure to be evaluated.

    Attributes
    ----------
    number
        Which one it is, from 0, in the order of asking.
    structure
        The structure: a graph whose vertices are its own.
    seed
        The seed that a fit of it should use.
    """

    number: int
    structure: Structure
    seed: int
    _ticket: int
    _request: bytes


class Study:
    """A search whose structures are evaluated by whoever asks for them.

    The strategies, the journal and the resume are those of :func:`search`; what counts is told with :meth:`tell`. The
    order of telling makes no difference: the same errors give the same answer.

    Parameters
    ----------
    shape
        The shape of the tensor, of any size: its entries are not needed. Or the tensor itself.
    max_loss, max_params, lambda_
        What is looked for, as in :func:`search`; errors are those told.
    workers
        How many trials are to be open at a time.
    **options
        Those of :func:`search`: ``template``, ``strategy``, ``seed``, ``journal``, ``resume``, ...

    Examples
    --------
    >>> import tnsearch
    >>> study = tnsearch.Study((4, 4, 4, 4), template="ring", max_params=40, strategy="random", samples=20)
    >>> while (trial := study.ask()) is not None:
    ...     study.tell(trial, abs(sum(trial.structure.ranks) - 6) / 100)
    >>> best = study.result()
    >>> best.evaluations > 0, best.params <= 40
    (True, True)
    """

    def __init__(
        self,
        shape: Sequence[int] | ArrayLike,
        *,
        max_loss: float | None = None,
        max_params: int | None = None,
        lambda_: float | None = None,
        workers: int = 1,
        **options: Any,
    ) -> None:
        others = "callback progress parallel evaluate loss front certificate certificate_cases report".split()
        names = set(known_options(search)) - set(others)
        strange = {
            name: options.pop(name) for name in list(options) if name in known_options(search) and name not in names
        }
        unexpected("Study", strange, sorted(names))
        settings = {name: options.pop(name) for name in list(options) if name in names}
        settings.update(max_loss=max_loss, max_params=max_params, lambda_=lambda_)
        asked = order("Study", settings, options, own=True)
        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers is {workers!r}; it must be a whole number of at least 1")
        asked["workers"] = workers
        dims = _shape_alone(shape)
        if dims is not None:
            asked["shape"] = dims
        self._engine = Engine(shape, asked)
        self._inbox: deque[tuple[Any, ...]] = deque()
        self._waiting: dict[int, bytes] = {}
        self._open: dict[int, Trial] = {}
        self._asked = 0
        self._ended = False
        self._result: Result | None = None

    def ask(self) -> Trial | None:
        """The next structure to be evaluated; None when the search has ended."""
        while True:
            if self._waiting:
                ticket = next(iter(self._waiting))
                request = self._waiting.pop(ticket)
                structure, seed = describe_request(request)
                trial = Trial(self._asked, structure, seed, ticket, request)
                self._asked += 1
                self._open[ticket] = trial
                return trial
            if self._ended:
                return None
            if self._open and self._engine.idle():
                raise RuntimeError(
                    f"{len(self._open)} trials are open and the search cannot go on without them; tell() one of them first"
                )
            self._listen()

    def _listen(self) -> None:
        if not self._inbox:
            self._engine.collect(self._inbox, TICK)
        while self._inbox:
            # It leaves when it was handled: Ctrl-C at any moment loses none.
            kind, *what = self._inbox[0]
            if kind == "submit":
                self._waiting[what[0]] = what[1]
            elif kind == "cancel":
                self._waiting.pop(what[0], None)
                self._open.pop(what[0], None)
            self._inbox.popleft()
        self._ended = self._engine.ended() and not self._inbox

    def tell(self, trial: Trial, error: float, network: Network | None = None) -> None:
        """The error of a trial's structure, and its network where there is one. A trial that the search does not need
        any more is left out."""
        if not isinstance(trial, Trial):
            raise TypeError(f"the trial is a {type(trial).__name__}; it must be one that ask() gave")
        answer = own_answer(trial._request, float(error), network)
        if self._open.get(trial._ticket) is trial:
            del self._open[trial._ticket]
            self._engine.answer(trial._ticket, answer)

    def stop(self) -> None:
        """Ends the search with the best so far."""
        self._engine.stop()

    def result(self) -> Result:
        """The answer so far: the search is ended, if it has not ended yet."""
        if self._result is None:
            self._engine.stop()
            while not self._ended:
                self._listen()
            self._result = result_of(self._engine.result())
        return self._result

    def __enter__(self) -> Study:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _shape_alone(shape: Any) -> list[int] | None:
    """The sides of a shape; None where it is a tensor.

    >>> _shape_alone((4,) * 3), _shape_alone(np.ones((2, 2)))
    ([4, 4, 4], None)
    """
    if isinstance(shape, Sequence) and all(isinstance(side, (int, np.integer)) for side in shape):
        wrong = [int(side) for side in shape if side < 1]
        if wrong:
            raise ValueError(f"shape is {tuple(shape)}; every side is at least 1")
        return [int(side) for side in shape]
    return None
