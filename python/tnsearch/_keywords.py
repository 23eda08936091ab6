"""Options that there are none of."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


def unexpected(function: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raises a ``TypeError`` for the first of the options, with the one that may have been meant.

    >>> unexpected("search", {"max_er": 0.1}, ["max_re", "max_rank"])
    Traceback (most recent call last):
        ...
    TypeError: search() got an unexpected keyword argument 'max_er'; did you mean 'max_re'?
    >>> unexpected("search", {}, ["max_re"])
    """
    for name in options:
        text = f"{function}() got an unexpected keyword argument {name!r}"
        near = difflib.get_close_matches(name, list(known), n=1)
        raise TypeError(text + (f"; did you mean {near[0]!r}?" if near else ""))


def known_options(function: Any) -> list[str]:
    """The names of a function's options.

    >>> known_options(lambda x, *, seed=0, **options: None)
    ['seed']
    """
    code = function.__code__
    return list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
