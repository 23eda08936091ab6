"""The weights of models, made smaller and dense again."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from ._arrays import shared
from ._keywords import known_options, unexpected

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The types of the format by NumPy's names.
_TYPES = {
    "BOOL": "bool",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_STORED = {name: stored for stored, name in _TYPES.items()} | {"bfloat16": "BF16"}
#: Types of PyTorch and JAX that no type of NumPy stands for; float32 would be another file.
_UNKNOWN = re.compile(r"float[468]_|complex32$|u?int[1-7]$")


class Weights(dict[str, "NDArray[Any]"]):
    """The tensors of a model by their names, and what its file says beside them.

    Attributes
    ----------
    metadata
        The texts that the file notes.
    stored
        The types of tensors that NumPy has none for, as the format calls them: a ``BF16`` tensor is held as float32, any
        other (``F8_E4M3``) as its bytes.
    shapes
        The shapes of those that are held as their bytes.
    """

    def __init__(
        self,
        *tensors: Any,
        metadata: Mapping[str, str] | None = None,
        stored: Mapping[str, str] | None = None,
        shapes: Mapping[str, Sequence[int]] | None = None,
    ):
        super().__init__(*tensors)
        self.metadata = dict(metadata or {})
        self.stored = dict(stored or {})
        self.shapes = {name: tuple(shape) for name, shape in (shapes or {}).items()}


#: A model: a safetensors file, or its tensors by their names (arrays, PyTorch tensors).
Model = Union[str, "os.PathLike[str]", Mapping[str, Any], "CompressedModel"]


@dataclass(frozen=True, repr=False)
class CompressedModel:
    """A model that was compressed.

    Attributes
    ----------
    summary
        What the command writes as JSON: ``params``, ``bytes``, ``re``, ``layers``, ``left_alone``, ``target_reached`` and
        more.
    weights
        The cores by their names, with the description of them in ``weights.metadata``; None where a file was written.
    output
        That file.
    """

    summary: dict[str, Any]
    weights: Weights | None = field(default=None)
    output: Path | None = field(default=None)

    def __repr__(self) -> str:
        said = self.summary
        missed = "" if said["target_reached"] else ", target NOT reached"
        return f"<CompressedModel: {said['params_before']} -> {said['params']} params, re {said['re']:.3g}{missed}>"


def read_weights(path: str | os.PathLike[str]) -> Weights:
    """The tensors of a safetensors file."""
    tensors, notes = _core.read_weights(os.fspath(path))
    made = Weights(metadata=dict(notes))
    for name, stored, shape, data in tensors:
        if stored in _TYPES:
            made[name] = np.frombuffer(data, _TYPES[stored]).reshape(shape).copy()
            continue
        made.stored[name] = stored
        if stored == "BF16":
            wide = np.frombuffer(data, "<u2").astype("<u4") << 16
            made[name] = wide.view("<f4").reshape(shape)
        else:
            made[name] = np.frombuffer(data, "uint8").copy()
            made.shapes[name] = tuple(shape)
    return made


def write_weights(path: str | os.PathLike[str], weights: Mapping[str, Any]) -> None:
    """Writes tensors by their names as a safetensors file, in their order."""
    kinds = weights.stored if isinstance(weights, Weights) else {}
    notes = weights.metadata if isinstance(weights, Weights) else {}
    shapes = weights.shapes if isinstance(weights, Weights) else {}
    tensors = []
    for name, tensor in weights.items():
        if not isinstance(name, str):
            raise TypeError(f"a tensor is called {name!r}; names must be text")
        # As the library of the tensor calls it: NumPy gets bfloat16 as float32.
        given = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
        if _UNKNOWN.match(given):
            raise TypeError(f"tensor {name!r} is of type {given}, which arrays cannot hold; give its file, or make it bfloat16")
        array = np.asarray(shared(tensor))
        shape = array.shape
        stored = kinds.get(name) or _STORED.get(given) or _STORED.get(array.dtype.name, "")
        if stored == "BF16":
            bits = np.ascontiguousarray(array, "<f4").view("<u4")
            # To the nearest, of two to the even one.
            data = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
        elif stored in _TYPES:
            data = array.astype(np.dtype(_TYPES[stored]).newbyteorder("<"), copy=False).tobytes()
        elif name in shapes and array.dtype == np.uint8:
            shape, data = shapes[name], array.tobytes()
        else:
            raise TypeError(f"tensor {name!r} is of type {stored or array.dtype}, which arrays cannot hold; give its file")
        tensors.append((name, stored, list(shape), data))
    _core.write_weights(os.fspath(path), tensors, list(notes.items()))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tnsearch-") as name:
        yield Path(name)


def _file_of(model: Model, folder: Path, name: str) -> Path:
    """The file of a model, written where it is not in one."""
    if isinstance(model, CompressedModel):
        model = model.weights if model.weights is not None else model.output or ""
    if isinstance(model, (str, os.PathLike)):
        return Path(model)
    if not isinstance(model, Mapping):
        raise TypeError(f"a {type(model).__name__} is no model; give a safetensors file, or a dict of names and arrays")
    write_weights(folder / name, model)
    return folder / name


def compress_model(
    model: Model,
    *,
    output: str | os.PathLike[str] | None = None,
    keep_re: float | None = None,
    max_params: int | None = None,
    max_bytes: int | None = None,
    max_multiply_adds: int | None = None,
    max_loss: str | Callable[[Path], float] | None = None,
    allow: float = 0.01,
    cost: str = "params",
    weigh: str | None = None,
    calibration: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    min_entries: int = 256,
    trees: bool = True,
    products: bool = True,
    cores: str | None = None,
    dense: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    threads: int | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> CompressedModel:
    """Make the weights of a model smaller, within one budget over all its layers.

    Parameters
    ----------
    model
        A safetensors file, or its tensors by their names: NumPy arrays or PyTorch tensors (``module.state_dict()``).
    output
        The file to write, that of ``tnsearch compress-model``; None: the cores are in ``weights`` of the result.
    keep_re, max_params, max_bytes, max_multiply_adds, max_loss
        What is asked for, one of: the least cost with this relative error (0.05 by default), the least error with so many
        params, bytes or multiply-adds, or the least cost with which a loss rises by at most ``allow``: a command, or a
        function of the path of a dense model file.
    allow, cost, weigh, min_entries, trees, products, cores
        As on the command line.
    calibration
        The inputs of layers by their names, or their file: errors are then measured on outputs.
    dense
        Write the dense weights to this file, too.
    resume
        Go on with a run that was ended; needs ``output``.
    seed, threads, max_memory
        Same seed, same model, same settings: same bits.

    Returns
    -------
    CompressedModel
        With ``summary``, and ``weights`` or ``output``. :func:`decompress_model` takes it.

    Examples
    --------
    >>> import numpy as np, tnsearch
    >>> u, v = np.random.default_rng(0).standard_normal((2, 48, 2))
    >>> made = tnsearch.compress_model({"layer": u @ v.T, "bias": np.zeros(48)}, keep_re=0.01)
    >>> made.summary["params_before"], made.summary["params"]
    (2352, 240)
    >>> back = tnsearch.decompress_model(made)
    >>> list(back), bool(np.allclose(back["layer"], u @ v.T))
    (['layer', 'bias'], True)
    """
    unexpected("compress_model", options, known_options(compress_model))
    if resume and output is None:
        raise ValueError("resume goes on with what stands beside output; give that, too")
    measure = max_loss if callable(max_loss) else None
    asked = {
        "keep_re": keep_re,
        "max_params": max_params,
        "max_bytes": max_bytes,
        "max_multiply_adds": max_multiply_adds,
        "max_loss": max_loss if measure is None else f"python: {getattr(measure, '__qualname__', 'a function')}",
        "allow": allow,
        "cost": cost,
        "weigh": weigh,
        "min_entries": min_entries,
        "trees": trees,
        "products": products,
        "cores": cores,
        "seed": seed,
    }
    with _folder() as folder:
        given = {
            "asked": asked,
            "calibration": None if calibration is None else str(_file_of(calibration, folder, "calibration.safetensors")),
            "dense": None if dense is None else os.fspath(dense),
            "resume": resume,
            "threads": threads,
            "max_memory": max_memory,
        }
        file = _file_of(model, folder, "model.safetensors")
        small = folder / "small.safetensors" if output is None else Path(output)
        named = {"input": str(file) if file.parent != folder else None, "output": None if output is None else str(small)}
        summary = named | _core.compress_model(str(file), str(small), measure, given)
        if output is not None:
            return CompressedModel(summary, None, small)
        return CompressedModel(summary, read_weights(small), None)


def decompress_model(
    model: Model,
    *,
    output: str | os.PathLike[str] | None = None,
    max_memory: int | str | None = None,
    **options: Any,
) -> Weights | None:
    """The dense weights of a compressed model: names, types and order as they were.

    Parameters
    ----------
    model
        What :func:`compress_model` returned, its ``weights``, or its file.
    output
        The file to write; None: the weights are returned.
    max_memory
        Refuse a tensor that needs more, in bytes or as ``"4GB"``.
    """
    unexpected("decompress_model", options, known_options(decompress_model))
    with _folder() as folder:
        file = _file_of(model, folder, "small.safetensors")
        dense = folder / "dense.safetensors" if output is None else Path(output)
        _core.decompress_model(str(file), str(dense), {"max_memory": max_memory})
        return read_weights(dense) if output is None else None
