"""The smallest tensor network for a tensor: permutation, ranks and cores, with proofs."""

from ._core import Network, Structure, __version__
from ._plots import plot_history, plot_pareto
from ._result import Result
from ._search import search
from ._study import Study, Trial

__all__ = [
    "Network",
    "Result",
    "Structure",
    "Study",
    "Trial",
    "__version__",
    "plot_history",
    "plot_pareto",
    "search",
]
