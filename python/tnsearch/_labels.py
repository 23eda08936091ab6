"""Arrays with names for their axes, of xarray and pandas: how they come back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Labels:
    """What an array was beside its entries.

    Attributes
    ----------
    kind
        ``"xarray"`` or ``"pandas"``.
    dims, coords, name, attrs
        Of a ``DataArray``.
    index, columns
        Of a ``DataFrame``.
    """

    kind: str
    dims: tuple[Any, ...] = ()
    coords: Any = None
    name: Any = None
    attrs: Any = None
    index: Any = None
    columns: Any = None


def labels_of(array: Any) -> Labels | None:
    """The labels of a ``DataArray`` or a ``DataFrame``; none of anything else.

    Nothing is imported for it: what is one was made by a package that is there.
    """
    xarray, pandas = sys.modules.get("xarray"), sys.modules.get("pandas")
    if xarray is not None and isinstance(array, xarray.DataArray):
        coords = {name: coord.copy() for name, coord in array.coords.items()}
        return Labels("xarray", array.dims, coords, array.name, dict(array.attrs))
    if pandas is not None and isinstance(array, pandas.DataFrame):
        return Labels("pandas", index=array.index, columns=array.columns)
    return None


def as_xarray(entries: Any, labels: Labels | None) -> Any:
    """A ``DataArray`` of entries, with the labels of the array that they are for."""
    from ._interop import needed

    xarray = needed("xarray", "to_xarray()")
    if labels is None:
        return xarray.DataArray(entries)
    if labels.kind == "pandas":
        return xarray.DataArray(as_pandas(entries, labels))
    return xarray.DataArray(entries, dims=labels.dims, coords=labels.coords, name=labels.name, attrs=labels.attrs)


def as_pandas(entries: Any, labels: Labels | None) -> Any:
    """A ``DataFrame`` of the entries of a matrix, with the labels of the one that they are for."""
    from ._interop import needed

    pandas = needed("pandas", "to_pandas()")
    if entries.ndim != 2:
        raise ValueError(f"the tensor has {entries.ndim} modes; a DataFrame has 2 (to_xarray() takes any number)")
    if labels is None:
        return pandas.DataFrame(entries)
    if labels.kind == "xarray":
        return as_xarray(entries, labels).to_pandas()
    return pandas.DataFrame(entries, index=labels.index, columns=labels.columns)


def as_it_was(entries: Any, labels: Labels | None) -> Any:
    """Entries as what the array was that they are for."""
    if labels is None:
        return entries
    return (as_xarray if labels.kind == "xarray" else as_pandas)(entries, labels)
