"""Entries near the largest and the least numbers: the same tensor times 2^k has the same answer, and numpy says so."""

import json

import numpy as np
import pytest

# The exponents of each kind: one in the middle, the largest, small normal numbers, subnormal ones.
EXPONENTS = {
    "f8": [0, 1023, -1000, -1050],
    "c16": [0, 1022, -1050],
    "f4": [0, 127, -135],
    "c8": [0, 126, -135],
}
DTYPES = {"f8": "f64", "c16": "complex128", "f4": "f32", "c8": "complex64"}
CASES = [(kind, k) for kind, powers in EXPONENTS.items() for k in powers]


def times(x, k):
    """x * 2^k with 64-bit numbers, in steps that stay within the range of numbers."""
    x = x.astype(np.result_type(x.dtype, np.float64))
    for step in (k // 2, k - k // 2):
        x = x * 2.0**step
    return x


def train(kind, dims=(5, 4, 6), rank=2, noise=0.0):
    """A tensor train of that rank with noise, its largest entry just below 1."""
    rng = np.random.default_rng(7)

    def normal(*shape):
        real = rng.standard_normal(shape)
        return real + 1j * rng.standard_normal(shape) if kind[0] == "c" else real

    cores = normal(dims[0], rank), normal(rank, dims[1], rank), normal(rank, dims[2])
    x = np.einsum("ia,ajb,bk->ijk", *cores)
    x = x + noise * normal(*dims)
    return (0.99 * x / np.abs(x).max()).astype(kind)


def rse(x, z, k):
    """The RSE of two tensors of about 2^k."""
    x, z = times(x, -k), times(z, -k)
    return np.linalg.norm((x - z).ravel()) ** 2 / np.linalg.norm(x.ravel()) ** 2


def quantum(kind, k):
    """The RSE that rounding to the kind's numbers of that size takes, above that of its digits."""
    least = {"f8": -1074, "c16": -1074, "f4": -149, "c8": -149}[kind]
    digits = 1e-15 if kind in ("f8", "c16") else 1e-6
    return 100 * max(digits, 2.0 ** (least - k)) ** 2


def requests(kind):
    """Commands that write a network, each with what they are called."""
    eps = "1e-4"
    yield "search ring", ["search", "--template", "ring", "--max-rse", eps, "--seed", "1"]
    yield "search trees", ["search", "--template", "any-tree", "--max-rse", eps]
    yield "search params", ["search", "--template", "path", "--max-params", "40"]
    for method in ["als", "adam"] + ([] if kind[0] == "c" else ["lm"]):
        yield f"fit {method}", ["fit", "--structure", "s.json", "--method", method]
    methods = ["tt-svd", "hosvd", "ht-svd", "tr-svd", "tr-als", "tr-als-ar"]
    for method in methods + ([] if kind[0] == "c" else ["tr-lm", "bayes-tr"]):
        yield f"decompose {method}", ["decompose", "--method", method, "--max-rse", eps]


@pytest.mark.parametrize("kind", EXPONENTS)
def test_the_same_tensor_times_a_power_of_two_has_the_same_answer(kind, command, tmp_path):
    structure = {"template": "path", "permutation": [0, 1, 2], "edges": [[0, 1, 2], [1, 2, 2]]}
    (tmp_path / "s.json").write_text(json.dumps(structure))
    base, tensor = train(kind, noise=1e-2), tmp_path / "X.npy"
    net, back = tmp_path / "net.safetensors", tmp_path / "Z.npy"
    known = {}
    for k in EXPONENTS[kind]:
        x = times(base, k).astype(kind)
        np.save(tensor, x)
        for name, (what, *options) in requests(kind):
            options = [tmp_path / o if o == "s.json" else o for o in options]
            options += ["--dtype", DTYPES[kind]]
            done = command(what, tensor, *options, "-o", net, "--json", "-", code=0)
            found = json.loads(done.stdout)
            command("reconstruct", net, "-o", back, code=0)
            z = np.load(back)
            assert np.isfinite(z).all(), (name, k)
            # What is claimed is what numpy finds.
            got, allowed = rse(x, z, k), quantum(kind, k)
            assert abs(np.sqrt(got) - np.sqrt(found["rse"])) <= np.sqrt(allowed), (name, k, got)
            if "edges" in found:
                params = known.setdefault(name, (found["params"], found["rse"]))
                assert found["params"] == params[0], (name, k)
                near = 0.1 * np.sqrt(params[1]) + np.sqrt(allowed)
                assert abs(np.sqrt(found["rse"]) - np.sqrt(params[1])) <= near, (name, k)


@pytest.mark.parametrize(("kind", "k"), CASES)
def test_what_is_said_of_tensors_of_any_size(kind, k, tnsearch, info, tmp_path):
    x = times(train(kind), k).astype(kind)
    np.save(tmp_path / "X.npy", x)
    norm = np.linalg.norm(times(x, -k).ravel())
    said = info(tmp_path / "X.npy")["norm"]
    if k > 1000 and norm * 2.0 ** (k - 1000) > 2.0**23:
        assert said is None
    else:
        assert np.isclose(times(np.array(said), -k), norm, rtol=1e-3 if k < -1040 else 1e-6)
    ordinary = times(x, -k).astype(kind)
    np.save(tmp_path / "Y.npy", ordinary)
    structure = {"template": "path", "permutation": [0, 1, 2], "edges": []}
    (tmp_path / "s.json").write_text(json.dumps(structure))
    for line in (
        ["bound", "{}", "--structure", tmp_path / "s.json"],
        ["certify", "{}", "--template", "path", "--max-rse", "1e-4"],
        ["certify", "{}", "--template", "ring", "--max-params", "30"],
    ):
        here, there = (
            json.loads(tnsearch(*(str(a).format(tmp_path / f) for a in line), "--json", "-"))
            for f in ("X.npy", "Y.npy")
        )
        assert here["edges"] == there["edges"], k
        numbers = [found.get("lower_bound", found.get("rse")) for found in (here, there)]
        flat = [list(v.values()) if isinstance(v, dict) else [v] for v in numbers]
        for a, b in zip(*flat, strict=True):
            assert a == b or a == pytest.approx(b, rel=1e-6), (line, k)


@pytest.mark.parametrize("k", [1020, -1040])
def test_holes_are_filled_whatever_the_size(k, command, tmp_path):
    x = times(train("f8", (8, 7, 6)), k)
    np.save(tmp_path / "X.npy", x)
    line = ["complete", tmp_path / "X.npy", "--missing", "0.2", "--seed", "3", "-o", tmp_path / "Z.npy"]
    found = json.loads(command(*line, "--json", "-", code=0).stdout)
    z = np.load(tmp_path / "Z.npy")
    assert np.isfinite(z).all()
    assert rse(x, z, k) < 1e-4
    assert found["recovered"]["rse"] < 1e-2


@pytest.mark.parametrize("k", [1020, -1050])
def test_arrays_are_compressed_whatever_their_size(k, command, tmp_path):
    x = times(train("f8", (12, 11, 10)), k)
    np.save(tmp_path / "X.npy", x)
    net = tmp_path / "net.safetensors"
    line = ["compress", tmp_path / "X.npy", "--re", "1e-5", "--cores", "f64", "-o", net, "--json", "-"]
    found = json.loads(command(*line, code=0).stdout)
    command("decompress", net, "-o", tmp_path / "Z.npy", code=0)
    got = rse(x, np.load(tmp_path / "Z.npy"), k)
    assert abs(np.sqrt(got) - found["re"]) < 1e-6 + np.sqrt(quantum("f8", k))
    command("round", net, "--max-rse", "1e-8", "-o", tmp_path / "less.safetensors", code=0)
    command("reconstruct", tmp_path / "less.safetensors", "-o", tmp_path / "Z.npy", code=0)
    assert rse(x, np.load(tmp_path / "Z.npy"), k) < 1.1e-8


@pytest.mark.parametrize("loss", ["kl", "huber", "poisson"])
def test_losses_say_which_sizes_they_are_for(loss, command, refused, fit, tmp_path):
    structure = {"template": "path", "permutation": [0, 1, 2], "edges": [[0, 1, 2], [1, 2, 2]]}
    (tmp_path / "s.json").write_text(json.dumps(structure))
    x = np.abs(train("f8"))
    for k in (1020, -1050):
        np.save(tmp_path / "X.npy", times(x, k))
        line = ["fit", tmp_path / "X.npy", "--structure", tmp_path / "s.json", "--loss", loss]
        said = refused(*line)
        assert "1e-144 to 1e144" in said, said
    # Counts are whole.
    for k in (400,) if loss == "poisson" else (400, -400):
        np.save(tmp_path / "X.npy", times(x, k))
        found, net = fit(tmp_path / "X.npy", structure, "--loss", loss)
        command("reconstruct", net, "-o", tmp_path / "Z.npy", code=0)
        assert rse(times(x, k), np.load(tmp_path / "Z.npy"), k) < 0.5, found


def test_a_tensor_beyond_the_numbers_is_not_written(refused, command, tmp_path):
    """Cores may be finite where their tensor is not: reconstruct says so, and writes nothing."""
    x = np.full((4, 4, 4), np.finfo("f8").max)
    x[0, 0, 0] = -x[0, 0, 0]
    np.save(tmp_path / "X.npy", x)
    net, out = tmp_path / "net.safetensors", tmp_path / "Z.npy"
    line = ["search", tmp_path / "X.npy", "--template", "path", "--max-rank", "1", "--max-params", "12"]
    command(*line, "-o", net, code=0)
    done = json.loads(command("info", net, "--json", "-", code=0).stdout)
    assert done["params"] == 12
    # The nearest network of rank 1 has entries above what it stands for.
    said = refused("reconstruct", net, "-o", out)
    assert "not a finite number of f64; nothing is written" in said
    assert not out.exists()
