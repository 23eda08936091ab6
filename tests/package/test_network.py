"""Networks as Python objects: their cores, their files, pickling."""

import pickle

import numpy as np
import pytest
from conftest import STRUCTURES, dense, random_network

import tnsearch


def test_the_dense_tensor_is_that_of_the_cores(network):
    np.testing.assert_allclose(network.to_dense(), dense(network), rtol=1e-12, atol=1e-12)
    assert network.params == sum(core.size for core in network.cores)
    assert network.nbytes == 8 * network.params
    assert network.shape == network.dims


def test_cores_are_read_where_they_are_and_cannot_be_written_to(network):
    first, again = network.cores, network.cores
    for a, b in zip(first, again, strict=True):
        assert np.shares_memory(a, b)
        with pytest.raises(ValueError, match="read-only"):
            a[...] = 0
    # They outlive the network.
    kept = first[0].copy()
    del network
    assert np.array_equal(first[0], kept)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_files_and_pickles_keep_every_bit(dtype, tmp_path):
    net = random_network(*STRUCTURES["ring"], dtype=dtype)
    assert {core.dtype.name for core in net.cores} == {dtype}
    net.save(tmp_path / "net.safetensors")
    for same in (tnsearch.Network.load(tmp_path / "net.safetensors"), pickle.loads(pickle.dumps(net))):
        assert (same.structure, same.rse, same.shape) == (net.structure, net.rse, net.shape)
        for a, b in zip(net.cores, same.cores, strict=True):
            assert a.dtype == b.dtype and np.array_equal(a, b)


def test_the_files_are_those_of_the_command_line(command, tmp_path):
    net = random_network(*STRUCTURES["several modes on a vertex"])
    net.save(tmp_path / "net.safetensors")
    command("reconstruct", tmp_path / "net.safetensors", "-o", tmp_path / "Z.npy")
    assert np.array_equal(np.load(tmp_path / "Z.npy"), net.to_dense())


def test_a_reshaped_network_keeps_the_shape_of_its_tensor(command, tmp_path):
    i, j = np.ogrid[0:6, 0:4]
    x = np.exp(0.3 * i + 0.2 * j) 
    np.save(tmp_path / "X.npy", x)
    path = tmp_path / "net.safetensors"
    line = ["--split", "2x3,2x2", "--template", "path", "--max-re", "1e-6", "--quiet"]
    command("search", tmp_path / "X.npy", *line, "-o", path)
    net = tnsearch.Network.load(path)
    for same in (net, pickle.loads(pickle.dumps(net))):
        assert (same.shape, same.dims, same.reshaped) == ([6, 4], [2, 3, 2, 2], True)
        assert same.mode_names == ["m0.0", "m0.1", "m1.0", "m1.1"]
        np.testing.assert_allclose(same.to_dense(), x, atol=1e-5)
        np.testing.assert_allclose(dense(same).reshape(6, 4), x, atol=1e-5)


def test_what_does_not_fit_together_is_refused():
    structure, dims = STRUCTURES["path"]
    cores = random_network(structure, dims).cores
    with pytest.raises(ValueError, match="3 cores were given; the structure has 4 vertices"):
        tnsearch.Network(tnsearch.Structure(structure), cores[:3])
    with pytest.raises(ValueError, match="core 0 has 1 axes; it needs 2"):
        tnsearch.Network(tnsearch.Structure(structure), [cores[0][0], *cores[1:]])
    with pytest.raises(ValueError):
        tnsearch.Network(tnsearch.Structure(structure), [cores[0][:1], *cores[1:]])
    with pytest.raises(ValueError, match="no error to be saved"):
        tnsearch.Network(tnsearch.Structure(structure), cores).save("never.safetensors")
    with pytest.raises(OSError):
        tnsearch.Network.load("no/such/file.safetensors")
