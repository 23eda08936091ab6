"""Searches on other processes and machines: pools of workers, and what drives them.

`tnsearch.search(..., parallel=...)` uses it; the command line does through `python -m tnsearch.parallel.broker`.
"""

from .clusters import MissingPackage, open_pool
from .drive import Driver, Statistics, Work
from .pools import Pool
from .worker import Done, Failure, Mapped, Missing, Sent, evaluate

__all__ = [
    "Done",
    "Driver",
    "Failure",
    "Mapped",
    "Missing",
    "MissingPackage",
    "Pool",
    "Sent",
    "Statistics",
    "Work",
    "evaluate",
    "open_pool",
]
