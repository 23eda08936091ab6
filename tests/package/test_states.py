"""What people with quantum states, labelled data and strategies of their own ask for."""

import numpy as np
import pytest
import tnsearch
from conftest import random_network


def state(sites=8, seed=0):
    """A state of low entanglement, as a complex vector of norm 1."""
    rng = np.random.default_rng(seed)
    psi = np.ones((1, 1), complex)
    for k in range(sites):
        core = rng.standard_normal((psi.shape[1], 2, 1 if k == sites - 1 else 3)) + 0.3j
        psi = np.einsum("ai,ipj->apj", psi, core).reshape(-1, core.shape[2])
    psi = psi[:, 0] + 0.02 * rng.standard_normal(2**sites)
    return psi / np.linalg.norm(psi)


def overlap(x, z):
    return abs(np.vdot(x, z)) ** 2 / (np.vdot(x, x).real * np.vdot(z, z).real)


# Matrix product states


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("permutation", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 2, 0]])
def test_a_path_becomes_a_matrix_product_state(permutation, dtype):
    qtn = pytest.importorskip("quimb.tensor")
    edges = [[0, 1, 2], [1, 2, 3], [2, 3, 2]]
    network = random_network({"template": "path", "permutation": permutation, "edges": edges}, [3, 4, 2, 5], dtype)
    mps = network.to_quimb(kind="mps")
    assert isinstance(mps, qtn.MatrixProductState) and mps.L == 4
    assert np.allclose(mps.to_dense().ravel(), network.to_dense().ravel())
    assert mps.site_ind(2) == "k2" and np.isclose(mps.H @ mps, np.linalg.norm(network.to_dense()) ** 2)
    if permutation in ([0, 1, 2, 3], [3, 2, 1, 0]):
        assert sorted(mps.bond_sizes()) == [2, 2, 3]
    named = network.to_quimb(kind="mps", outer="s{}")
    assert named.site_ind(0) == "s0"


def test_a_search_of_a_state_gives_one_and_other_graphs_are_refused():
    qtn = pytest.importorskip("quimb.tensor")
    psi = state().reshape((2,) * 8)
    found = tnsearch.search(psi, template="path", fidelity=0.99, max_evaluations=5)
    mps = found.network.to_quimb(kind="mps")
    assert isinstance(mps, qtn.MatrixProductState)
    assert overlap(psi.ravel(), mps.to_dense().ravel()) >= 0.99 - 1e-12
    # A ring that is closed by rank 1 is a path, others are none.
    ring = {"template": "ring", "permutation": [0, 1, 2], "edges": [[0, 1, 2], [0, 2, 1], [1, 2, 3]]}
    open_ring = random_network(ring, [3, 4, 2])
    assert np.allclose(open_ring.to_quimb(kind="mps").to_dense().ravel(), open_ring.to_dense().ravel())
    closed = random_network(ring | {"edges": [[0, 1, 2], [0, 2, 2], [1, 2, 3]]}, [3, 4, 2])
    with pytest.raises(ValueError, match="kind='mps' takes paths"):
        closed.to_quimb(kind="mps")
    with pytest.raises(ValueError, match="kind is 'peps'"):
        closed.to_quimb(kind="peps")
    assert type(closed.to_quimb()) is qtn.TensorNetwork


# Fidelity


def test_a_fidelity_is_reached_and_is_a_squared_error():
    psi = state().reshape((2,) * 8)
    found = tnsearch.search(psi, fidelity=0.999, max_evaluations=10)
    assert found.target_reached and found.objective == {"max_rse": 1 - 0.999}
    have = overlap(psi.ravel(), found.network.to_dense().ravel())
    # F >= 1 - RSE, and both are equal at the length that fits best.
    assert have >= 0.999 and have >= found.fidelity - 1e-12
    assert found.fidelity == 1 - found.rse
    same = tnsearch.search(psi, max_rse=1 - 0.999, max_evaluations=10)
    assert (same.params, same.rse) == (found.params, found.rse)


def test_fidelities_that_are_none_are_refused():
    psi = state().reshape((2,) * 8)
    for wrong in (0, 1, 1.5, -0.1, True):
        with pytest.raises(ValueError, match="fidelity is"):
            tnsearch.search(psi, fidelity=wrong)
    with pytest.raises(ValueError, match="fidelity and max_re were both given"):
        tnsearch.search(psi, fidelity=0.9, max_re=0.1)


# Kets


@pytest.mark.parametrize("shape", [(256,), (256, 1)])
def test_a_ket_is_taken_as_its_sites(shape):
    psi = state()
    with pytest.warns(UserWarning, match="a state of 8 sites"):
        found = tnsearch.search(psi.reshape(shape), fidelity=0.99, max_evaluations=5)
    plain = tnsearch.search(psi.reshape((2,) * 8), fidelity=0.99, max_evaluations=5)
    assert (found.params, found.rse) == (plain.params, plain.rse)
    assert found.dims == (2,) * 8 and found.network.to_dense().shape == shape
    with pytest.warns(UserWarning, match="a state of 8 sites"):
        assert tnsearch.decompose(psi.reshape(shape), max_re=0.1).structure.order == 8


@pytest.mark.filterwarnings("error")
def test_what_is_no_ket_or_has_another_shape_is_left_alone():
    psi = state()
    assert tnsearch.search(psi.reshape(256, 1), reshape=(16, 16), max_re=0.5, max_evaluations=2).dims == (16, 16)
    assert tnsearch.search(np.ones((12, 1)), max_re=0.5, max_evaluations=2).dims == (12, 1)
    assert tnsearch.search(psi.reshape(128, 2), split="none", max_re=0.5, max_evaluations=2).dims == (128, 2)


# Labels


def field():
    i, j, k = np.ogrid[0:4, 0:5, 0:6]
    return np.exp(-(i + j * k) / 9.0)


def test_an_xarray_comes_back_as_one():
    xarray = pytest.importorskip("xarray")
    coords = {"t": [10, 20, 30, 40], "y": np.linspace(0, 1, 5), "name": ("x", list("abcdef"))}
    x = xarray.DataArray(field(), dims=("t", "y", "x"), coords=coords, name="heat", attrs={"units": "K"})
    found = tnsearch.search(x, max_re=1e-6, max_evaluations=5)
    for back in (found.to_xarray(), tnsearch.reconstruct(found)):
        assert isinstance(back, xarray.DataArray)
        xarray.testing.assert_allclose(back, x, rtol=1e-4)
        assert back.dims == x.dims and back.name == "heat" and back.attrs == {"units": "K"}
        assert list(back.coords) == list(x.coords) and list(back["name"].values) == list("abcdef")
    plain = tnsearch.search(field(), max_re=1e-6, max_evaluations=5)
    assert plain.to_xarray().shape == (4, 5, 6) and isinstance(tnsearch.reconstruct(plain), np.ndarray)


def test_a_frame_comes_back_as_one():
    pandas = pytest.importorskip("pandas")
    x = pandas.DataFrame(field()[:, :, 1], index=pandas.Index(list("abcd"), name="row"), columns=[3, 1, 4, 1.5, 9])
    found = tnsearch.search(x, max_re=1e-6, max_evaluations=5)
    for back in (found.to_pandas(), tnsearch.reconstruct(found)):
        pandas.testing.assert_frame_equal(back, x, rtol=1e-4)
    with pytest.raises(ValueError, match="3 modes; a DataFrame has 2"):
        tnsearch.search(field(), max_re=0.1, max_evaluations=2).to_pandas()


# A strategy of one's own


def path(ranks):
    return tnsearch.Structure("path", [0, 1, 2], [[0, 1, ranks[0]], [1, 2, ranks[1]]])


class Growing:
    """Uniform ranks, one more at a time until the error is reached."""

    name = "growing"

    def __init__(self):
        self.rank, self.told = 1, []

    def ask(self):
        return None if self.rank > 4 else path([self.rank] * 2)

    def tell(self, outcomes):
        self.told += outcomes
        self.rank = 9 if (outcomes[0]["error"] or 1) <= 1e-8 else self.rank + 1


def test_an_object_that_asks_and_is_told_is_a_strategy():
    own = Growing()
    found = tnsearch.search(field(), template="path", strategy=own, max_rse=1e-8)
    assert found.strategy == "growing" and found.target_reached
    assert [o["structure"].ranks for o in own.told] == [[r, r] for r in range(1, len(own.told) + 1)]
    last = own.told[-1]
    assert last["source"] == "evaluated" and last["error"] == found.rse and last["params"] == found.params
    assert found.evaluations == len(own.told) and found.structure == last["structure"]


def test_a_function_is_a_strategy_and_sees_all_outcomes():
    seen = []

    def two_rounds(outcomes):
        seen.append(len(outcomes))
        return None if len(outcomes) >= 4 else [path([1 + len(outcomes), 2]), path([2, 1 + len(outcomes)])]

    found = tnsearch.search(field(), strategy=two_rounds, max_re=0.5)
    assert found.strategy == "two_rounds" and seen == [0, 2, 4]
    # Without a template any graph may be proposed, and nothing is proven.
    star = tnsearch.Structure("star", [0, 1, 2], [[0, 1, 2], [0, 2, 2]])
    other = tnsearch.search(field(), strategy=lambda told: None if told else star, max_re=0.5)
    assert other.structure.template == "star" and not other.certified_optimal and other.lower_bound is None


def test_its_evaluations_can_be_the_users_too():
    found = tnsearch.search(field(), strategy=Growing(), evaluate=lambda s, seed: 1 / sum(s.ranks), max_params=100)
    assert found.error == 1 / sum(found.structure.ranks)


def test_what_a_strategy_raises_is_raised():
    class Broken(Growing):
        def tell(self, outcomes):
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        tnsearch.search(field(), strategy=Broken(), max_re=0.1)
    with pytest.raises(TypeError, match=r"ask\(\) of strategy .* returned 3; it must return a Structure"):
        tnsearch.search(field(), strategy=lambda told: 3, max_re=0.1)
    ring = tnsearch.Structure("ring", [0, 1, 2], [[0, 1, 2], [0, 2, 2], [1, 2, 2]])
    with pytest.raises(ValueError, match="structure of template ring; the search is of path"):
        tnsearch.search(field(), template="path", strategy=lambda told: ring, max_re=0.1)
    small = tnsearch.Structure("path", [0, 1], [[0, 1, 2]])
    with pytest.raises(ValueError, match="of 2 modes; the tensor has 3"):
        tnsearch.search(field(), strategy=lambda told: small, max_re=0.1)


def test_what_is_no_strategy_is_refused():
    with pytest.raises(TypeError, match="it must be a name"):
        tnsearch.search(field(), strategy=7)
    with pytest.raises(TypeError, match="it must be a name"):
        tnsearch.search(field(), strategy=Growing)
    with pytest.raises(ValueError, match="runs is 3"):
        tnsearch.search(field(), strategy=Growing(), runs=3)
    with pytest.raises(TypeError, match="samples is an option of a strategy by name"):
        tnsearch.search(field(), strategy=Growing(), samples=3)


def test_a_journal_of_a_strategy_needs_its_fingerprint(tmp_path):
    journal = tmp_path / "run.jsonl"
    own = Growing()
    first = tnsearch.search(field(), template="path", strategy=own, max_rse=1e-8, journal=journal)
    with pytest.raises(ValueError, match="nothing says that growing is the function of the journal"):
        tnsearch.search(field(), template="path", strategy=Growing(), max_rse=1e-8, journal=journal, resume=True)
    own = Growing()
    own.fingerprint = "v1"
    named = tmp_path / "named.jsonl"
    tnsearch.search(field(), template="path", strategy=own, max_rse=1e-8, journal=named)
    again = Growing()
    again.fingerprint = "v1"
    found = tnsearch.search(field(), template="path", strategy=again, max_rse=1e-8, journal=named, resume=True)
    assert (found.params, found.rse) == (first.params, first.rse)


# A study of a shape alone


def test_a_study_needs_no_entries():
    study = tnsearch.Study((4,) * 20, template="path", max_params=2000, strategy="random", samples=5)
    while (trial := study.ask()) is not None:
        study.tell(trial, abs(sum(trial.structure.ranks) - 60) / 100)
    found = study.result()
    assert found.params <= 2000 and found.dims == (4,) * 20 and found.network is None


def test_a_study_of_a_shape_is_that_of_a_tensor_of_ones(tmp_path):
    def told(shape, **options):
        study = tnsearch.Study(shape, template="ring", max_params=60, strategy="random", samples=8, **options)
        while (trial := study.ask()) is not None:
            study.tell(trial, 1 / sum(trial.structure.ranks))
        return study.result()

    first, ones = told((4, 3, 4)), told(np.ones((4, 3, 4)))
    assert (first.structure, first.error, first.evaluations) == (ones.structure, ones.error, ones.evaluations)
    # A journal of one goes on with the other.
    told(np.ones((4, 3, 4)), journal=tmp_path / "run.jsonl")
    again = told((4, 3, 4), journal=tmp_path / "run.jsonl", resume=True)
    assert (again.structure, again.error) == (first.structure, first.error)


def test_a_study_keeps_the_network_it_is_told():
    study = tnsearch.Study((3, 4, 2), template="path", max_params=60, strategy="random", samples=3)
    while (trial := study.ask()) is not None:
        study.tell(trial, 0.5, random_network(trial.structure, [3, 4, 2]))
    assert list(study.result().network.dims) == [3, 4, 2]


def test_shapes_that_are_none_are_refused():
    for wrong in [(4,), (4, 0), ()]:
        with pytest.raises(ValueError):
            tnsearch.Study(wrong, max_params=10)
