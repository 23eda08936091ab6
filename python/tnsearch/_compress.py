"""Compression: arrays and pictures as networks, and back."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from ._core import Network, Structure
from ._data import Shape, Split, data_options, shape_text
from ._keywords import known_options, unexpected
from ._reconstruct import network_of
from ._result import fields

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: What pictures and arrays are given by: a file, or an array.
Source = Union["ArrayLike", str, "os.PathLike[str]"]


@dataclass(frozen=True, repr=False)
class Compressed:
    """An array or a picture that was compressed.

    Attributes
    ----------
    network, structure
        The network, whose ``save`` writes the file of the command line, and its structure.
    params, log10_cr
        The entries of all cores, and the logarithm of how many times fewer they are.
    rse, re, re_unrounded
        The squared relative error of the file, the root of it, and that before the cores were rounded.
    psnr, peak
        The PSNR in dB, and the peak it refers to: 1 for pictures, the largest absolute value of an array.
    cores, bytes, bytes_before
        The numbers in the file, its bytes, and those of the array or file that was compressed.
    target_reached
        Whether the file is what was asked for.
    stopped_by
        Why the search ended.
    shape, dtype, picture
        What was compressed.
    """

    network: Network
    structure: Structure
    params: int
    phi: float
    log10_cr: float
    rse: float
    re: float
    re_unrounded: float
    psnr: float
    peak: float
    cores: str
    bytes: int
    bytes_before: int
    target_reached: bool
    stopped_by: str
    shape: tuple[int, ...]
    dtype: str
    picture: bool
    seed: int
    seconds: float

    def __repr__(self) -> str:
        missed = "" if self.target_reached else ", target NOT reached"
        return (
            f"<Compressed: {self.bytes_before} -> {self.bytes} bytes, {self.params} params, "
            f"re {self.re:.3g}, {self.psnr:.1f} dB{missed}>"
        )


def compress(
    X: Source,
    *,
    max_re: float | None = None,
    psnr: float | None = None,
    max_params: int | None = None,
    cores: str = "f32",
    template: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    seed: int = 0,
    max_seconds: float = 20.0,
    threads: int | None = None,
    max_memory: int | str | None = None,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    tensorise: str | None = None,
    factors: str | None = None,
    grey: bool = False,
    resize: str | Sequence[int] | None = None,
    crop: bool = False,
    **options: Any,
) -> Compressed:
    """Compress an array or a picture into one network.

    Parameters
    ----------
    X
        An array, or a file: ``photo.png``, ``photo.jpg``, ``X.npy``, ``X.npz:key`` or ``X.safetensors:key``.
    max_re, psnr, max_params
        What is asked for, one of: the fewest params with this relative error (0.01, the default for arrays), the fewest
        with this PSNR in dB (30, the default for pictures), or the smallest error with so many params.
    cores
        The numbers in the file: ``"f16"``, ``"f32"`` or ``"f64"``.
    template
        The format; by default several, of which the best is chosen.
    seed, max_seconds, threads, max_memory
        Of the search; it ends after 20 seconds with the best so far.
    split, reshape, column_major
        Another shape; see :func:`tnsearch.search`.
    tensorise, factors, grey, resize, crop
        How a picture becomes a tensor, as on the command line.

    Returns
    -------
    Compressed
        With ``network``, ``re``, ``psnr`` and ``bytes``.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> i, j, k = np.ogrid[0:16, 0:16, 0:16]
    >>> X = np.sin((i + j) / 8.0) * np.exp(-k / 9.0)
    >>> small = tnsearch.compress(X, max_re=0.001)
    >>> small.target_reached, small.bytes < small.bytes_before
    (True, True)
    >>> back = tnsearch.decompress(small.network)
    >>> bool(np.linalg.norm(back - X) <= 0.001 * np.linalg.norm(X))
    True
    """
    unexpected("compress", options, known_options(compress))
    asked = {
        "data": data_options(split=split, reshape=reshape, column_major=column_major, max_memory=max_memory),
        "picture": {
            "tensorise": tensorise,
            "factors": factors,
            "grey": grey,
            "resize": shape_text(resize),
            "crop": crop,
        },
        "max_re": max_re,
        "psnr": psnr,
        "max_params": max_params,
        "cores": cores,
        "seed": seed,
        "max_seconds": max_seconds,
        "threads": threads,
    }
    values, network = _core.compress(X, template, asked)
    return Compressed(**fields(values, network, shape=tuple(values["shape"])))


def decompress(network: Network | str | os.PathLike[str], *, max_memory: int | str | None = None) -> NDArray[Any]:
    """The array that was compressed, with its shape and dtype; of a picture its samples, 0 to 255 or 65535.

    Parameters
    ----------
    network
        The network of :func:`compress`, or a file that it was saved to.
    max_memory
        Refuse what needs more, in bytes or as ``"4GB"``.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> X = np.add.outer(np.arange(16), np.arange(16)).astype("int16")
    >>> small = tnsearch.compress(X, max_re=1e-6, cores="f64")
    >>> bool((tnsearch.decompress(small.network) == X).all())
    True
    """
    network = network_of(network, max_memory)
    made: NDArray[Any] = np.load(io.BytesIO(_core.decompress(network, max_memory)))
    return made
