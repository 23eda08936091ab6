"""Pictures and arrays, with pillow and numpy as the judges."""

import json

import numpy as np
import pytest
from PIL import Image


def scene(height, width, channels):
    """A gradient with a disc, as bytes."""
    y, x = np.mgrid[0:height, 0:width] / np.array([[[height]], [[width]]])
    tone = 0.2 + 0.4 * x + 0.1 * np.sin(6 * y) + 0.3 * (np.hypot(y - 0.4, x - 0.6) < 0.3)
    rgb = np.stack([tone, 0.8 * tone, 1 - tone], axis=-1)
    return np.round(255 * np.clip(rgb[..., :channels].squeeze(), 0, 1)).astype(np.uint8)


def psnr(a, b, peak):
    return 10 * np.log10(peak**2 / np.mean((a.astype(float) - b.astype(float)) ** 2))


def vdt(x, digits):
    """Digit k of row and column made mode k, by numpy."""
    k = len(digits)
    split = [d[0] for d in digits] + [d[1] for d in digits] + list(x.shape[2:])
    axes = [axis for pair in zip(range(k), range(k, 2 * k)) for axis in pair]
    shape = [a * b for a, b in digits] + list(x.shape[2:])
    return x.reshape(split).transpose(axes + list(range(2 * k, len(split)))).reshape(shape)


@pytest.mark.parametrize("size", [(12, 18, 1), (11, 13, 3)])
@pytest.mark.parametrize("cores", ["f16", "f32"])
def test_a_picture_goes_there_and_back(size, cores, tnsearch, tmp_path):
    x = scene(*size)
    Image.fromarray(x).save(tmp_path / "x.png")
    made = json.loads(tnsearch("compress", tmp_path / "x.png", "-o", tmp_path / "x.net", "--psnr", 24,
                               "--template", "path", "--max-seconds", 600, "--cores", cores, "--json", "-"))  # fmt: skip
    tnsearch("decompress", tmp_path / "x.net", "-o", tmp_path / "z.png")
    z = np.asarray(Image.open(tmp_path / "z.png"))
    assert z.shape == x.shape and z.dtype == np.uint8
    assert made["psnr"] == pytest.approx(psnr(x, z, 255), abs=1e-9) and made["psnr"] >= 23.999
    tnsearch("reconstruct", tmp_path / "x.net", "-o", tmp_path / "z.npy")
    numbers = np.load(tmp_path / "z.npy")
    re = np.linalg.norm(numbers - x / 255) / np.linalg.norm(x / 255)
    assert made["re"] == pytest.approx(re, rel=1e-6)
    assert made["bytes"] == (tmp_path / "x.net").stat().st_size


def test_numpy_reads_a_network_of_digits(tnsearch, read_network, tmp_path):
    x = scene(11, 13, 3)
    Image.fromarray(x).save(tmp_path / "x.png")
    for cores in ("f16", "f32", "f64"):
        tnsearch("compress", tmp_path / "x.png", "-o", tmp_path / "x.net", "--re", 0.1, "--template", "path",
                 "--max-seconds", 600, "--cores", cores)  # fmt: skip
        tnsearch("reconstruct", tmp_path / "x.net", "-o", tmp_path / "z.npy")
        assert read_network(tmp_path / "x.net") == pytest.approx(np.load(tmp_path / "z.npy"), abs=1e-5)


def test_digits_are_those_of_numpy(tnsearch, tmp_path):
    """A rank-1 picture of digits: the fit is exact only if the entries go where numpy puts them."""
    rng = np.random.default_rng(3)
    factors = [rng.uniform(0.5, 1, 6), rng.uniform(0.5, 1, 4), rng.uniform(0.5, 1, 3)]
    tensor = np.einsum("i,j,k->ijk", *factors)
    digits = [(2, 3), (2, 2)]
    # The way back by numpy: mode k is digit k of the row, then digit k of the column.
    x = tensor.reshape(2, 3, 2, 2, 3).transpose(0, 2, 1, 3, 4).reshape(4, 6, 3)
    assert np.allclose(vdt(x, digits), tensor)
    np.save(tmp_path / "x.npy", x)
    report = json.loads(tnsearch("search", tmp_path / "x.npy", "--tensorise", "vdt", "--factors", "2x3,2x2",
                                 "--template", "path", "--max-rse", 1e-20, "--json", "-"))  # fmt: skip
    assert report["dims"] == [6, 4, 3] and report["params"] == 13


def test_the_authors_reshape(tnsearch, tmp_path):
    """grey / 255 reshaped in Fortran order, as in their program."""
    rng = np.random.default_rng(4)
    tensor = np.einsum("i,j,k,l->ijkl", *(rng.uniform(0.5, 1, 4) for _ in range(4)))
    np.save(tmp_path / "x.npy", tensor.reshape((16, 16), order="F"))
    report = json.loads(tnsearch("search", tmp_path / "x.npy", "--tensorise", "reshape", "--template", "path",
                                 "--max-rse", 1e-20, "--json", "-"))  # fmt: skip
    assert report["dims"] == [4, 4, 4, 4] and report["params"] == 16


@pytest.mark.parametrize("mode", ["L", "RGB", "P", "1", "LA", "RGBA", "I;16"])
def test_every_mode_of_pillow_is_read(mode, info, tmp_path):
    x = scene(8, 12, 3)
    if mode == "I;16":
        picture = Image.fromarray(x[..., 0].astype(np.uint16) * 257)
    else:
        picture = Image.fromarray(x).convert(mode)
    picture.save(tmp_path / "x.png")
    flat = {"LA": "L", "RGBA": "RGB", "P": "RGB", "1": "L"}.get(mode, mode)
    values = np.asarray(picture.convert(flat) if flat != mode else picture).astype(float)
    values /= 65535 if mode == "I;16" else 255
    got = info(tmp_path / "x.png")
    assert got["dims"] == list(values.shape)
    assert got["norm"] == pytest.approx(np.linalg.norm(values.ravel()), rel=1e-12)
    assert got["dtype"] == ("u16" if mode == "I;16" else "u8")


def test_resizing_is_that_of_pillow(tnsearch, tmp_path):
    x = scene(32, 48, 1)
    Image.fromarray(x).save(tmp_path / "x.png")
    tnsearch("decompose", tmp_path / "x.png", "--resize", "16x20", "--tensorise", "none", "--max-rse", 1e-20,
             "--method", "tt-svd", "-o", tmp_path / "n.safetensors")  # fmt: skip
    tnsearch("reconstruct", tmp_path / "n.safetensors", "-o", tmp_path / "z.npy")
    judged = np.asarray(Image.fromarray(x).resize((20, 16), Image.Resampling.BICUBIC)) / 255
    assert np.abs(np.load(tmp_path / "z.npy") - judged).max() < 2 / 255


@pytest.mark.parametrize("dtype", ["u1", "<i2", "<f4", "<f8"])
def test_arrays_keep_shape_and_type(dtype, tnsearch, tmp_path):
    values = np.fromfunction(lambda i, j, k: 100 + 90 * np.sin(i / 2 + j / 3) * np.cos(k / 4), (6, 8, 10))
    x = values.astype(dtype)
    np.savez(tmp_path / "x.npz", x=x)
    made = json.loads(tnsearch("compress", f"{tmp_path / 'x.npz'}:x", "-o", tmp_path / "x.net", "--re", 0.02,
                               "--max-seconds", 600, "--json", "-"))  # fmt: skip
    tnsearch("decompress", tmp_path / "x.net", "-o", tmp_path / "z.npy")
    z = np.load(tmp_path / "z.npy")
    assert z.shape == x.shape and z.dtype == x.dtype
    error = np.linalg.norm(z.astype(float) - x) / np.linalg.norm(x.astype(float))
    rounding = 0.5 / np.sqrt(np.mean(x.astype(float) ** 2)) if dtype in ("u1", "<i2") else 0
    assert error <= 0.02 + rounding and made["re"] <= 0.02
    assert made["peak"] == pytest.approx(np.abs(x.astype(float)).max())
    # Of the numbers of the network, before they are rounded to a whole type.
    assert made["psnr"] == pytest.approx(
        10 * np.log10(made["peak"] ** 2 / (made["rse"] * np.mean(x.astype(float) ** 2))), abs=1e-9)
