"""What was claimed about a network, computed anew along another path."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Network
from ._data import Shape, Split, data_options
from ._keywords import known_options, unexpected
from ._result import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


@dataclass(frozen=True, repr=False)
class Claim:
    """One claim, and what came of it.

    Attributes
    ----------
    claim
        The field that makes it, or what else is claimed.
    verdict
        ``"holds"``, ``"does_not_hold"``, ``"not_checked"``, or ``"recorded"``: it says how a run went, which no file can show,
        and contradicts nothing.
    claimed, found
        What was claimed and what was found; None where that is no single value.
    why
        More in words.
    """

    claim: str
    verdict: str
    claimed: Any
    found: Any
    why: str | None

    def __repr__(self) -> str:
        why = "" if self.why is None else f" ({self.why})"
        return f"<Claim: {self.claim} {self.verdict.replace('_', ' ')}{why}>"


@dataclass(frozen=True, repr=False)
class Verified:
    """What came of all claims.

    Attributes
    ----------
    verdict
        ``"holds"``: every claim was checked and holds; ``"does_not_hold"``: some claim does not, or two contradict each other;
        ``"not_checked"``: nothing wrong was found, but not every claim was checked.
    claims
        Each :class:`Claim`.
    """

    verdict: str
    claims: list[Claim]

    @property
    def holds(self) -> bool:
        """Whether every claim was checked, and holds."""
        return self.verdict == "holds"

    def _of(self, verdict: str) -> list[Claim]:
        return [claim for claim in self.claims if claim.verdict == verdict]

    @property
    def wrong(self) -> list[Claim]:
        """The claims that do not hold, or that others contradict."""
        return self._of("does_not_hold")

    @property
    def unchecked(self) -> list[Claim]:
        """The claims that were not checked."""
        return self._of("not_checked")

    def __repr__(self) -> str:
        held, wrong, left = len(self._of("holds")), self.wrong, self.unchecked
        named = ", ".join(claim.claim for claim in wrong + left)
        return f"<Verified: {held} hold, {len(wrong)} do not, {len(left)} not checked{': ' if named else ''}{named}>"


def verify(
    X: ArrayLike,
    net: Network | Result | str | os.PathLike[str] | None = None,
    summary: Result | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    certificate: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    template: str | Mapping[str, Any] | None = None,
    max_rank: int | None = None,
    strict: bool = False,
    max_cases: int = 200_000,
    mask: ArrayLike | None = None,
    mask_marks: str = "missing",
    nan_missing: bool = False,
    missing: float | None = None,
    seed: int = 0,
    loss: str | None = None,
    dtype: DTypeLike | str | None = None,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    max_seconds: float | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Verified:
    """Check what was claimed about a network: everything is computed anew, along another path.

    Every field of a summary is a claim that is checked, or a record of how a run went, or unknown; nothing is passed over. The
    code that does so shares nothing with the search.

    Parameters
    ----------
    X
        The tensor, as it was given.
    net
        The network, the file of one, or the result of a search, whose claims are then checked.
    summary
        What is claimed: the result of a search, the JSON that the command line writes (a file, or its contents as a dict).
    certificate
        A certificate that :func:`search` or :func:`certify` wrote (``certificate=``), or the command line: a file, or its contents.
    template, max_rank
        What the lower bound is about, where the summary does not say it.
    strict
        Count what is only on record as not checked, too.
    max_cases
        Cases that a proof may have where there is no certificate.
    mask, mask_marks, nan_missing, missing, seed
        Which entries are known; see :func:`tnsearch.complete`.
    loss
        The loss, where it was another than the squared error.
    dtype, split, reshape, column_major
        The data, as it was taken; see :func:`tnsearch.search`.
    max_seconds, max_memory
        What it may use; what was not checked by then is said.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:4, 0:4, 0:4]
    >>> X = i + 2.0 * j + 4 * k
    >>> found = tnsearch.search(X, max_re=1e-3, template="path")
    >>> checked = tnsearch.verify(X, found, template="path", max_rank=7)
    >>> checked.holds, checked.wrong
    (True, [])
    """
    unexpected("verify", options, known_options(verify))
    if isinstance(net, Result):
        summary = net if summary is None else summary
        net = net.network
    elif net is not None and not isinstance(net, Network):
        net = Network.load(net)
    if net is None and summary is None and certificate is None:
        raise TypeError("what is to be checked? give a network, a summary or a certificate")
    asked = {
        "data": data_options(
            split=split,
            reshape=reshape,
            column_major=column_major,
            dtype=dtype,
            mask_marks=mask_marks,
            nan_missing=nan_missing,
            max_memory=max_memory,
        ),
        "loss": loss,
        "template": template if template is None or isinstance(template, str) else dict(template),
        "max_rank": max_rank,
        "max_cases": max_cases,
        "missing": missing,
        "seed": seed,
        "strict": strict,
        "max_seconds": max_seconds,
    }
    said = None if summary is None else contents(summary)
    proof = None if certificate is None else contents(certificate)
    values = _core.verify(X, net, said, proof, mask, asked)
    return Verified(values["verdict"], [Claim(**claim) for claim in values["claims"]])


def contents(given: Result | Mapping[str, Any] | str | os.PathLike[str]) -> str | Path:
    """JSON, or the file that it is in."""
    if isinstance(given, Result):
        return given._summary
    return json.dumps(dict(given)) if isinstance(given, Mapping) else Path(given)
