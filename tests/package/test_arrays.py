"""Arrays of every kind, order and library on the way in: the numbers that NumPy sees are those that are used."""

import numpy as np
import pytest
from conftest import graph, large
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tnsearch


def taken(array):
    """The array as the library holds it: a network of one vertex is the tensor itself."""
    order = np.ndim(array)
    whole = tnsearch.Structure(graph([True], []), [0] * order, [])
    return tnsearch.Network(whole, [array]).to_dense()


BASE = np.random.default_rng(5).integers(-50, 50, (3, 4, 5)).astype(float) / 8


@pytest.mark.parametrize(
    "dtype",
    ["f2", "f4", "f8", "g", "c8", "c16", "G", "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">f8", ">c16", ">i4"],
)
def test_every_type_of_number(dtype):
    x = (BASE + (1j * BASE[::-1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)
    got = taken(x)
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    kept = {"f4": np.float32, ">f4": np.float32, "c8": np.complex64}
    assert got.dtype == kept.get(dtype, wide)
    assert np.array_equal(got, x.astype(wide))


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: np.asfortranarray(x),
        lambda x: x[::-1, ::2, ::-3],
        lambda x: x.transpose(2, 0, 1),
        lambda x: np.broadcast_to(x[:1], x.shape),
        lambda x: np.lib.stride_tricks.sliding_window_view(x[0, 0], 3),
        lambda x: x[:, None],
        lambda x: np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(float).reshape(x.shape),
        lambda x: x.view(type("Mine", (np.ndarray,), {})),
        lambda x: np.array(x).tolist(),
    ],
)
def test_every_layout(layout):
    x = layout(BASE)
    assert np.array_equal(taken(x), np.asarray(x))


def test_a_read_only_array_is_taken():
    x = BASE.copy()
    x.setflags(write=False)
    assert np.array_equal(taken(x), BASE)


def test_a_memory_map_is_taken(tmp_path):
    np.save(tmp_path / "X.npy", BASE)
    assert np.array_equal(taken(np.load(tmp_path / "X.npy", mmap_mode="r")), BASE)


def test_objects_with_the_protocols_are_taken():
    class OnlyArray:
        def __array__(self, dtype=None, copy=None):
            return BASE if dtype is None else BASE.astype(dtype)

    class OnlyDlpack:
        def __dlpack__(self, **options):
            return BASE.__dlpack__(**options)

        def __dlpack_device__(self):
            return BASE.__dlpack_device__()

    assert np.array_equal(taken_as(OnlyArray()), BASE)
    assert np.array_equal(taken_as(OnlyDlpack()), BASE)


def taken_as(array):
    whole = tnsearch.Structure(graph([True], []), [0, 0, 0], [])
    return tnsearch.Network(whole, [array]).to_dense()


def test_tables_of_pandas():
    import pandas
    frame = pandas.DataFrame(BASE[0], columns=list("abcde"))
    assert np.array_equal(taken(frame), BASE[0])
    with pytest.raises(TypeError, match="objects"):
        taken(frame.assign(a="x"))


# PyTorch


def test_torch_types(torch):
    for name in ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]:
        x = torch.from_numpy(BASE).to(getattr(torch, name))
        assert np.array_equal(taken_as(x), x.to(torch.float64).numpy()), name
    for name in ["complex64", "complex128"]:
        x = torch.from_numpy(BASE + 1j * BASE[::-1]).to(getattr(torch, name))
        assert np.array_equal(taken_as(x), x.numpy()), name
        assert np.array_equal(taken_as(x.conj()), x.numpy().conj()), name
        assert np.array_equal(taken_as(x.conj().imag), -x.numpy().imag), name


def test_torch_layouts(torch):
    x = torch.from_numpy(BASE.copy())
    for y in (x.permute(2, 0, 1), x[:, ::2], x.flip(0), x[:1].expand(3, 4, 5), x.t() if x.ndim == 2 else x.mT):
        assert np.array_equal(taken_as(y), y.numpy())
    leaf = x.clone().requires_grad_(True)
    assert np.array_equal(taken_as(leaf * 2), 2 * BASE)
    with pytest.raises(TypeError, match="sparse"):
        taken_as(x.to_sparse())


# JAX


def test_jax_types():
    jax = large("jax")
    for name in ["float16", "bfloat16", "float32", "int8", "int32", "uint8", "bool", "complex64"]:
        x = jax.numpy.asarray(BASE, dtype=name)
        expected = np.asarray(x).astype("complex128" if name == "complex64" else "float64")
        assert np.array_equal(taken_as(x), expected), name
    assert np.array_equal(taken_as(jax.numpy.asarray(BASE, "float32").T), BASE.astype("float32").T)


# Anything that NumPy can hold


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.complex_number_dtypes(), hnp.boolean_dtypes()).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=5, min_side=1, max_side=4))
    ),
    st.randoms(use_true_random=False),
)
def test_any_array_of_numbers_is_itself(x, random):
    axes = list(range(x.ndim))
    random.shuffle(axes)
    x = x.transpose(axes)[tuple(slice(None, None, random.choice([1, -1])) for _ in axes)]
    with np.errstate(all="ignore"):
        wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    got = taken(x)
    assert got.shape == x.shape and np.array_equal(got.astype(wide.dtype), wide, equal_nan=True)
