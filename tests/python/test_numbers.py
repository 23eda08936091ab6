"""Complex and 32-bit tensors through the command, with numpy as the judge."""

import json

import numpy as np
import pytest
from conftest import relative_error

RANKS = [2, 3, 2, 2, 3]
# Axis n of the file is mode ORDER[n] of the ring.
ORDER = [3, 0, 4, 1, 2]


def ring(dtype):
    """A random ring with shuffled modes."""
    rng = np.random.default_rng(11)

    def core(left, dim, right):
        entries = rng.standard_normal((left, dim, right))
        if np.dtype(dtype).kind == "c":
            entries = entries + 1j * rng.standard_normal((left, dim, right))
        return entries

    cores = [core(RANKS[k - 1], 3, RANKS[k]) for k in range(5)]
    x = np.einsum("eia,ajb,bkc,cld,dme->ijklm", *cores, optimize=True)
    return x.transpose(ORDER).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "option", "kind", "eps"),
    [
        ("<c16", None, "complex128", 1e-10),
        (">c16", None, "complex128", 1e-10),
        ("<c8", None, "complex128", 1e-10),
        ("<c8", "complex64", "complex64", 1e-6),
        ("<f4", "f32", "f32", 1e-6),
        ("<f8", "complex128", "complex128", 1e-10),
        ("<f8", None, "f64", 1e-10),
    ],
)
def test_a_ring_goes_round(dtype, option, kind, eps, tnsearch, read_network, info, tmp_path):
    x = ring(dtype)
    net, back = tmp_path / "net.safetensors", tmp_path / "Z.npy"
    # Fortran order too.
    np.save(tmp_path / "X.npy", np.asfortranarray(x))
    options = ["--dtype", option] if option else []
    line = ["search", tmp_path / "X.npy", "--max-rse", eps, "--json", "-", "-o", net, *options]
    found = json.loads(tnsearch(*line))
    assert found["dtype"] == kind
    assert found["rse"] <= eps
    assert found["params"] == sum(3 * RANKS[k - 1] * RANKS[k] for k in range(5))
    single = kind in ("f32", "complex64")
    # The network by numpy alone, and by the command.
    by_numpy = read_network(net)
    assert by_numpy.dtype == np.dtype(kind if kind.startswith("c") else kind.replace("f", "float"))
    assert relative_error(x, by_numpy) == pytest.approx(found["re"], rel=1e-3, abs=1e-6 if single else 1e-14)
    tnsearch("reconstruct", net, "-o", back)
    z = np.load(back)
    assert z.dtype == by_numpy.dtype
    assert relative_error(by_numpy, z) < (1e-6 if single else 1e-14)
    assert info(net)["dtype"] == kind


def test_imaginary_parts_are_never_lost(refused, tnsearch, tmp_path):
    x = ring("<c16")
    np.save(tmp_path / "X.npy", x)
    assert "complex numbers cannot be made real" in refused("search", tmp_path / "X.npy", "--dtype", "f64")
    np.save(tmp_path / "X.npy", x.real + 0j)
    line = ["search", tmp_path / "X.npy", "--dtype", "f64", "--lambda", "1", "--max-evaluations", "1"]
    assert json.loads(tnsearch(*line, "--json", "-"))["dtype"] == "f64"


def test_complex_fits_are_those_of_numpy(fit, read_network, tmp_path):
    """One cut: the best error is the tail of the singular values."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((6, 8)) + 1j * rng.standard_normal((6, 8))
    np.save(tmp_path / "X.npy", x)
    structure = {"template": "path", "permutation": [0, 1], "edges": [[0, 1, 3]]}
    report, net = fit(tmp_path / "X.npy", structure, "--tolerance", "1e-9", "--max-sweeps", "2000")
    values = np.linalg.svd(x, compute_uv=False)
    assert report["rse"] == pytest.approx((values[3:] ** 2).sum() / (values**2).sum(), rel=1e-6)
    assert relative_error(x, read_network(net)) == pytest.approx(report["re"], rel=1e-12)


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<u8", "<i4", "<u4", "<i2", "?"])
@pytest.mark.parametrize("kind", ["f64", "f32", "complex64", "complex128"])
def test_whole_numbers_that_no_float_holds_are_counted(dtype, kind, command, tmp_path):
    rng = np.random.default_rng(0)
    about = np.iinfo(dtype) if dtype != "?" else None
    x = np.abs(rng.integers(1, 100, (4, 5, 6))).astype(dtype)
    if about is not None:
        # At the ends of the range, around the first numbers that are not held, and far beyond.
        edges = [about.max, about.min, 2**53, 2**53 + 1, 2**53 - 1, 2**24, 2**24 + 1, 2**60 + 2**5, -(2**53) - 1, -(2**24) - 3]
        edges = [v for v in edges if about.min <= v <= about.max]
        x.reshape(-1)[: len(edges)] = edges
    np.save(tmp_path / "X.npy", x)
    single = np.float32 if kind in ("f32", "complex64") else np.float64
    changed = sum(int(single(np.float64(v))) != int(v) for v in x.reshape(-1))
    lines = {
        "complete": ["--missing", 0.2, "--template", "path", "--max-rank", 1, "--max-sweeps", 2, "-o", tmp_path / "F.npy"],
        "decompose": ["--method", "tt-svd", "--max-re", 0.5],
        "search": ["--template", "path", "--max-re", 0.5, "--max-evaluations", 1],
    }
    for name, options in lines.items():
        done = command(name, tmp_path / "X.npy", "--dtype", kind, *options, "--json", tmp_path / "r.json", code=0)
        said = [text for text in done.stderr.splitlines() if "cannot hold" in text]
        assert len(said) == (1 if changed else 0), (name, done.stderr)
        if changed:
            assert f": {changed} of 120 entries " in said[0] and said[0].startswith("warning: "), said
