"""Arrays of other libraries as NumPy arrays, without a copy where that can be."""

from __future__ import annotations

from typing import Any

import numpy as np


def shared(array: Any) -> Any:
    """A NumPy array that reads the entries of a PyTorch tensor, a JAX array or anything else with ``__dlpack__``.

    What NumPy has no type for (bfloat16, 8 bits) becomes float32, which holds it exactly; what is on a device comes to
    the host. Anything else is returned as it is.
    """
    if hasattr(array, "detach") and hasattr(array, "resolve_conj"):
        return of_torch(array.detach())
    if hasattr(array, "__dlpack__"):
        try:
            array = np.from_dlpack(array)
        except (TypeError, ValueError, BufferError, RuntimeError):
            # On a device, read-only, or of a type that DLPack or NumPy does not know.
            array = np.asarray(array)
    # The types of ml_dtypes, which JAX has, are void to NumPy.
    if isinstance(array, np.ndarray) and array.dtype.kind == "V" and array.dtype.names is None:
        if "float" in array.dtype.name:
            return array.astype(np.float32)
        if "int" in array.dtype.name:
            return array.astype(np.int32)
    return array


def of_torch(tensor: Any) -> Any:
    """The entries of a PyTorch tensor that has no gradient."""
    if tensor.layout is not type_of(tensor, "strided"):
        raise TypeError(f"X is a PyTorch tensor of layout {tensor.layout}; give X.to_dense()")
    # Conjugation and signs that PyTorch has put off are done; a tensor without them is not copied.
    tensor = tensor.cpu().resolve_conj().resolve_neg()
    try:
        return tensor.numpy()
    except TypeError:
        return tensor.to(type_of(tensor, "float32")).numpy()


def type_of(tensor: Any, name: str) -> Any:
    """Something of the module torch that a tensor comes from."""
    import importlib

    return getattr(importlib.import_module("torch"), name)
