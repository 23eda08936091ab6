"""Estimators in the manner of scikit-learn: :class:`TensorCompressor` and :class:`TensorCompleter`.

The first axis of ``X`` counts the samples, all others are features: tables of two axes as everywhere in scikit-learn, and
arrays of more. ``fit`` finds a network for the samples it is given. All that the network can say about one sample is a
space of few dimensions, which new samples are projected on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._complete import complete
from ._decompose import decompose
from ._interop import incident
from ._search import search

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils import validation
except ImportError as missing:
    raise ImportError("tnsearch.sklearn needs scikit-learn 1.6 or newer: pip install scikit-learn") from missing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._core import Network

__all__ = ["TensorCompleter", "TensorCompressor"]

# Its functions have no types that could be relied on.
check: Any = validation


def basis(network: Network) -> NDArray[Any]:
    """Orthonormal rows that span what the network can say about one sample: its mode 0.

    Where the core of that mode is replaced by another, the tensor changes linearly: the rows span the image of that map.

    >>> import numpy as np, tnsearch
    >>> rows = np.outer([1.0, 2.0, 3.0], [0.0, 3.0, 4.0])
    >>> abs(basis(tnsearch.search(rows, max_re=1e-6).network)).round(6)
    array([[0. , 0.6, 0.8]])
    """
    if network.reshaped:
        raise ValueError("the samples must stay the first mode; leave out split and reshape")
    structure, cores = network.structure, list(network.cores)
    features = list(network.dims[1:])
    modes = len(network.dims)
    at = structure.permutation[0]
    operands: list[Any] = []
    free: list[int] = []
    for vertex, (core, at_vertex) in enumerate(zip(cores, incident(structure), strict=True)):
        edges = [modes + e for e in at_vertex]
        axes = edges + structure.modes[vertex]
        if vertex != at:
            operands += [core, axes]
            continue
        # Each entry of a sample's slice of this core is a coordinate: its edges are left open, and a feature at the same
        # vertex is told by an identity.
        free = edges.copy()
        for n in structure.modes[vertex][1:]:
            label = modes + len(structure.edges) + n
            operands += [np.eye(network.dims[n], dtype=core.dtype), [label, n]]
            free.append(label)
    if not operands:
        operands = [np.ones(()), []]
    open_map = np.einsum(*operands, free + list(range(1, modes)), optimize="greedy")
    matrix = open_map.reshape(-1, int(np.prod(features, dtype=int)))
    _, values, rows = np.linalg.svd(matrix, full_matrices=False)
    kept = values > values[0] * max(matrix.shape) * np.finfo(matrix.dtype).eps
    made: NDArray[Any] = rows[kept]
    return made


class _Estimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What both share: samples along the first axis."""

    _features: tuple[int, ...]

    def _samples(self, X: Any, *, reset: bool, holes: bool) -> NDArray[Any]:
        """The array, checked as scikit-learn does; of two axes by scikit-learn itself."""
        if isinstance(X, np.ma.MaskedArray):
            # scikit-learn would take what is masked for numbers.
            if np.ma.getmaskarray(X).any() and not holes:
                raise ValueError("X has masked entries; TensorCompleter fills them")
            X = np.where(np.ma.getmaskarray(X), np.nan, np.asarray(X, dtype=np.float64))
        checks: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan" if holes else True}
        if reset:
            checks |= {"ensure_min_samples": 2, "ensure_min_features": 2}
        order: int = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
        if order <= 2 or not reset and len(self._features) == 1:
            made: Any = check.validate_data(self, X, reset=reset, **checks)
        else:
            made = check.check_array(X, allow_nd=True, estimator=self, **checks)
            if reset:
                self.n_features_in_ = int(np.prod(made.shape[1:]))
        if reset:
            self._features = made.shape[1:]
        elif made.shape[1:] != self._features:
            raise ValueError(f"X has samples of shape {made.shape[1:]}; those it was fitted to had {self._features}")
        array: NDArray[Any] = made
        return array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class TensorCompressor(ClassNamePrefixFeaturesOutMixin, _Estimator):  # type: ignore[misc]
    """Few numbers for each sample: coordinates in the space that the smallest network of the data spans.

    ``inverse_transform(transform(X))`` is ``X`` with a relative error of at most ``max_re`` for the samples it was fitted
    to. For tables it is a truncated singular value decomposition that chooses its rank; for arrays of more axes the
    space has the structure of a network, found by :func:`tnsearch.search`.

    Parameters
    ----------
    max_re
        The largest relative error.
    template
        The format of the network, as for :func:`tnsearch.search`.
    options
        More options of :func:`tnsearch.search`, as a dict.
    random_state
        The seed.

    Attributes
    ----------
    result_, network_
        What the search found, and the network: where the search missed the error, a train by truncated SVDs. Mode 0 counts
        the samples.
    components_
        Orthonormal rows: ``transform(X)`` is ``X @ components_.T``, samples laid out as rows.
    n_features_in_
        The numbers of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from tnsearch.sklearn import TensorCompressor
    >>> t = np.linspace(0, 1, 8)
    >>> X = np.stack([np.outer(np.sin(a * t), np.cos(a * t)) for a in np.linspace(1, 2, 20)])
    >>> model = TensorCompressor(max_re=0.01, template="path").fit(X)
    >>> Z = model.transform(X)
    >>> error = np.linalg.norm(model.inverse_transform(Z) - X) / np.linalg.norm(X)
    >>> Z.shape[0], Z.shape[1] < 8, bool(error < 0.01)
    (20, True, True)
    """

    def __init__(
        self,
        max_re: float = 0.01,
        *,
        template: Any = None,
        options: dict[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        self.max_re = max_re
        self.template = template
        self.options = options
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> TensorCompressor:
        """Finds the network. ``y`` is not used."""
        array = self._samples(X, reset=True, holes=False)
        asked: dict[str, Any] = {"progress": False, **(self.options or {})}
        if self.template is not None:
            asked["template"] = self.template
        # The samples stay the first mode.
        if "reshape" not in asked:
            asked.setdefault("split", "none")
        self.result_ = search(array, max_re=self.max_re, seed=self.random_state, **asked)
        # What no network makes smaller is decomposed all the same, so that the error is kept.
        network = self.result_.network if self.result_.target_reached else None
        self.network_ = network if network is not None else decompose(array, max_re=self.max_re).network
        self.components_ = basis(self.network_)
        self._n_features_out = len(self.components_)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """The coordinates of samples, one row each."""
        check.check_is_fitted(self)
        array = self._samples(X, reset=False, holes=False)
        made: NDArray[Any] = array.reshape(len(array), -1) @ self.components_.T
        return made

    def inverse_transform(self, Z: ArrayLike) -> NDArray[Any]:
        """The samples with these coordinates."""
        check.check_is_fitted(self)
        rows: NDArray[Any] = check.check_array(Z, dtype=np.float64)
        if rows.shape[1] != len(self.components_):
            raise ValueError(f"Z has {rows.shape[1]} columns; there are {len(self.components_)} coordinates")
        made: NDArray[Any] = (rows @ self.components_).reshape(len(rows), *self._features)
        return made


class TensorCompleter(OneToOneFeatureMixin, _Estimator):  # type: ignore[misc]
    """Fills holes (NaN) in samples by a network that is fitted to what is there.

    ``fit`` completes the tensor of all samples with :func:`tnsearch.complete`. ``transform`` fills the holes of samples,
    those it was fitted to or others: the point of the network's space that is nearest to what is there of a sample.
    What is there stays as it is.

    Parameters
    ----------
    template
        The format of the network, as for :func:`tnsearch.complete`.
    options
        More options of :func:`tnsearch.complete`, as a dict.
    random_state
        The seed.

    Attributes
    ----------
    result_, network_
        What :func:`tnsearch.complete` returned. Mode 0 counts the samples.
    components_
        Orthonormal rows that span what the network can say about one sample.
    n_features_in_
        The numbers of each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from tnsearch.sklearn import TensorCompleter
    >>> truth = np.outer(np.arange(1.0, 21), np.arange(1.0, 11))
    >>> X = truth.copy()
    >>> X[3, 4] = X[7, 1] = X[11, 9] = np.nan
    >>> np.allclose(TensorCompleter().fit_transform(X), truth)
    True
    """

    def __init__(
        self, *, template: Any = None, options: dict[str, Any] | None = None, random_state: int = 0
    ) -> None:
        self.template = template
        self.options = options
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> TensorCompleter:
        """Completes the tensor of all samples. ``y`` is not used."""
        array = self._samples(X, reset=True, holes=True)
        asked = dict(self.options or {})
        # Of two axes there are no rings.
        template = self.template if self.template is not None else "path" if array.ndim == 2 else None
        # Without holes a tenth of what is there chooses the network, as if it were missing.
        holes: dict[str, Any] = {"nan_missing": True} if np.isnan(array).any() else {"missing": 0.1}
        self.result_ = complete(array, template=template, seed=self.random_state, **{**holes, **asked})
        self.network_ = self.result_.network
        self.components_ = basis(self.network_)
        return self

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """The samples with their holes filled."""
        check.check_is_fitted(self)
        array = self._samples(X, reset=False, holes=True)
        rows = array.reshape(len(array), -1).copy()
        holes = np.isnan(rows)
        for pattern in np.unique(holes, axis=0):
            if not pattern.any():
                continue
            same = (holes == pattern).all(axis=1)
            # The nearest point of the space to what is there; the smallest where that leaves it open.
            seen, unseen = self.components_[:, ~pattern], self.components_[:, pattern]
            coordinates = np.linalg.lstsq(seen.T, rows[np.ix_(same, ~pattern)].T, rcond=None)[0]
            rows[np.ix_(same, pattern)] = coordinates.T @ unseen
        return rows.reshape(array.shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
