"""What was claimed about a network, computed anew along another path."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Network
from ._data import Shape, Split, data_options
from ._keywords import known_options, unexpected
from ._result import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

#: What of a result is said in the same words in the summary of the command.
_SAME = (
    "strategy params phi loss target_reached certified_optimal proven_impossible direct samples evaluations cached pruned "
    "refused speculative seconds stopped_by history formats runs run run_seed seed objective shrunk"
).split()


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
        A certificate that ``search --certificate`` or ``certify --certificate`` wrote: a file, or its contents.
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
    if isinstance(summary, Result):
        claims: Any = _summary(summary)
    else:
        claims = _contents("summary", summary)
    proof = _contents("certificate", certificate)
    if net is None and claims is None and proof is None:
        raise TypeError("what is to be checked? give a network, a summary or a certificate")
    if dtype is None:
        said = (claims or {}).get("dtype") or ((proof or {}).get("data") or {}).get("dtype")
        dtype = said if isinstance(said, str) else net.dtype if net is not None else None
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
    text = None if claims is None else json.dumps(claims)
    proof_text = None if proof is None else json.dumps(proof)
    values = _core.verify(X, net, text, proof_text, mask, asked)
    return Verified(values["verdict"], [Claim(**claim) for claim in values["claims"]])


def _contents(what: str, given: Any) -> dict[str, Any] | None:
    """A file of JSON, or what would be in it."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return dict(given)
    with open(given, encoding="utf-8") as file:
        found = json.load(file)
    if not isinstance(found, dict):
        raise ValueError(f"{os.fspath(given)!r} is no {what}")
    return found


def _summary(result: Result) -> dict[str, Any]:
    """The claims of a result, by the names of the command's summary."""
    said = {name: getattr(result, name) for name in _SAME}
    said |= {"dims": list(result.dims), "order": len(result.dims), "lower_bound": result.lower_bound}
    measure = result.measure["id"]
    said |= {"rse": result.rse, "re": result.re} if measure == "rse" else {measure: result.error}
    own: Any = None
    if result.structure is not None:
        own = result.structure.to_dict()
        said |= own | {"log10_cr": result.log10_cr}
    said["pareto"] = [
        {name: value for name, value in point.items() if name != "structure"} | point["structure"].to_dict()
        for point in result.pareto
    ]
    for name in ("bound_over", "statement", "rounding"):
        value = getattr(result, name, None)
        if value is not None:
            said[name] = value
    return said
