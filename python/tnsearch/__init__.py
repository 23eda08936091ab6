"""The smallest tensor network for a tensor: permutation, ranks and cores, with proofs."""

from ._core import Structure, __version__

__all__ = ["Structure", "__version__"]
