"""One point of a search's Pareto front as a network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Network, Structure
from ._keywords import known_options, unexpected
from ._result import Result, fields
from ._verify import contents

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, repr=False)
class Picked:
    """A point of a search's Pareto front.

    Attributes
    ----------
    network, structure, params, phi, log10_cr
        The network, and its size.
    rse, re
        Its squared relative error, and the root of it.
    rse_recorded
        The error that the search had.
    target_reached
        Whether it is what was asked for.
    seed
        The seed of its fit.
    interrupted
        Whether the fit was ended early.
    points
        Of how many points it was chosen.
    """

    network: Network
    structure: Structure
    params: int
    phi: float
    log10_cr: float
    rse: float
    re: float
    rse_recorded: float
    target_reached: bool
    seed: int
    interrupted: bool
    points: int

    def __repr__(self) -> str:
        return f"<Picked: {self.params} params, re {self.re:.3g}, of {self.points} points>"


def pick(
    search: Result | Mapping[str, Any] | str | os.PathLike[str],
    X: ArrayLike | str | os.PathLike[str] | None = None,
    *,
    params: int | None = None,
    max_re: float | None = None,
    max_rse: float | None = None,
    max_seconds: float | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Picked:
    """Make a network of one point of a search's Pareto front.

    A search evaluates many structures; those that no other beats in both params and error are its front. The point is
    fitted again with the search's own settings and seed, which gives the same network (nearly the same where the search
    began fits at the cores of others, or changed structures while they were fitted).

    Parameters
    ----------
    search
        The result of a search, the JSON summary that the command line writes (a file, or its contents), or a journal.
    X
        The tensor: an array as it was given, or a file; by default the file that the search names.
    params, max_re, max_rse
        Which point, one of: the smallest error with at most so many params, or the fewest params with a relative error of
        at most ``max_re``, or the same by its square.
    max_seconds, max_memory
        What it may use.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:4, 0:4, 0:4]
    >>> X = i + 2.0 * j + 4 * k
    >>> found = tnsearch.search(X, max_re=1e-3, template="path")
    >>> tnsearch.pick(found, X, params=found.params).target_reached
    True
    """
    unexpected("pick", options, known_options(pick))
    if sum(value is not None for value in (params, max_re, max_rse)) != 1:
        raise TypeError("which point? give one of params, max_re and max_rse")
    asked = {
        "params": params,
        "max_re": max_re,
        "max_rse": max_rse,
        "max_seconds": max_seconds,
        "max_memory": max_memory,
    }
    values, network = _core.pick(contents(search), X, asked)
    return Picked(**fields(values, network))
