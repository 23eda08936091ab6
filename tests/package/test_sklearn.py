"""The estimators: scikit-learn's own checks, and what they are for."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from tnsearch.sklearn import TensorCompleter, TensorCompressor, basis


# All of them apply: no check is expected to fail.
@parametrize_with_checks([TensorCompressor(), TensorCompleter()])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def field(samples=24, side=6):
    """Smooth pictures of two axes, one a sample."""
    t = np.linspace(0, 1, side)
    return np.stack([np.outer(np.sin(a * t), np.cos(a * t)) + a for a in np.linspace(1, 2, samples)])


@pytest.mark.parametrize("template", [None, "path", "ring", "tucker", "any-tree", "tree"])
def test_a_compressor_keeps_the_error(template):
    x = field()
    model = TensorCompressor(max_re=0.01, template=template)
    z = model.fit_transform(x)
    back = model.inverse_transform(z)
    assert back.shape == x.shape and z.shape == (24, len(model.components_))
    assert np.linalg.norm(back - x) <= 0.01 * np.linalg.norm(x)
    assert z.shape[1] < 36 and model.network_.shape == [24, 6, 6]
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(z.shape[1]), atol=1e-12)
    # The network's own tensor is in the space that its samples span.
    rows = model.network_.to_dense().reshape(24, -1)
    np.testing.assert_allclose(rows @ model.components_.T @ model.components_, rows, atol=1e-9)
    # Samples that it has not seen.
    new = field(samples=7)
    again = model.inverse_transform(model.transform(new))
    assert np.linalg.norm(again - new) <= 0.05 * np.linalg.norm(new)


def test_a_table_is_compressed_as_by_a_singular_value_decomposition():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 8)) + 1e-6 * rng.standard_normal((30, 8))
    model = TensorCompressor(max_re=1e-3).fit(x)
    assert len(model.components_) == 3
    _, _, rows = np.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(model.components_.T @ model.components_, rows[:3].T @ rows[:3], atol=1e-4)


def test_a_compressor_in_a_pipeline():
    x = field(40)
    y = (np.arange(40) >= 20).astype(int)
    model = make_pipeline(TensorCompressor(max_re=0.001, template="path"), LogisticRegression(C=1e4, max_iter=2000))
    assert model.fit(x, y).score(x, y) == 1.0
    names = model[0].get_feature_names_out()
    assert list(names[:2]) == ["tensorcompressor0", "tensorcompressor1"]
    same = pickle.loads(pickle.dumps(model))
    assert np.array_equal(same.predict(x), model.predict(x))
    assert clone(model[0]).get_params() == model[0].get_params()


def test_holes_are_filled():
    x = field(40, 8)
    holed = x.copy()
    holed[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    model = TensorCompleter(random_state=3)
    filled = model.fit_transform(holed)
    there = ~np.isnan(holed)
    assert np.array_equal(filled[there], x[there])
    assert np.linalg.norm((filled - x)[~there]) <= 0.05 * np.linalg.norm(x[~there])
    # A sample it has not seen, of which little is there; what is unknown at first is far away.
    new = field(9, 8)[[4]]
    part = new.copy()
    part[0, ::2, 1::2] = np.nan
    np.testing.assert_allclose(model.transform(part), new, rtol=0.2)
    again = TensorCompleter(random_state=3).fit_transform(holed)
    assert np.array_equal(again, filled)
    # What is masked is missing, whatever stands there.
    masked = np.ma.masked_array(np.where(there, x, 1e9), ~there)
    assert np.array_equal(TensorCompleter(random_state=3).fit_transform(masked), filled)
    with pytest.raises(ValueError, match="masked entries"):
        TensorCompressor().fit(masked)


def test_a_completer_in_a_pipeline():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6))
    y = x @ np.arange(6.0)
    x[rng.random(x.shape) < 0.1] = np.nan
    model = make_pipeline(TensorCompleter(), PCA(2), Ridge(alpha=1e-6))
    assert model.fit(x, y).score(x, y) > 0.98


def test_what_is_wrong_is_said():
    model = TensorCompressor().fit(field())
    with pytest.raises(ValueError, match="samples of shape"):
        model.transform(field(side=5))
    with pytest.raises(ValueError, match="columns; there are"):
        model.inverse_transform(np.ones((2, 100)))
    with pytest.raises(TypeError, match="did you mean 'max_rank'"):
        TensorCompressor(options={"max_rnk": 3}).fit(field())


def test_the_basis_of_a_vertex_that_carries_features_too():
    from conftest import STRUCTURES, dense, random_network

    for structure, dims in STRUCTURES.values():
        net = random_network(structure, dims)
        rows = basis(net)
        x = dense(net).reshape(dims[0], -1)
        np.testing.assert_allclose(x @ rows.T @ rows, x, atol=1e-9)
