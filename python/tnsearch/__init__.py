"""The smallest tensor network for a tensor: permutation, ranks and cores, with proofs."""

from ._core import Network, Structure, __version__
from ._result import Result
from ._search import search

__all__ = ["Network", "Result", "Structure", "__version__", "search"]
