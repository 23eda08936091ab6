"""generate and reconstruct: the tensors and pictures of the command line, bit for bit."""

import json

import numpy as np
import pytest

import tnsearch


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"seed": 7, "order": 4, "dim": 5, "ranks": (2, 3)}, ["--seed", 7, "--order", 4, "--dim", 5, "--ranks", "2..3"]),
        (
            {"template": "ht", "dims": [3, 4, 2], "perm": [2, 0, 1], "sigma": 0.1, "noise_db": 20},
            ["--template", "ht", "--dims", "3,4,2", "--perm", "2,0,1", "--sigma", 0.1, "--noise-db", 20],
        ),
    ],
    ids=str,
)
def test_generate_is_that_of_the_command_line(options, arguments, command, tmp_path):
    x, net = tmp_path / "X.npy", tmp_path / "net.safetensors"
    report = json.loads(command("generate", "-o", x, "--network", net, "--json", "-", *arguments))
    tensor, network = tnsearch.generate(**options)
    assert np.array_equal(tensor, np.load(x))
    network.save(tmp_path / "ours.safetensors")
    assert (tmp_path / "ours.safetensors").read_bytes() == net.read_bytes()
    assert (network.rse, network.params) == (report["rse"], report["params"])


@pytest.mark.parametrize("example", ["heisenberg", "smooth", "field", "signal", "weights", "layer"])
def test_examples(example, command, tmp_path):
    size = {"heisenberg": 6, "signal": 8}.get(example)
    arguments = [] if size is None else ["--order", size]
    command("generate", "--example", example, "--seed", 3, "-o", tmp_path / "X.npy", *arguments)
    tensor, network = tnsearch.generate(example=example, order=size, seed=3)
    assert network is None and np.array_equal(tensor, np.load(tmp_path / "X.npy"))


def test_what_cannot_be_made_is_said():
    calls = [
        ({"example": "heat"}, ValueError, "use heisenberg, smooth"),
        ({"example": "smooth", "order": 4}, ValueError, "five modes"),
        ({"example": "smooth", "ranks": (1, 2)}, ValueError, "ranks belongs to a hidden network"),
        ({"example": "smooth", "template": "ring"}, ValueError, "a template is that of a hidden network"),
        ({"dims": [3, 3, 3], "order": 3}, ValueError, "leave these out"),
        ({"template": "any"}, ValueError, "stands for many graphs"),
        ({"ranks": (3, 2)}, ValueError, "ranks from 3 to 2"),
        ({"ranks": 3}, TypeError, "ranks"),
        ({"sigma": 0}, ValueError, "sigma is 0"),
        ({"sigma": 1e300}, ValueError, "does not go"),
        ({"order": 4, "perm": [0, 1, 2, 2]}, ValueError, "bad permutation"),
        ({"sede": 1}, TypeError, "did you mean 'seed'"),
    ]
    for options, error, words in calls:
        with pytest.raises(error, match=words):
            tnsearch.generate(**options)


@pytest.mark.parametrize("colours", [1, 3])
def test_a_picture_comes_back_as_its_pixels(colours, command, tmp_path):
    i, j, c = np.ogrid[0:24, 0:20, 0:colours]
    picture = (np.sin(i / 5.0) * np.cos(j / 7.0) * 90 + 128 + 20 * c).astype("uint8")[..., 0 if colours == 1 else slice(None)]
    np.save(tmp_path / "p.npy", picture / 255)
    made = tnsearch.compress(tmp_path / "p.npy", tensorise="vdt", max_re=0.05)
    net = tmp_path / "net.safetensors"
    made.network.save(net)
    back = tnsearch.reconstruct(made.network)
    assert back.dtype == np.uint8 and back.shape == picture.shape
    assert np.abs(back.astype(int) - picture).mean() < 20
    # As the command writes it: the file of pixels, and that of numbers.
    for name in ("out.png", "out.npy"):
        command("reconstruct", net, "-o", tmp_path / f"theirs-{name}")
        assert tnsearch.reconstruct(net, output=tmp_path / f"ours-{name}") is None
        assert (tmp_path / f"ours-{name}").read_bytes() == (tmp_path / f"theirs-{name}").read_bytes()
    numbers = np.load(tmp_path / "ours-out.npy")
    assert np.array_equal(back, np.round(np.clip(numbers, 0, 1) * 255).astype("uint8"))
    assert np.array_equal(tnsearch.reconstruct(made), back)


def test_a_network_of_no_picture_gives_its_tensor(tmp_path):
    tensor, network = tnsearch.generate(order=4)
    assert np.array_equal(tnsearch.reconstruct(network), network.to_dense())
    calls = [
        (lambda: tnsearch.reconstruct(tensor), TypeError, "ndarray is no Network"),
        (lambda: tnsearch.reconstruct(network, max_memory=10), MemoryError, "bytes"),
        (lambda: tnsearch.reconstruct(network, output="/no/such/folder/x.npy"), (OSError, ValueError), "/no/such/folder"),
    ]
    for call, error, words in calls:
        with pytest.raises(error, match=words):
            call()
    net = tmp_path / "net.safetensors"
    network.save(net)
    before = net.read_bytes()
    with pytest.raises(ValueError, match="output and the network are the same file, .*net.safetensors"):
        tnsearch.reconstruct(net, output=net)
    assert net.read_bytes() == before
    broken = tnsearch.Network(network.structure, [np.full(c.shape, 1e200) for c in network.cores], rse=0.0)
    with pytest.raises(ValueError, match="not a finite number"):
        tnsearch.reconstruct(broken)
