"""fit, bound, certify, space, decompose, round and complete: the answers of the command line, bit for bit."""

import json

import numpy as np
import pytest

import tnsearch

PATH = {"template": "path", "permutation": [2, 0, 1, 3], "edges": [[0, 1, 2], [1, 2, 3], [2, 3, 2]]}
RING = {"template": "ring", "permutation": [0, 2, 1, 3], "edges": [[0, 1, 2], [0, 3, 2], [1, 2, 2], [2, 3, 2]]}


@pytest.fixture(scope="module")
def x():
    """A smooth tensor with some noise."""
    i, j, k, l = np.ogrid[0:4, 0:5, 0:4, 0:6]
    return np.sin(1 + i * j / 5 + k * l / 7) + 0.05 * np.random.default_rng(0).standard_normal((4, 5, 4, 6))


@pytest.fixture
def ask(command, tmp_path, x):
    """Runs a command on the tensor; returns its JSON."""

    def run(name, *options, tensor=None, code=0):
        np.save(tmp_path / "X.npy", x if tensor is None else tensor)
        return json.loads(command(name, tmp_path / "X.npy", *options, "--json", "-", code=code))

    return run


@pytest.fixture
def file(tmp_path):
    """A structure as a file."""

    def write(structure):
        (tmp_path / "s.json").write_text(json.dumps(structure))
        return tmp_path / "s.json"

    return write


def same_structure(found, report):
    assert found.structure == tnsearch.Structure({name: report[name] for name in ("template", "permutation", "edges")})
    assert (found.params, found.phi, found.log10_cr) == (report["params"], report["phi"], report["log10_cr"])


def same_cores(network, path):
    stored = tnsearch.Network.load(path)
    assert all(np.array_equal(a, b) for a, b in zip(network.cores, stored.cores, strict=True))
    assert network.rse == stored.rse and network.structure == stored.structure
    assert np.array_equal(network.to_dense(), stored.to_dense())


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"seed": 3, "restarts": 2, "max_sweeps": 9}, ["--seed", 3, "--restarts", 2, "--max-sweeps", 9]),
        ({"method": "lm", "max_sweeps": 5, "threads": 1}, ["--method", "lm", "--max-sweeps", 5, "--threads", 1]),
        ({"dtype": "f32", "rescue": 0}, ["--dtype", "f32", "--rescue", 0]),
        ({"loss": "huber:0.5", "max_sweeps": 20}, ["--loss", "huber:0.5", "--max-sweeps", 20]),
    ],
    ids=str,
)
def test_fit_is_that_of_the_command_line(x, ask, file, tmp_path, options, arguments):
    report = ask("fit", "--structure", file(RING), "-o", tmp_path / "net.safetensors", *arguments)
    found = tnsearch.fit(x, RING, **options)
    same_structure(found, report)
    assert (found.sweeps, found.restarts, found.method) == (report["sweeps"], report["restarts"], report["method"])
    assert found.error == report[found.measure["id"]]
    same_cores(found.network, tmp_path / "net.safetensors")
    # What is said about the error is so.
    z = found.network.to_dense().astype(float)
    assert found.rse == pytest.approx(np.sum((x - z) ** 2) / np.sum(x**2), rel=1e-4)
    assert found.re == np.sqrt(found.rse)


def test_fit_takes_structures_in_every_form(x):
    want = tnsearch.fit(x, RING, restarts=1)
    for given in (tnsearch.Structure(RING), json.dumps(RING), want.network, want):
        again = tnsearch.fit(x, given, restarts=1)
        assert again.rse == want.rse and again.structure == want.structure


def test_fit_of_a_reshaped_network_splits_as_it_was(x, ask, tmp_path):
    first = tnsearch.decompose(x, max_re=0.1, split="2x2,5,4,6")
    first.network.save(tmp_path / "first.safetensors")
    out = tmp_path / "net.safetensors"
    report = ask("fit", "--structure", tmp_path / "first.safetensors", "--seed", 1, "-o", out)
    found = tnsearch.fit(x, first.network, seed=1)
    assert found.network.reshaped and list(found.network.dims) == report["dims"]
    same_cores(found.network, out)
    assert np.linalg.norm(found.network.to_dense() - x) == pytest.approx(found.re * np.linalg.norm(x))


def test_fit_with_holes(x, ask, file, tmp_path):
    known = np.random.default_rng(1).random(x.shape) < 0.7
    np.save(tmp_path / "M.npy", known)
    out = tmp_path / "net.safetensors"
    mask = ["--mask", tmp_path / "M.npy", "--mask-marks", "observed"]
    report = ask("fit", "--structure", file(PATH), "-o", out, *mask)
    found = tnsearch.fit(x, PATH, mask=known, mask_marks="observed")
    assert found.rse == report["rse"]
    same_cores(found.network, out)
    holed = np.where(known, x, np.nan)
    assert tnsearch.fit(holed, PATH, mask=~known).rse == found.rse
    assert tnsearch.fit(holed, PATH, nan_missing=True).rse == found.rse
    z = found.network.to_dense()
    assert found.rse == pytest.approx(np.sum((x - z)[known] ** 2) / np.sum(x[known] ** 2))
    with pytest.raises(ValueError, match=r"mask=np\.isnan\(X\)"):
        tnsearch.fit(holed, PATH)


def test_bound_is_that_of_the_command_line(x, ask, file):
    report = ask("bound", "--structure", file(RING))
    found = tnsearch.bound(x, RING)
    same_structure(found, report)
    assert (found.rse, found.re, found.cuts) == (report["rse"], report["re"], report["cuts"])
    assert tnsearch.fit(x, RING).rse >= found.rse > 0
    # The worst cut by NumPy: the tail of the singular values of one unfolding.
    cut = found.cuts[0]
    others = [n for n in range(4) if n not in cut["modes"]]
    rows = int(np.prod([x.shape[n] for n in cut["modes"]]))
    values = np.linalg.svd(x.transpose(cut["modes"] + others).reshape(rows, -1), compute_uv=False)
    tail = np.sum(values[int(cut["width"]) :] ** 2) / np.sum(values**2)
    assert found.rse == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"max_re": 0.1}, ["--max-re", 0.1]),
        ({"max_rse": 0.02, "template": "path", "max_rank": 4}, ["--max-rse", 0.02, "--template", "path", "--max-rank", 4]),
        ({"max_re": 0.1, "template": "any-tree"}, ["--max-re", 0.1, "--template", "any-tree"]),
        ({"max_params": 60}, ["--max-params", 60]),
        ({"lambda_": 5, "shrink": False}, ["--lambda", 5, "--no-shrink"]),
        ({"max_re": 0.001, "max_rank": 2}, ["--max-re", 0.001, "--max-rank", 2]),
    ],
    ids=str,
)
def test_certificates_are_those_of_the_command_line(x, ask, options, arguments):
    report = ask("certify", *arguments)
    found = tnsearch.certify(x, **options)
    lower = report["lower_bound"]
    if lower is not None:
        lower = {name: value for name, value in lower.items() if value is not None}
    assert found.lower_bound == lower
    assert found.statement == report["statement"]
    assert (found.complete, found.nodes) == (report["complete"], report["nodes"])
    assert found.proven_impossible == report["proven_impossible"]
    assert found.needed_rank == report["needed_rank"]
    assert found.binding_cuts == report["binding_cuts"]
    assert found.relaxed_params == report["params"]
    if found.relaxed is not None:
        assert found.relaxed.edges == report["edges"]
    assert repr(found).startswith("<Certificate: ")


def test_networks_are_compared_with_the_bound(x, ask, tmp_path):
    network = tnsearch.decompose(x, max_re=0.1).network
    network.save(tmp_path / "net.safetensors")
    report = ask("certify", "--max-re", 0.1, "--net", tmp_path / "net.safetensors")
    found = tnsearch.certify(x, network, max_re=0.1)
    assert found.net == report["net"]
    assert (found.gap, found.certified_optimal) == (report["net"]["gap"], report["net"]["certified_optimal"])
    fitted = tnsearch.certify(x, network.structure, max_re=0.1)
    assert fitted.net["params"] == network.params and fitted.net["rse"] <= network.rse


@pytest.mark.parametrize(("template", "order"), [("ring", 6), ("path", 5), ("ht", 4), ("tucker", 5), ("peps:2x3", None)])
@pytest.mark.parametrize("internal", ["free", "fixed"])
def test_space_is_that_of_the_command_line(command, template, order, internal):
    more = [] if order is None else ["--order", order]
    arguments = ["--template", template, "--max-rank", 4, "--internal", internal, *more]
    report = json.loads(command("space", *arguments, "--json", "-"))
    found = tnsearch.space(template, order, max_rank=4, internal=internal)
    for name, value in vars(found).items():
        known = report[name]
        exact = name in ("automorphisms", "mode_symmetries", "structures", "search_space")
        assert value == (int(known) if exact and known is not None else known), name
    if order is not None:
        assert tnsearch.space(template, dims=[3] * order, max_rank=4, internal=internal) == found


METHODS = [
    ("tt-svd", {"max_re": 0.1}, ["--max-re", 0.1]),
    ("tt-svd", {"ranks": [2, 3, 2], "permutation": [1, 0, 2, 3]}, ["--ranks", "2,3,2", "--perm", "1,0,2,3"]),
    ("tr-svd", {"max_rse": 0.01}, ["--max-rse", 0.01]),
    ("tr-lm", {}, []),
    ("ht-svd", {"max_re": 0.1, "shares": "equal"}, ["--max-re", 0.1, "--shares", "equal"]),
    ("hosvd", {"ranks": 3}, ["--ranks", 3]),
    ("tree-svd", {"template": "star", "max_re": 0.1}, ["--template", "star", "--max-re", 0.1]),
    ("tr-als", {"ranks": 2, "seed": 4, "restarts": 2}, ["--ranks", 2, "--seed", 4, "--restarts", 2]),
    ("tr-als-ar", {"max_re": 0.2}, ["--max-re", 0.2]),
    ("bayes-tr", {"max_re": 0.1, "max_rank": 3, "max_sweeps": 30}, ["--max-re", 0.1, "--max-rank", 3, "--max-sweeps", 30]),
]


@pytest.mark.parametrize(("method", "options", "arguments"), METHODS, ids=str)
def test_decompositions_are_those_of_the_command_line(x, ask, tmp_path, method, options, arguments):
    found = tnsearch.decompose(x, method, **options)
    out = tmp_path / "net.safetensors"
    report = ask("decompose", "--method", method, "-o", out, *arguments, code=0 if found.target_reached else 1)
    same_structure(found, report)
    assert (found.rse, found.sweeps, found.settings) == (report["rse"], report["sweeps"], report["settings"])
    assert (found.max_rse, found.target_reached) == (report["max_rse"], report["target_reached"])
    same_cores(found.network, out)
    assert np.linalg.norm(found.network.to_dense() - x) == pytest.approx(found.re * np.linalg.norm(x), abs=1e-9)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"max_re": 0.2}, ["--max-re", 0.2]),
        ({"max_params": 60}, ["--max-params", 60]),
        ({"ranks": 2}, ["--ranks", 2]),
        ({"max_rse": 1e-6, "template": "path"}, ["--max-rse", 1e-6, "--template", "path"]),
    ],
    ids=str,
)
def test_rounding_is_that_of_the_command_line(x, command, tmp_path, options, arguments):
    before = tnsearch.fit(x, RING, restarts=1).network
    before.save(tmp_path / "before.safetensors")
    out = tmp_path / "net.safetensors"
    found = tnsearch.round(before, **options)
    code = 0 if found.target_reached else 1
    line = ["round", tmp_path / "before.safetensors", *arguments, "-o", out, "--json", "-"]
    report = json.loads(command(*line, code=code))
    same_structure(found, report)
    for name in ("rse", "re", "rse_floor", "rse_tensor_at_most", "params_before", "max_rse", "sweeps"):
        assert getattr(found, name) == report[name], name
    same_cores(found.network, out)
    z = before.to_dense()
    assert np.linalg.norm(found.network.to_dense() - z) == pytest.approx(found.re * np.linalg.norm(z), abs=1e-6)


@pytest.fixture(scope="module")
def smooth():
    """A tensor that few entries tell."""
    i, j, k = np.ogrid[0:8, 0:9, 0:7]
    return 2 + np.sin(i / 4) * np.cos(j / 5) + k / 8


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"missing": 0.5, "seed": 2}, ["--missing", 0.5, "--seed", 2]),
        ({"missing": 0.4, "template": "path", "folds": 3}, ["--missing", 0.4, "--template", "path", "--folds", 3]),
        ({"missing": 0.4, "method": "trals", "rank": 2}, ["--missing", 0.4, "--method", "trals", "--rank", 2]),
    ],
    ids=str,
)
def test_completions_are_those_of_the_command_line(smooth, ask, tmp_path, options, arguments):
    # So long that it does not end either.
    limit = {"max_seconds": 3600.0}
    full, net = tmp_path / "full.npy", tmp_path / "net.safetensors"
    arguments = [*arguments, "--max-seconds", 3600, "-o", full, "--network", net]
    report = ask("complete", *arguments, tensor=smooth)
    found = tnsearch.complete(smooth, **options, **limit)
    same_structure(found, report)
    for name in ("rse", "re", "held_out", "recovered", "ridge", "formats", "structures", "sweeps", "missing", "observed"):
        assert getattr(found, name) == report[name], name
    assert np.array_equal(found.tensor, np.load(full))
    same_cores(found.network, net)
    assert found.re_missing == report["recovered"]["re"]


def test_holes_are_filled_and_the_rest_stays(smooth):
    known = np.random.default_rng(5).random(smooth.shape) < 0.6
    found = tnsearch.complete(np.where(known, smooth, 99.0), mask=~known)
    assert np.array_equal(found.tensor[known], smooth[known])
    assert np.linalg.norm(found.tensor - smooth) < 0.01 * np.linalg.norm(smooth)
    assert (found.observed, found.missing) == (known.sum(), (~known).sum())
    again = tnsearch.complete(np.where(known, smooth, np.nan), nan_missing=True)
    assert np.array_equal(again.tensor, found.tensor)
    known[3] = False
    with pytest.warns(UserWarning, match="no entry is observed at index 3 of mode 0"):
        tnsearch.complete(smooth, mask=~known, max_rank=2)


# A format that ends long before its time, so that both searches are whole.
TRAIN = {"template": "path", "max_seconds": 3600.0}
TRAIN_ARGUMENTS = ["--template", "path", "--max-seconds", 3600]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"max_re": 0.05}, ["--re", 0.05]),
        ({"psnr": 25, "cores": "f16"}, ["--psnr", 25, "--cores", "f16"]),
        ({"max_params": 40}, ["--max-params", 40]),
        ({"max_re": 0.01, "split": 2, "cores": "f64"}, ["--re", 0.01, "--split", 2, "--cores", "f64"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_compression_is_that_of_the_command_line(smooth, command, tmp_path, options, arguments, dtype):
    x = (100 * smooth).astype(dtype)
    np.save(tmp_path / "X.npy", x)
    out, back = tmp_path / "net.safetensors", tmp_path / "back.npy"
    found = tnsearch.compress(x, **options, **TRAIN)
    line = ["compress", tmp_path / "X.npy", "-o", out, *arguments, *TRAIN_ARGUMENTS, "--json", "-"]
    report = json.loads(command(*line, code=0 if found.target_reached else 1))
    for name in ("params", "log10_cr", "rse", "re", "re_unrounded", "psnr", "peak", "bytes", "cores", "dtype", "stopped_by"):
        assert getattr(found, name) == report[name], name
    assert found.bytes_before == x.nbytes and list(found.shape) == report["shape"]
    found.network.save(tmp_path / "own.safetensors")
    assert (tmp_path / "own.safetensors").read_bytes() == out.read_bytes()
    command("decompress", out, "-o", back)
    restored = tnsearch.decompress(found.network)
    assert restored.dtype == x.dtype and np.array_equal(restored, np.load(back))
    assert np.array_equal(tnsearch.decompress(out), restored)


def test_pictures_are_compressed_from_files(command, tmp_path):
    i, j = np.ogrid[0:24, 0:20]
    levels = np.uint8(128 + 60 * np.sin(i / 5) * np.cos(j / 7))
    picture = tmp_path / "P.png"
    write_png(picture, levels)
    found = tnsearch.compress(picture, **TRAIN)
    out = tmp_path / "net.safetensors"
    line = ["compress", picture, "-o", out, *TRAIN_ARGUMENTS, "--json", "-"]
    report = json.loads(command(*line))
    assert found.picture and found.target_reached and found.network.reshaped
    for name in ("params", "rse", "psnr", "bytes", "bytes_before", "dtype", "picture"):
        assert getattr(found, name) == report[name], name
    back = tnsearch.decompress(found.network)
    assert (back.dtype, back.shape) == (np.uint8, levels.shape)
    error = np.mean((back / 255.0 - levels / 255.0) ** 2)
    assert found.psnr == pytest.approx(-10 * np.log10(error))
    assert tnsearch.compress(str(picture), grey=True, resize=(12, 10), **TRAIN).shape == (12, 10)


def write_png(path, levels):
    """A grey picture by the format's own rules."""
    import struct
    import zlib

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    height, width = levels.shape
    rows = b"".join(b"\0" + bytes(row) for row in levels)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_small_and_large_numbers_are_compressed_alike(smooth, factor):
    want = tnsearch.compress(smooth, max_re=0.05, **TRAIN)
    found = tnsearch.compress(factor * smooth, max_re=0.05, **TRAIN)
    assert found.params == want.params and found.re == pytest.approx(want.re, rel=1e-3)
    assert found.peak == pytest.approx(factor * want.peak) and found.psnr == pytest.approx(want.psnr, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: tnsearch.fit(x, RING, max_swepes=3), TypeError, "did you mean 'max_sweeps'"),
        (lambda x: tnsearch.bound(x, RING, tempalte=1), TypeError, "unexpected keyword argument 'tempalte'"),
        (lambda x: tnsearch.certify(x, max_er=1), TypeError, "did you mean 'max_re'"),
        (lambda x: tnsearch.space("ring", 4, maxrank=1), TypeError, "did you mean 'max_rank'"),
        (lambda x: tnsearch.decompose(x, rank=2), TypeError, "did you mean 'ranks'"),
        (lambda x: tnsearch.complete(x, masks=2), TypeError, "did you mean 'mask'"),
        (lambda x: tnsearch.fit(x, 3), TypeError, "no structure"),
        (lambda x: tnsearch.fit(x, {"template": "ring"}), ValueError, "no structure"),
        (lambda x: tnsearch.fit(x, PATH, restarts=0), ValueError, "restarts is 0"),
        (lambda x: tnsearch.fit(x, PATH, restarts="many"), TypeError, "restarts: it must be a whole number"),
        (lambda x: tnsearch.fit(x, PATH, restarts=-1), ValueError, "restarts: it must be a whole number"),
        (lambda x: tnsearch.fit(x, PATH, tolerance=float("nan")), ValueError, "tolerance"),
        (lambda x: tnsearch.fit(x, PATH, method="magic"), ValueError, "method: it is 'magic'"),
        (lambda x: tnsearch.fit(x, PATH, threads=0), ValueError, "threads is 0"),
        (lambda x: tnsearch.fit(x, PATH, dtype="f16"), ValueError, "dtype is 'f16'; use f32"),
        (lambda x: tnsearch.fit(x[0], PATH), ValueError, "modes"),
        (lambda x: tnsearch.fit(x, PATH, mask=np.ones((2, 2), bool)), ValueError, "the mask has shape"),
        (lambda x: tnsearch.fit(x, PATH, mask=np.ones(x.shape)), TypeError, "mask"),
        (lambda x: tnsearch.fit(x, PATH, mask=np.ones(x.shape, bool)), ValueError, "every entry is missing"),
        (lambda x: tnsearch.fit(x, PATH, mask_marks="observed"), ValueError, "goes with mask alone"),
        (lambda x: tnsearch.fit(x, PATH, mask=x > 0, mask_marks="known"), ValueError, "use missing, observed"),
        (lambda x: tnsearch.fit(x, PATH, max_memory="much"), ValueError, "max_memory is 'much'"),
        (lambda x: tnsearch.fit(x, PATH, max_memory=1000), MemoryError, "needs"),
        (lambda x: tnsearch.fit(x, PATH, split=2, reshape=(20, 24)), ValueError, "exclude each other"),
        (lambda x: tnsearch.fit(x, PATH, column_major=True), ValueError, "column_major"),
        (lambda x: tnsearch.fit(x, PATH, loss="absolute"), (TypeError, ValueError), "loss"),
        (lambda x: tnsearch.fit(np.full(x.shape, np.nan), PATH), ValueError, "NaN"),
        (lambda x: tnsearch.fit(np.full(x.shape, np.inf), PATH), ValueError, "finite"),
        (lambda x: tnsearch.fit(x.astype(object), PATH), TypeError, "dtype object"),
        (lambda x: tnsearch.fit("X.npy", PATH), TypeError, "X is a string"),
        (lambda x: tnsearch.certify(x, max_re=2.0), ValueError, "max_re is 2"),
        (lambda x: tnsearch.certify(x, template="any"), ValueError, "stands for many graphs"),
        (lambda x: tnsearch.certify(x, max_re=0.1, max_params=5), ValueError, "only one of it"),
        (lambda x: tnsearch.space("ring"), TypeError, "has any order"),
        (lambda x: tnsearch.space("round", 4), ValueError, "round"),
        (lambda x: tnsearch.space("ring", 4, internal="loose"), ValueError, "internal is 'loose'"),
        (lambda x: tnsearch.decompose(x, "svd"), ValueError, "use tt-svd"),
        (lambda x: tnsearch.decompose(x, restarts=2), ValueError, "option of tr-als"),
        (lambda x: tnsearch.decompose(x, ranks=[2]), None, ""),
        (lambda x: tnsearch.decompose(x, ranks=[2, 2]), ValueError, "needs one each"),
        (lambda x: tnsearch.decompose(x, ranks=2, max_re=0.1), ValueError, "exclude each other"),
        (lambda x: tnsearch.decompose(x, max_re=1.5), ValueError, "max_re is 1.5"),
        (lambda x: tnsearch.round(x, max_re=0.1), TypeError, "ndarray is no Network"),
        (lambda x: tnsearch.round(tnsearch.decompose(x).network), ValueError, "one of max_re"),
        (lambda x: tnsearch.compress(x, max_re=0.1, psnr=30), ValueError, "only one of max_re"),
        (lambda x: tnsearch.compress(x, cores="f8"), ValueError, "cores is 'f8'; use f16"),
        (lambda x: tnsearch.compress(x, max_re=3), ValueError, "re is 3"),
        (lambda x: tnsearch.compress(x, grey=True), ValueError, "a picture needs real numbers"),
        (lambda x: tnsearch.compress("no/such.png"), (OSError, ValueError), "no/such.png"),
        (lambda x: tnsearch.decompress(tnsearch.decompose(x).network), ValueError, "not made by 'compress'"),
        (lambda x: tnsearch.decompress(x), TypeError, "ndarray is no Network"),
        (lambda x: tnsearch.complete(x), TypeError, "which entries are missing"),
        (lambda x: tnsearch.complete(x, missing=1.5), ValueError, "missing is 1.5"),
        (lambda x: tnsearch.complete(x, missing=0.5, rank=3), ValueError, "use max_rank"),
        (lambda x: tnsearch.complete(x, mask=np.zeros(x.shape, bool)), ValueError, "nothing is missing"),
    ],
)
def test_what_is_wrong_is_said(x, call, error, words):
    if error is None:
        call(x)
        return
    with pytest.raises(error, match=words):
        call(x)


def test_results_say_what_they_are(x):
    assert repr(tnsearch.decompose(x, max_re=0.1)).startswith("<Decomposition: tt-svd, ")
    assert repr(tnsearch.fit(x, RING, restarts=1)).startswith("<FitResult: ")
    assert repr(tnsearch.bound(x, RING)).startswith("<Bound: re >= ")
    assert repr(tnsearch.space("ring", 8)) == (
        "<Space: ring of order 8, 2520 placements, 10^10.16 structures with ranks up to 7>"
    )
