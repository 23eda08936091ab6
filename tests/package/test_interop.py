"""Networks in the real packages and back, against np.einsum."""

import sys

import cotengra
import numpy as np
import opt_einsum
import pytest
import quimb.tensor as qtn
import tensorly as tl
from conftest import STRUCTURES, dense, graph, large, random_network
from tensorly.decomposition import parafac, tensor_ring, tensor_train, tucker

import tnsearch
from tnsearch import Network

TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


# quimb


def quimb_dense(tn, order):
    """The tensor of a quimb network, computed by quimb."""
    return np.asarray(tn.contract(output_inds=[f"k{n}" for n in range(order)], optimize="greedy").data)


def test_quimb_has_the_same_tensor(network):
    tn = network.to_quimb()
    assert isinstance(tn, qtn.TensorNetwork)
    order = len(network.dims)
    assert set(tn.outer_inds()) == {f"k{n}" for n in range(order)}
    assert [tn.ind_size(f"k{n}") for n in range(order)] == network.dims
    np.testing.assert_allclose(quimb_dense(tn, order), dense(network), **TOLERANCE)
    for vertex, core in enumerate(network.cores):
        assert tn[f"CORE{vertex}"].shape == core.shape
    for n, vertex in enumerate(network.structure.permutation):
        assert f"CORE{vertex}" in tn[f"I{n}"].tags
    back = Network.from_quimb(tn)
    np.testing.assert_allclose(back.to_dense(), dense(network), **TOLERANCE)
    assert (back.params, back.dims) == (network.params, network.dims)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_quimb_keeps_the_type(dtype):
    net = random_network(*STRUCTURES["tree"], dtype=dtype)
    tn = net.to_quimb()
    assert tn.dtype == dtype
    back = Network.from_quimb(tn)
    assert back.cores[0].dtype == dtype
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    np.testing.assert_allclose(back.to_dense(), dense(net), rtol=tolerance, atol=tolerance)


def test_quimb_networks_can_be_used_together():
    net = random_network(*STRUCTURES["ring"])
    tn = net.to_quimb()
    norm = (tn.H & tn).contract(optimize="greedy")
    assert norm == pytest.approx(np.linalg.norm(dense(net)) ** 2)
    named = net.to_quimb(outer="phys{}")
    assert set(named.outer_inds()) == {"phys0", "phys1", "phys2", "phys3"}


def test_a_reshaped_network_has_the_modes_that_were_fitted(command, tmp_path):
    i, j = np.ogrid[0:6, 0:4]
    x = np.exp(0.3 * i - 0.2 * j)
    np.save(tmp_path / "X.npy", x)
    path = tmp_path / "net.safetensors"
    options = ["--split", "2x3,2x2", "--template", "path", "--max-re", "1e-6"]
    command("search", tmp_path / "X.npy", *options, "--quiet", "-o", path)
    net = Network.load(path)
    np.testing.assert_allclose(quimb_dense(net.to_quimb(), 4).reshape(6, 4), x, atol=1e-4)
    factors, permutation = net.to_tensorly()
    np.testing.assert_allclose(tl.tt_to_tensor(factors).transpose(permutation).reshape(6, 4), x, atol=1e-4)
    subscripts, operands = net.einsum()
    np.testing.assert_allclose(np.einsum(subscripts, *operands).reshape(6, 4), x, atol=1e-4)


def test_networks_made_by_quimb():
    mps = qtn.MPS_rand_state(6, bond_dim=3, phys_dim=2, seed=1)
    peps = qtn.PEPS.rand(2, 3, bond_dim=2, seed=2)
    mera = qtn.MERA.rand(4, seed=3)
    for tn in (mps, mera):
        inds = [f"k{n}" for n in range(tn.L)]
        expected = tn.contract(output_inds=inds, optimize="greedy").data
        np.testing.assert_allclose(Network.from_quimb(tn).to_dense(), expected, **TOLERANCE)
    inds = [f"k{i},{j}" for i in range(2) for j in range(3)]
    with pytest.raises(ValueError, match="give outer="):
        Network.from_quimb(peps)
    expected = peps.contract(output_inds=inds, optimize="greedy").data
    np.testing.assert_allclose(Network.from_quimb(peps, outer=inds).to_dense(), expected, **TOLERANCE)
    # Ten and more: by their numbers, not their letters.
    long = qtn.MPS_rand_state(11, bond_dim=2, phys_dim=2, seed=4)
    expected = long.contract(output_inds=[f"k{n}" for n in range(11)], optimize="greedy").data
    np.testing.assert_allclose(Network.from_quimb(long).to_dense(), expected, **TOLERANCE)


def test_quimb_networks_of_odd_shape():
    rng = np.random.default_rng(0)
    a = qtn.Tensor(rng.standard_normal((2, 3, 4)), inds=["x", "y", "k0"])
    b = qtn.Tensor(rng.standard_normal((3, 5, 2)), inds=["y", "k1", "x"])
    alone = qtn.Tensor(rng.standard_normal(3), inds=["k2"])
    scalar = qtn.Tensor(2.5, inds=[])
    tn = qtn.TensorNetwork([scalar, a, b, alone])
    tn.exponent = 1.0
    net = Network.from_quimb(tn, rse=0.1)
    # Two edges between the same vertices are one of rank 6, a part that stands alone is joined by rank 1.
    assert net.structure.edges == [[0, 1, 6], [0, 2, 1]] and net.rse == 0.1
    expected = 25.0 * np.einsum("xya,ybx,c->abc", a.data, b.data, alone.data)
    np.testing.assert_allclose(net.to_dense(), expected, **TOLERANCE)


def test_what_is_no_network_of_ours_is_refused():
    # One index joins all, as in a CP, and another two of them.
    others = [["k0", "y"], ["k1", "y"], ["k2"]]
    hyper = qtn.TensorNetwork([qtn.Tensor(np.ones((2,) * (1 + len(own))), inds=["x", *own]) for own in others])
    with pytest.raises(ValueError, match="index 'x' is on 3 tensors"):
        Network.from_quimb(hyper)
    with pytest.raises(TypeError, match="tn is a list"):
        Network.from_quimb([1, 2])
    tn = random_network(*STRUCTURES["path"]).to_quimb()
    with pytest.raises(ValueError, match="outer is"):
        Network.from_quimb(tn, outer=["k0", "k1"])
    with pytest.raises(ValueError, match=r"it must have \{\}"):
        random_network(*STRUCTURES["path"]).to_quimb(outer="k")


# tensorly

TENSORLY = {
    "path": tl.tt_to_tensor,
    "ring": tl.tr_to_tensor,
    "ring with an edge of rank 1": tl.tr_to_tensor,
    "tucker": tl.tucker_to_tensor,
    "complete": tl.tt_to_tensor,
}


@pytest.mark.parametrize("kind", sorted(STRUCTURES))
def test_tensorly_has_the_same_tensor(kind):
    net = random_network(*STRUCTURES[kind])
    if kind not in TENSORLY:
        with pytest.raises(ValueError, match="takes paths, rings, Tucker networks and CPs"):
            net.to_tensorly()
        return
    factors, permutation = net.to_tensorly()
    made = TENSORLY[kind](factors).transpose(permutation)
    np.testing.assert_allclose(made, dense(net), **TOLERANCE)
    back = Network.from_tensorly(factors, permutation)
    np.testing.assert_allclose(back.to_dense(), dense(net), **TOLERANCE)


def cp_network(dtype="float64"):
    rng = np.random.default_rng(5)
    dims, rank = [2, 3, 4], 5
    entries = [rng.standard_normal((rank, d)) + 1j * rng.standard_normal((rank, d)) for d in (4, 2, 3)]
    factors = [(e if "complex" in dtype else e.real).astype(dtype) for e in entries]
    structure = tnsearch.Structure("cp", [1, 2, 0], [[v, 3, rank] for v in range(3)])
    net = Network(structure, [*factors, np.ones(rank, dtype)], rse=0.0)
    return net, np.einsum("rc,ra,rb->abc", *factors), dims


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_a_cp_goes_to_tensorly_and_quimb_and_back(dtype, tmp_path):
    net, expected, dims = cp_network(dtype)
    assert (net.params, net.dims) == (5 * sum(dims), dims)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype in ("float32", "complex64") else TOLERANCE
    np.testing.assert_allclose(net.to_dense(), expected, **tolerance)
    factors, permutation = net.to_tensorly()
    made = tl.cp_to_tensor(factors).transpose(permutation)
    np.testing.assert_allclose(made, expected, **tolerance)
    tn = net.to_quimb()
    np.testing.assert_allclose(quimb_dense(tn, 3), expected, **tolerance)
    for back in [Network.from_tensorly(factors, permutation), Network.from_quimb(tn)]:
        assert (back.params, back.dims, back.structure.template) == (net.params, dims, "cp")
        np.testing.assert_allclose(back.to_dense(), expected, **tolerance)
    net.save(tmp_path / "net.safetensors")
    again = Network.load(tmp_path / "net.safetensors")
    np.testing.assert_allclose(again.to_dense(), expected, **tolerance)


def test_weights_of_a_cp_are_taken_into_a_factor():
    rng = np.random.default_rng(6)
    matrices = [rng.standard_normal((d, 2)) for d in (3, 4, 5)]
    weighted = tl.cp_tensor.CPTensor((np.array([2.0, -3.0]), matrices))
    expected = tl.cp_to_tensor(weighted)
    np.testing.assert_allclose(Network.from_tensorly(weighted).to_dense(), expected, **TOLERANCE)
    turned = Network.from_tensorly(weighted, [2, 0, 1]).to_dense()
    np.testing.assert_allclose(turned, expected.transpose([2, 0, 1]), **TOLERANCE)
    with pytest.raises(ValueError, match="must name each of the 3 factors once"):
        Network.from_tensorly(weighted, [0, 0, 1])


def test_cp_als_is_no_worse_than_parafac():
    rng = np.random.default_rng(7)
    x = np.einsum("ar,br,cr->abc", *(rng.standard_normal((d, 3)) for d in (5, 6, 7)))
    x += 0.01 * rng.standard_normal(x.shape)
    theirs = tl.cp_to_tensor(parafac(x, 3, init="svd", n_iter_max=200))
    ours = tnsearch.decompose(x, "cp-als", ranks=3)
    assert ours.re <= np.linalg.norm(x - theirs) / np.linalg.norm(x) * 1.01


def test_a_long_ring_and_a_path_of_two():
    ring = {"template": "ring", "permutation": [4, 2, 0, 1, 3], "edges": []}
    ring["edges"] = [[0, 1, 2], [0, 4, 3], [1, 2, 2], [2, 3, 4], [3, 4, 2]]
    pair = {"template": "path", "permutation": [1, 0], "edges": [[0, 1, 2]]}
    own = {"template": graph([True] * 4, [[0, 2], [1, 2], [1, 3], [0, 3]]), "permutation": [3, 1, 0, 2]}
    own["edges"] = [[0, 2, 2], [0, 3, 3], [1, 2, 4], [1, 3, 2]]
    cases = [(ring, [2, 3, 2, 3, 2], tl.tr_to_tensor), (pair, [3, 4], tl.tt_to_tensor)]
    for structure, dims, to_tensor in [*cases, (own, [2, 3, 4, 5], tl.tr_to_tensor)]:
        net = random_network(structure, dims, dtype="complex128")
        factors, permutation = net.to_tensorly()
        np.testing.assert_allclose(to_tensor(factors).transpose(permutation), dense(net), **TOLERANCE)


def test_decompositions_of_tensorly():
    x = np.random.default_rng(3).standard_normal((4, 5, 6))
    for factors, to_tensor in [
        (tensor_train(x, rank=[1, 3, 2, 1]), tl.tt_to_tensor),
        (tensor_ring(x, rank=[2, 2, 3, 2]), tl.tr_to_tensor),
        (tucker(x, rank=[2, 3, 2]), tl.tucker_to_tensor),
    ]:
        expected = to_tensor(factors)
        np.testing.assert_allclose(Network.from_tensorly(factors).to_dense(), expected, **TOLERANCE)
        turned = Network.from_tensorly(factors, [2, 0, 1]).to_dense()
        np.testing.assert_allclose(turned, expected.transpose([2, 0, 1]), **TOLERANCE)
        # What they are made of does as well.
        bare = (factors[0], factors[1]) if to_tensor is tl.tucker_to_tensor else list(factors)
        np.testing.assert_allclose(Network.from_tensorly(bare).to_dense(), expected, **TOLERANCE)


def test_what_tensorly_has_no_format_for_is_refused():
    core = np.ones((1, 3, 2))
    with pytest.raises(ValueError, match="core 0 ends with rank 2, but the next begins with 1"):
        Network.from_tensorly([core, core])
    with pytest.raises(TypeError, match="factors is a int"):
        Network.from_tensorly(3)
    with pytest.raises(ValueError, match="permutation is"):
        Network.from_tensorly([core, core.transpose(2, 1, 0)], [0, 0])
    with pytest.raises(ValueError, match="axis 1 of the core is 3 long"):
        Network.from_tensorly((np.ones((2, 3)), [np.ones((4, 2)), np.ones((4, 2))]))


# einsum, opt_einsum, cotengra


def test_einsum_gives_the_tensor(network):
    subscripts, operands = network.einsum()
    np.testing.assert_allclose(np.einsum(subscripts, *operands), dense(network), **TOLERANCE)


@pytest.mark.parametrize("optimizer", ["auto", "greedy", "optimal", "dp", "random-greedy", "auto-hq"])
def test_paths_contract_to_the_tensor(network, optimizer):
    path = network.contraction_path(optimizer)
    subscripts, operands = network.einsum()
    made = opt_einsum.contract(subscripts, *operands, optimize=path)
    np.testing.assert_allclose(made, dense(network), **TOLERANCE)
    made = np.einsum(subscripts, *operands, optimize=["einsum_path", *path])
    np.testing.assert_allclose(made, dense(network), **TOLERANCE)


def test_optimizers_of_both_packages():
    net = random_network(*STRUCTURES["several modes on a vertex"])
    subscripts, operands = net.einsum()
    optimizers = [
        opt_einsum.DynamicProgramming(),
        opt_einsum.RandomGreedy(max_repeats=4),
        cotengra.RandomGreedyOptimizer(max_repeats=4, seed=0),
        cotengra.OptimalOptimizer(),
        "random-greedy-128",
    ]
    for optimizer in optimizers:
        made = opt_einsum.contract(subscripts, *operands, optimize=net.contraction_path(optimizer))
        np.testing.assert_allclose(made, dense(net), **TOLERANCE)
    with pytest.raises(ValueError, match="optimizer is 'nonsense'; opt_einsum knows"):
        net.contraction_path("nonsense")
    with pytest.raises(TypeError, match="optimizer is a int"):
        net.contraction_path(3)


def test_more_labels_than_letters():
    order = 30
    edges = [[n, n + 1, 2] for n in range(order - 1)]
    structure = {"template": "path", "permutation": list(range(order)), "edges": edges}
    net = random_network(structure, [2] + [1] * 27 + [2, 3])
    subscripts, operands = net.einsum()
    assert len(set(subscripts) - set(",->")) == order + order - 1 > 52
    expected = operands[0].T
    for core in operands[1:-1]:
        expected = np.einsum("ar,rsd->ads", expected, core).reshape(-1, core.shape[1])
    expected = (expected @ operands[-1]).reshape(net.dims)
    made = opt_einsum.contract(subscripts, *operands, optimize=net.contraction_path("greedy"))
    np.testing.assert_allclose(made, expected, rtol=1e-9)
    np.testing.assert_allclose(net.to_quimb().contract(output_inds=[f"k{n}" for n in range(order)]).data, expected)


# PyTorch and JAX


def test_torch_and_back(torch):
    net = random_network(*STRUCTURES["tucker"], dtype="float32")
    cores = net.to_torch(requires_grad=True)
    assert all(core.requires_grad and core.dtype == torch.float32 for core in cores)
    subscripts, _ = net.einsum()
    made = torch.einsum(subscripts, *cores)
    np.testing.assert_allclose(made.detach().numpy(), dense(net), rtol=1e-4, atol=1e-4)
    made.square().sum().backward()
    assert all(core.grad is not None for core in cores)
    with torch.no_grad():
        cores[0].zero_()
    assert np.any(net.cores[0])
    again = Network(net.structure, [core.detach() for core in net.to_torch(device="cpu")])
    assert np.array_equal(again.to_dense(), net.to_dense())


def test_jax_and_back():
    jax = large("jax")
    net = random_network(*STRUCTURES["tucker"], dtype="complex64")
    cores = net.to_jax()
    made = jax.numpy.einsum(net.einsum()[0], *cores)
    np.testing.assert_allclose(np.asarray(made), dense(net), rtol=1e-3, atol=1e-3)
    again = Network(net.structure, cores)
    assert again.cores[0].dtype == np.complex64
    assert np.array_equal(again.to_dense(), net.to_dense())
    with pytest.raises(ValueError, match="JAX would round the float64 cores"):
        random_network(*STRUCTURES["tucker"]).to_jax()


# Without the packages


@pytest.mark.parametrize(
    "package, call",
    [
        ("quimb", lambda net: net.to_quimb()),
        ("quimb", lambda net: Network.from_quimb(None)),
        ("tensorly", lambda net: net.to_tensorly()),
        ("torch", lambda net: net.to_torch()),
        ("jax", lambda net: net.to_jax()),
        ("matplotlib", lambda net: net.plot()),
    ],
)
def test_a_package_that_is_missing_is_named(package, call, monkeypatch):
    net = random_network(*STRUCTURES["path"])
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}: pip install"):
        call(net)


def test_nothing_is_imported_that_was_not_asked_for():
    import subprocess

    heavy = "{'quimb', 'tensorly', 'torch', 'jax', 'matplotlib', 'sklearn', 'pandas', 'dask', 'ray', 'mpi4py'}"
    code = f"import sys, tnsearch; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", tnsearch.__file__
