"""Whatever is given to the package, it answers or raises an exception of the right type with one clear sentence: no
abort, no hang, no fault of the Rust part."""

import decimal
import fractions
import inspect
import math
import os
import warnings

import numpy as np
import pytest
from conftest import random_network
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tnsearch

RIGHT = (TypeError, ValueError, MemoryError, OSError)
FUZZ = settings(
    # `cargo xtask fuzz python` tries more.
    max_examples=int(os.environ.get("TNSEARCH_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# A tensor that every function takes and is done with at once.
X = np.random.default_rng(0).standard_normal((3, 4, 3))
RING = tnsearch.Structure("ring", [0, 1, 2], [[0, 1, 2], [0, 2, 2], [1, 2, 2]])


def calls():
    """Each public function with a small call that works: what it is given, and its options."""
    quick = {"max_evaluations": 2, "progress": False, "template": "ring"}
    made = {
        "search": ((X,), quick),
        "fit": ((X, RING), {"restarts": 1, "max_sweeps": 3}),
        "bound": ((X, RING), {}),
        "certify": ((X,), {"template": "ring", "max_rse": 0.1, "nodes": 100}),
        "complete": ((X,), {"missing": 0.2, "template": "ring", "max_sweeps": 3, "max_rank": 2, "folds": 2}),
        "compress": ((X,), {"max_re": 0.3}),
        "decompose": ((X,), {"max_re": 0.3}),
        "round": ((random_network(RING, [3, 4, 3]),), {"max_re": 0.3}),
        "space": (("ring", 4), {}),
        "generate": ((), {"order": 3}),
    }
    assert all(hasattr(tnsearch, name) for name in made)
    return made


CALLS = calls()
FUNCTIONS = sorted(CALLS)
TAKING_ARRAYS = sorted(set(CALLS) - {"round", "space", "generate"})
TAKING_HOLES = [name for name in FUNCTIONS if "mask" in inspect.signature(getattr(tnsearch, name)).parameters]


def answer(function, *arguments, **options):
    """Calls it; an exception must be of the right type and say one sentence in one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments, **options)
    except RIGHT as error:
        text = str(error)
        assert text and "\n" not in text.strip(), f"{type(error).__name__}: {text!r}"
        assert "please report" not in text and "panicked" not in text, text
        assert len(text) < 1000, text
        return error


def test_there_is_something_to_test():
    assert "search" in CALLS
    for name, (arguments, options) in CALLS.items():
        getattr(tnsearch, name)(*arguments, **options)


BAD_ARRAYS = {
    "object array": (np.array([[1, None], [2, "x"]], dtype=object), TypeError, "number"),
    "masked array": (np.ma.masked_greater(X, 1), TypeError, "masked"),
    "text": ("X.npy", TypeError, "string"),
    "array of text": (np.array([["a", "b"], ["c", "d"]]), TypeError, "number"),
    "dates": (np.array([["2026-01-01", "2026-01-02"]], dtype="datetime64[D]"), TypeError, "number"),
    "records": (np.zeros((2, 2), dtype=[("a", float)]), TypeError, "number"),
    "bytes": (b"abc", TypeError, "number"),
    "None": (None, TypeError, "number"),
    "a set": ({1, 2}, TypeError, "number"),
    "a dict": ({"a": 1}, TypeError, "number"),
    "ragged lists": ([[1, 2], [3]], TypeError, "array"),
    "a function": (len, TypeError, "number"),
    "NaN": (np.full((3, 3, 3), np.nan), ValueError, "NaN|finite|missing"),
    "one NaN": (np.where(np.arange(27).reshape(3, 3, 3) == 3, np.nan, 1.0), ValueError, "NaN|finite|missing"),
    "infinity": (np.where(np.arange(27).reshape(3, 3, 3) == 3, np.inf, 1.0), ValueError, "inf|finite"),
    "zeros": (np.zeros((3, 3, 3)), ValueError, "zero"),
    "nothing": (np.zeros((2, 0, 2)), ValueError, "0|entry"),
    "no axis": (np.float64(3), ValueError, "mode|entries"),
    "one axis": (np.ones(40), ValueError, "mode"),
}


@pytest.mark.parametrize("what", sorted(BAD_ARRAYS))
@pytest.mark.parametrize("name", TAKING_ARRAYS)
def test_arrays_that_are_none(name, what):
    array, kind, words = BAD_ARRAYS[what]
    if what == "masked array" and name in TAKING_HOLES:
        arguments, options = CALLS[name]
        getattr(tnsearch, name)(array, *arguments[1:], **options)
        return
    if name == "compress" and what == "text":
        # It takes the paths of pictures.
        kind, words = FileNotFoundError, "no such file"
    arguments, options = CALLS[name]
    with pytest.raises(kind, match=f"(?i){words}") as caught:
        getattr(tnsearch, name)(array, *arguments[1:], **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(1, 1, 2), (2, 1, 3), (1, 3, 1, 2), (1, 1, 1), (3, 1, 1, 1, 2)])
@pytest.mark.parametrize("template", [None, "ring", "path", "tucker", "ht", "star", "any-tree"])
def test_modes_of_length_one(shape, template):
    x = np.random.default_rng(1).standard_normal(shape)
    found = answer(tnsearch.search, x, template=template, progress=False, max_evaluations=5)
    assert isinstance(found, (tnsearch.Result, ValueError)), found


def test_too_large_is_said_before_memory_is_taken():
    # 8 TB that NumPy does not hold either.
    huge = np.lib.stride_tricks.as_strided(np.zeros(1), (10_000, 10_000, 10_000), (0, 0, 0))
    for name in TAKING_ARRAYS:
        arguments, options = CALLS[name]
        error = answer(getattr(tnsearch, name), huge, *arguments[1:], **options)
        assert isinstance(error, (MemoryError, ValueError)), (name, error)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_wrong_keyword_is_answered_with_the_right_one(name):
    function = getattr(tnsearch, name)
    arguments, options = CALLS[name]
    known = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for right in known:
        wrong = right[:-1] + "x" if len(right) > 3 else right + "x"
        if wrong in known:
            continue
        with pytest.raises(TypeError) as caught:
            function(*arguments, **options, **{wrong: 1})
        assert f"{name}() got an unexpected keyword argument '{wrong}'" in str(caught.value)
        assert "did you mean" in str(caught.value), (wrong, str(caught.value))


WRONG_VALUES = [
    object(),
    "nonsense",
    "",
    "\0",
    "é" * 50,
    -1,
    0,
    2**31,
    2**64,
    10**40,
    -(10**40),
    0.5,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    1e308,
    1 + 2j,
    b"bytes",
    [],
    [1, "a"],
    {},
    {"a": {1}},
    (1, 2, 3),
    {1, 2},
    True,
    np.float32(0.1),
    np.int8(-3),
    np.ones(3),
    np.ones((2, 2, 2), dtype=bool),
    decimal.Decimal("0.1"),
    fractions.Fraction(1, 3),
    len,
    Ellipsis,
]
# Those that would start a cluster, or are what a search is told to run on.
NOT_HERE = {"parallel", "workers", "threads", "journal", "runs"}


def cases():
    for name in FUNCTIONS:
        for parameter in inspect.signature(getattr(tnsearch, name)).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in NOT_HERE:
                yield name, parameter.name


@pytest.mark.parametrize("name, option", list(cases()))
def test_every_option_with_values_that_are_wrong(name, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, options = CALLS[name]
    limited = {"max_evaluations": 2, "max_seconds": 2.0}
    function = getattr(tnsearch, name)
    known = inspect.signature(function).parameters
    for value in WRONG_VALUES:
        if option in limited and isinstance(value, (int, float)) and value > 2:
            continue
        asked = {**{k: v for k, v in limited.items() if k in known}, **options, option: value}
        answer(function, *arguments, **asked)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_of_threads_and_runs_that_cannot_be(name, tmp_path):
    arguments, options = CALLS[name]
    function = getattr(tnsearch, name)
    known = inspect.signature(function).parameters
    for option in {"threads", "runs", "workers"} & set(known):
        for value in ["x", -1, 0, 10**40, math.nan, 0.5, [], object()]:
            error = answer(function, *arguments, **{**options, option: value})
            assert isinstance(error, RIGHT), (option, value)
    for option in {"journal", "output"} & set(known):
        for value in [3, object(), str(tmp_path), str(tmp_path / "no" / "such"), "\0"]:
            error = answer(function, *arguments, **{**options, option: value})
            assert isinstance(error, RIGHT), (option, value)


anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=8),
        st.binary(max_size=4),
        st.complex_numbers(),
        hnp.from_dtype(np.dtype("f8")),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3), st.tuples(inner, inner)
    ),
    max_leaves=5,
)


@FUZZ
@given(st.data())
def test_any_value_for_any_option(data):
    name, option = data.draw(st.sampled_from(list(cases())))
    value = data.draw(anything)
    if option in ("max_evaluations", "max_seconds") and isinstance(value, (int, float)) and not value < 2:
        value = 2
    arguments, options = CALLS[name]
    answer(getattr(tnsearch, name), *arguments, **{**options, option: value})


@FUZZ
@given(
    st.one_of(
        anything,
        hnp.arrays(
            st.one_of(hnp.scalar_dtypes(), hnp.array_dtypes(max_size=2), st.just(np.dtype(object))),
            hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
        ),
    ),
    st.sampled_from(TAKING_ARRAYS),
)
def test_anything_for_an_array(array, name):
    arguments, options = CALLS[name]
    answer(getattr(tnsearch, name), array, *arguments[1:], **options)


@FUZZ
@given(anything, anything, anything)
def test_anything_for_a_structure(template, permutation, edges):
    for arguments in [(template,), (template, permutation, edges), ("ring", permutation, edges), ("ring", [0, 1, 2], edges)]:
        made = answer(tnsearch.Structure, *arguments)
        assert isinstance(made, (tnsearch.Structure, *RIGHT))


@FUZZ
@given(
    st.sampled_from(["ring", "path", "tucker", "ht", "complete", "peps:2x2", "mera", "star", "tree"]),
    st.lists(st.integers(0, 6), max_size=6),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**63)), max_size=6),
    st.lists(st.integers(0, 2**63), max_size=6),
    st.integers(-1, 10),
)
def test_structures_of_any_size_count_their_params(template, permutation, edges, dims, vertex):
    made = answer(tnsearch.Structure, template, permutation, [list(edge) for edge in edges])
    if isinstance(made, tnsearch.Structure):
        answer(made.params, dims)
        answer(made.core_shape, vertex, dims)
        repr(made), hash(made), made == made, made.to_dict()
        network = answer(tnsearch.Network, made, [np.ones(2)] * len(made.modes))
        assert isinstance(network, (tnsearch.Network, *RIGHT))


@FUZZ
@given(anything, st.lists(anything, max_size=4), anything)
def test_anything_for_a_network(structure, cores, rse):
    answer(tnsearch.Network, structure, cores, rse)
    answer(tnsearch.Network, RING, cores, rse)
    answer(tnsearch.Network.load, structure)
    answer(tnsearch.Network.from_tensorly, cores, structure)
    answer(tnsearch.Network.from_quimb, structure)


def test_a_file_that_is_no_network(tmp_path):
    for content in [b"", b"\0" * 8, b"\xff" * 64, b"8\0\0\0\0\0\0\0{}      "]:
        path = tmp_path / "net.safetensors"
        path.write_bytes(content)
        assert isinstance(answer(tnsearch.Network.load, path), RIGHT)
    assert isinstance(answer(tnsearch.Network.load, tmp_path), OSError)
    assert isinstance(answer(tnsearch.Network.load, tmp_path / "none"), FileNotFoundError)


def test_a_callback_that_raises_is_heard():
    class Mine(Exception):
        pass

    def callback(event):
        raise Mine("of my own")

    with pytest.raises(Mine, match="of my own"):
        tnsearch.search(X, template="ring", callback=callback, progress=False)


@pytest.mark.parametrize("raised", [SystemExit(3), StopIteration(), MemoryError("mine"), KeyError("k")])
def test_whatever_a_callback_raises_comes_back(raised):
    def callback(event):
        raise raised

    with pytest.raises(type(raised)):
        tnsearch.search(X, template="ring", callback=callback, progress=False)


def test_an_array_that_raises_when_asked():
    class Angry:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("not today")

    class Silly:
        def __dlpack__(self, **options):
            return 3

        def __dlpack_device__(self):
            return "here"

    for name in TAKING_ARRAYS:
        arguments, options = CALLS[name]
        for array in (Angry(), Silly()):
            assert isinstance(answer(getattr(tnsearch, name), array, *arguments[1:], **options), TypeError)


def test_masks_of_any_bytes():
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    strange = np.full(x.shape, 2, "u1").view(bool)
    assert tnsearch.search(x, mask=strange, mask_marks="observed", template="path", max_re=0.5).params > 0
    with pytest.raises(ValueError, match="every entry is missing"):
        tnsearch.search(x, mask=strange, template="path", max_re=0.5)


def test_what_contains_itself_is_refused():
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    endless = []
    endless.append(endless)
    with pytest.raises((TypeError, ValueError)):
        tnsearch.search(x, max_rank=endless)

    class Itself:
        @property
        def network(self):
            return self

        structure = network

    with pytest.raises((TypeError, ValueError)):
        tnsearch.fit(x, Itself())


def test_networks_own_their_cores():
    u, v = np.ones((2, 400, 400)), np.ones((2, 3))
    structure = tnsearch.Structure(
        {"template": {"vertices": [{"mode": True}, {"mode": True}], "edges": [[0, 1]]}, "permutation": [0, 0, 1], "edges": [[0, 1, 2]]}
    )
    network = tnsearch.Network(structure, [u, v])
    before = network[0, 0, 0]
    u[:] = 0
    assert network[0, 0, 0] == before == 2


def test_indices_too_large_are_no_negative_ones():
    network = tnsearch.Network(tnsearch.Structure("path", [0, 1], [[0, 1, 1]]), [np.ones((1, 2)), np.ones((1, 2))])
    with pytest.raises(IndexError):
        network.entries(np.array([[2**64 - 1, 0]], dtype="u8"))


@pytest.mark.parametrize("field", ["\n", "a\x1b[2J", "\r\u202e"])
def test_names_of_fields_are_told_in_one_line(field):
    X = np.ones((2, 2, 2))
    for call in (
        lambda: tnsearch.compress(X, max_re={field: b""}),
        lambda: tnsearch.search(X, max_re={field: b""}),
        lambda: tnsearch.search(X, max_re={field: 1}),
        lambda: tnsearch.Structure({field: None}, [0, 1, 2], []),
        lambda: tnsearch.fit(X, {field: None}),
    ):
        with pytest.raises((TypeError, ValueError)) as raised:
            call()
        assert str(raised.value).isprintable(), str(raised.value)
