"""From a network back to its tensor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Network
from ._keywords import known_options, unexpected
from ._labels import as_it_was

if TYPE_CHECKING:
    from numpy.typing import NDArray


def network_of(given: Any, max_memory: int | str | None = None) -> Network:
    """A network, or that of a file or of a result."""
    if isinstance(given, (str, os.PathLike)):
        return Network.load(given, max_memory=max_memory)
    found = given if isinstance(given, Network) else getattr(given, "network", None)
    if not isinstance(found, Network):
        raise TypeError(f"a {type(given).__name__} is no Network")
    return found


def reconstruct(
    network: Network | str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Any:
    """The tensor of a network, in the mode order and shape that it had; of a picture the picture.

    Parameters
    ----------
    network
        A network, something that has one (``result``), or a file that it was saved to.
    output
        Write a file instead, as ``tnsearch reconstruct`` does: ``.npy``, or ``.png`` or ``.jpg`` with 8 bits.
    max_memory
        Refuse what needs more, in bytes or as ``"4GB"``.

    Returns
    -------
    numpy.ndarray or None
        Where the network came from a picture, its pixels: H x W or H x W x 3 of uint8, numbers below 0 and above 1 cut
        off, as the ``.png`` has them. Else the tensor: of the result of a search of a ``DataArray`` or a ``DataFrame``, one
        of these with the same labels. None where a file was written.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> X = np.multiply.outer(np.arange(1.0, 5), np.arange(1.0, 7))
    >>> made = tnsearch.decompose(X, max_re=1e-6)
    >>> bool(np.allclose(tnsearch.reconstruct(made.network), X))
    True
    """
    unexpected("reconstruct", options, known_options(reconstruct))
    asked = {
        "input": os.fspath(network) if isinstance(network, (str, os.PathLike)) else None,
        "output": None if output is None else os.fspath(output),
        "max_memory": max_memory,
    }
    made: NDArray[Any] | None = _core.reconstruct(network_of(network, max_memory), asked)
    return made if made is None else as_it_was(made, getattr(network, "_labels", None))
