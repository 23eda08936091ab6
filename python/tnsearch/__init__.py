"""The smallest tensor network for a tensor: permutation, ranks and cores, with proofs."""

from . import tgp
from ._bounds import Bound, Certificate, Space, bound, certify, space
from ._compare import Comparison, compare
from ._complete import Completion, complete
from ._compress import Compressed, compress, decompress
from ._core import Network, Structure, __version__
from ._decompose import Decomposition, Rounded, decompose, round
from ._fit import FitResult, fit
from ._generate import Generated, generate
from ._groups import Adam, Als, Annealing, Budget, Exact, Greedy, Lm, Random, Tnale, TngaPlus, TngaStar, Tnls, Walk
from ._models import CompressedModel, Weights, compress_model, decompress_model
from ._pick import Picked, pick
from ._plots import plot_history, plot_pareto
from ._reconstruct import reconstruct
from ._result import Result
from ._search import search
from ._study import Study, Trial
from ._verify import Claim, Verified, verify

__all__ = [
    "Adam",
    "Als",
    "Annealing",
    "Bound",
    "Budget",
    "Certificate",
    "Claim",
    "Comparison",
    "Completion",
    "Compressed",
    "CompressedModel",
    "Decomposition",
    "Exact",
    "FitResult",
    "Generated",
    "Greedy",
    "Lm",
    "Network",
    "Picked",
    "Random",
    "Result",
    "Rounded",
    "Space",
    "Structure",
    "Study",
    "Tnale",
    "TngaPlus",
    "TngaStar",
    "Tnls",
    "Trial",
    "Verified",
    "Walk",
    "Weights",
    "__version__",
    "bound",
    "certify",
    "compare",
    "complete",
    "compress",
    "compress_model",
    "decompose",
    "decompress",
    "decompress_model",
    "fit",
    "generate",
    "pick",
    "plot_history",
    "plot_pareto",
    "reconstruct",
    "round",
    "search",
    "space",
    "tgp",
    "verify",
]
