"""What functions are asked about their data, in the words of the command line."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any, Union

import numpy as np

Split = Union[str, int, Sequence[Union[int, Sequence[int]]]]
Shape = Union[str, Sequence[int]]

#: Kinds of numbers by NumPy's names.
_KINDS = {"float32": "f32", "float64": "f64"}


def data_options(
    *,
    split: Split | None = None,
    reshape: Shape | None = None,
    column_major: bool = False,
    dtype: Any = None,
    mask_marks: str = "missing",
    nan_missing: bool = False,
    max_memory: int | str | None = None,
) -> dict[str, Any]:
    """The options as Rust reads them.

    >>> data_options(split=[(4, 4), 8], dtype="float32")["split"]
    '4x4,8'
    >>> data_options(reshape=(2, 3, 4))["reshape"]
    '2x3x4'
    """
    return {
        "split": split_text(split),
        "reshape": shape_text(reshape),
        "column_major": column_major,
        "dtype": kind_name(dtype),
        "mask_marks": mask_marks,
        "nan_missing": nan_missing,
        "max_memory": max_memory,
    }


def ket_shape(array: Any, split: Split | None, reshape: Shape | None) -> Shape | None:
    """The shape asked for; of a ket, 2^n entries in a vector or a single column, that of its n sites, with a note.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     ket_shape(np.ones((8, 1)), None, None), ket_shape(np.ones(12), None, None), ket_shape(np.ones(8), None, "2x4")
    ((2, 2, 2), None, '2x4')
    """
    shape = getattr(array, "shape", None)
    if split is not None or reshape is not None or not isinstance(shape, tuple):
        return reshape
    entries = shape[0] if len(shape) == 1 or (len(shape) == 2 and shape[1] == 1) else 0
    if not isinstance(entries, int) or entries < 4 or entries & (entries - 1):
        return reshape
    sites = entries.bit_length() - 1
    warnings.warn(
        f"X of shape {shape} is taken as a state of {sites} sites of dimension 2; reshape= takes it in another shape",
        stacklevel=3,
    )
    return (2,) * sites


def kind_name(dtype: Any) -> str | None:
    """The kind of number that a dtype of NumPy is.

    >>> kind_name(np.float32), kind_name("complex64"), kind_name("f64"), kind_name(None)
    ('f32', 'complex64', 'f64', None)
    """
    if dtype is None:
        return None
    # NumPy takes "f32" for a float of 32 bytes.
    if isinstance(dtype, str):
        return _KINDS.get(dtype, dtype)
    name: str = np.dtype(dtype).name
    return _KINDS.get(name, name)


def shape_text(shape: Shape | None) -> str | None:
    """A shape as the command line has it."""
    if shape is None or isinstance(shape, str):
        return shape
    return "x".join(whole("reshape", side) for side in listed("reshape", shape))


def split_text(split: Split | None) -> str | None:
    """A split as the command line has it."""
    if split is None or isinstance(split, str):
        return split
    if not isinstance(split, Sequence):
        return whole("split", split)
    return ",".join(
        "x".join(whole("split", f) for f in entry) if isinstance(entry, Sequence) else whole("split", entry)
        for entry in split
    )


def listed(name: str, values: Any) -> Sequence[Any]:
    """Values of which there may be several."""
    if isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (bytes, bytearray)):
        return list(values)
    text = " ".join(repr(values).split())
    raise TypeError(f"{name} is {text}; it must be a text, or a list of whole numbers")


def whole(name: str, value: Any) -> str:
    """A whole number as text.

    >>> whole("split", 2.5)
    Traceback (most recent call last):
        ...
    TypeError: split has 2.5; it must have whole numbers
    """
    try:
        return str(operator.index(value))
    except TypeError:
        raise TypeError(f"{name} has {' '.join(repr(value).split())}; it must have whole numbers") from None
