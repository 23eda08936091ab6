"""Arrays written by numpy (and safetensors) are read as numpy means them."""

import numpy as np
import pytest
import safetensors.numpy

DTYPES = ["<f8", ">f8", "<f4", ">f4", "<f2", ">f2", "<i8", ">i8", "<i4", ">i4", "<i2", ">i2", "i1",
          "<u8", ">u8", "<u4", ">u4", "<u2", ">u2", "u1", "?"]  # fmt: skip


def sample(dtype="<f8", order="C"):
    """3 x 4 x 5, no symmetry: any mistake in type, byte order or layout changes a sum below."""
    values = np.random.default_rng(11).uniform(0, 120, (3, 4, 5))
    if np.dtype(dtype) == bool:
        values = values > 60
    return np.asarray(values.astype(dtype), order=order)


def norm(x):
    return np.linalg.norm(x.astype(np.float64).ravel())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_npy(dtype, order, info, tmp_path):
    x = sample(dtype, order)
    np.save(tmp_path / "x.npy", x)
    got = info(tmp_path / "x.npy")
    assert got["dims"] == [3, 4, 5]
    assert got["norm"] == pytest.approx(norm(x), rel=1e-13)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_takes_the_named_array(save, info, tmp_path):
    a, b = sample(">f4", "F"), np.arange(1.0, 7.0).reshape(2, 3)
    save(tmp_path / "x.npz", a=a, b=b)
    for key, x in [("a", a), ("b", b)]:
        got = info(f"{tmp_path / 'x.npz'}:{key}")
        assert got["dims"] == list(x.shape)
        assert got["norm"] == pytest.approx(norm(x), rel=1e-13)


def test_an_unknown_key_lists_those_there_are(refused, tmp_path):
    np.savez(tmp_path / "x.npz", first=sample(), second=sample())
    [line] = refused("info", f"{tmp_path / 'x.npz'}:third").splitlines()
    assert "third" in line and "first" in line and "second" in line


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1"])
def test_safetensors(dtype, info, tmp_path):
    x = sample(dtype)
    safetensors.numpy.save_file({"w": x, "other": sample()[:2]}, tmp_path / "x.safetensors")
    got = info(f"{tmp_path / 'x.safetensors'}:w")
    assert got["dims"] == [3, 4, 5]
    assert got["norm"] == pytest.approx(norm(x), rel=1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i2"])
def test_every_entry_is_in_its_place(dtype, order, fit, tnsearch, tmp_path):
    """A norm cannot see a wrong layout; an exact fit written back can."""
    x = sample(dtype, order)
    np.save(tmp_path / "x.npy", x)
    # Enough rank for any 3 x 4 x 5 tensor: the middle mode's core holds all of it.
    structure = {"template": "path", "permutation": [0, 1, 2], "edges": [[0, 1, 3], [1, 2, 5]]}
    report, net = fit(tmp_path / "x.npy", structure, "--seed", 1)
    assert report["rse"] < 1e-12
    tnsearch("reconstruct", net, "-o", tmp_path / "z.npy")
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), x.astype("f8"), rtol=0, atol=1e-6 * norm(x))
