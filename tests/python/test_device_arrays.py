"""Arrays on devices as arguments and results. The fake driver tells kinds, places, streams and counts; what kernels
compute is seen on a device alone (the last tests, which need one)."""

import importlib.util

import numpy as np
import pytest
import tilewright
from device_helpers import needs_device, with_fake
from tilewright import _face

pytestmark = pytest.mark.device


def test_a_device_array_is_a_copy_with_shape_and_views():
    with_fake("""
        d = tilewright.to_device(x)
        assert (d.shape, d.strides, d.dtype, d.ndim, d.size, d.nbytes, d.itemsize) == ((3, 4), (32, 8), x.dtype, 2, 12, 96, 8)
        assert d.device == 'cuda:0' and len(d) == 3 and repr(d) == "DeviceArray(float64, shape=(3, 4), device='cuda:0')"
        assert np.array_equal(d.copy_to_host(), x)
        for key in (1, -1, slice(1, None), (slice(None), slice(None, None, -2)), (..., 1), (None, 2), (1, 2), ((),)[0]):
            assert np.array_equal(d[key].copy_to_host(), x[key]), key
        turned = tilewright.to_device(np.asfortranarray(x))
        assert turned.strides == (8, 24) and turned.copy_to_host().flags.f_contiguous
        assert np.array_equal(tilewright.to_device(x[:, ::2]).copy_to_host(), x[:, ::2])
        out = np.empty_like(x)
        assert d.copy_to_host(out) is out and np.array_equal(out, x)
        for dtype in ('bool', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f4', 'f8', 'c8', 'c16'):
            a = np.arange(5).astype(dtype)
            b = tilewright.to_device(a)
            assert b.dtype == a.dtype and b.__cuda_array_interface__['typestr'] == a.dtype.str
            assert np.array_equal(b.copy_to_host(), a)
        assert tilewright.to_device(np.zeros((0, 3))).copy_to_host().shape == (0, 3)
    """)


def test_what_a_device_array_refuses_is_said():
    with_fake("""
        import pickle
        d = tilewright.to_device(x)
        assert 'copy_to_host()' in refused(TypeError, lambda: np.asarray(d))
        assert 'does not support ufuncs' in refused(TypeError, lambda: np.add(d, 1))
        assert 'Pickle its copy_to_host()' in refused(TypeError, lambda: pickle.dumps(d))
        assert 'copy_to_host()' in refused(TypeError, lambda: bool(d))
        assert 'out of bounds for axis 0 with size 3' in refused(IndexError, lambda: d[3])
        assert 'copy_to_host() gives an array' in refused(TypeError, lambda: d[[0, 1]])
        assert 'object' in refused(TypeError, lambda: tilewright.to_device(np.array([None])))
        assert 'on cuda:0 already' in refused(TypeError, lambda: tilewright.to_device(d))
        assert 'cuda:0 to cuda:1' in refused(tilewright.DeviceError, lambda: tilewright.to_device(x, 'cuda:7'))
        assert '"cuda:1"' in refused(ValueError, lambda: tilewright.device('gpu'))
        assert 'no CUDA stream' in refused(TypeError, lambda: tilewright.device('cuda', stream='s'))
    """)


def test_results_are_of_the_kind_that_was_given():
    with_fake("""
        d = tilewright.to_device(x)
        r = f(d, d)
        assert type(r) is tilewright.DeviceArray and r.shape == (3, 4) and r.device == 'cuda:0'
        assert type(f(x, x)) is np.ndarray
        assert type(f(Foreign(d), Foreign(d))) is tilewright.DeviceArray
        assert type(f(Capsule(d), Capsule(d))) is tilewright.DeviceArray
        out = tilewright.to_device(x)
        assert f(d, d, out=out) is out
        other = tilewright.to_device(x, 'cuda:1')
        assert f(other, other).device == 'cuda:1'
        assert f.misses == 1, f.misses
    """)


def test_arrays_of_a_call_lie_on_one_device():
    with_fake("""
        d = tilewright.to_device(x)
        f(d, d)
        text = refused(TypeError, lambda: f(d, x))
        assert 'x is DeviceArray of float64[3, 4] on cuda:0, but y is a NumPy array on the host' in text, text
        text = refused(TypeError, lambda: f(d, tilewright.to_device(x, 'cuda:1')))
        assert 'on cuda:0, but y is DeviceArray of float64[3, 4] on cuda:1' in text, text
        assert 'of its own memory' in refused(ValueError, lambda: f(d, d, out=d))
        assert 'a NumPy array on the host' in refused(ValueError, lambda: f(d, d, out=x))
        assert 'not C-contiguous' in refused(ValueError, lambda: f(d, d, out=tilewright.to_device(np.asfortranarray(x))))
    """)


def test_numbers_where_other_calls_have_arrays():
    """What is taken does not depend on the calls before."""
    with_fake("""
        d = tilewright.to_device(x)
        for first in ((d, d), (x, x), (d, 2.0), (d, 3)):
            @tilewright.jit(target='host,cuda')
            def g(x, y): return x * 2 + y
            @tilewright.jit
            def h(x, w=None): return x * 2 if w is None else x * w
            g(*first), h(d, d)
            for number in (2.0, 3, True, np.float32(2), 2j, np.array(2.0)):
                assert type(g(d, number)) is tilewright.DeviceArray, number
            assert type(h(d)) is type(h(d, None)) is tilewright.DeviceArray
            text = refused(TypeError, lambda: g(d, x))
            assert 'y is a NumPy array on the host' in text, text
    """)


def test_out_is_aligned_to_its_elements():
    with_fake("""
        d, out = tilewright.to_device(x), tilewright.to_device(np.zeros(100))
        class Shifted:
            @property
            def __cuda_array_interface__(self):
                told = out.__cuda_array_interface__
                return {**told, 'shape': (3, 4), 'data': (told['data'][0] + 1, False)}
        f(d, d)
        assert 'y is not aligned to its elements' in refused(TypeError, lambda: f(d, Shifted()))
        assert 'not aligned to its elements, but the result is' in refused(ValueError, lambda: f(d, d, out=Shifted()))
    """)


def test_what_other_arrays_say_of_themselves_and_cannot_be():
    """Which argument, what it says, and what it should say; before a plan is there and behind it."""
    with_fake("""
        d = tilewright.to_device(x)
        class Told:
            def __init__(self, **told): self.told = {**d.__cuda_array_interface__, **told}
            @property
            def __cuda_array_interface__(self): return self.told
        class Placed(Capsule):
            def __init__(self, place): super().__init__(d); self.place = place
            def __dlpack_device__(self): return self.place
        class Empty(Capsule):
            def __dlpack__(self, *, stream=None): return None
        told = 'whose __cuda_array_interface__ has the '
        @tilewright.jit(target='cuda')
        def g(x, y): return x * 2 + y
        for name, call in (('an argument', lambda one: g(one, d)), ('y', lambda one: g(d, one))):
            for array, text in (
                *((Placed(place), f'Placed, whose __dlpack_device__() gives {place!r}, but DLPack has a tuple of two integers')
                  for place in (None, 'x', (2,), [2, 0], (2, 'x'), (2, 1 << 40))),
                (Empty(d), 'Empty, whose __dlpack__() gives None, but'),
                (Told(data=('a', False)), f"Told, {told}pointer 'a', but"),
                (Told(data=(1 << 64, False)), f'Told, {told}pointer {1 << 64}, but'),
                (Told(stream='s'), f"Told, {told}stream 's', but"),
                (Told(stream=1 << 64), f'Told, {told}stream {1 << 64}, but'),
                (Told(shape=(3.0, 4)), f'Told, {told}shape (3.0, 4), but'),
                (Told(shape=(3, -4)), 'Told, whose shape is [3, -4], but no extent is negative'),
                (Told(shape=(1 << 40, 1 << 40)), 'more bytes than there are addresses'),
            ):
                said = refused(TypeError, lambda: call(array))
                assert said.startswith(f'g: {name} is ') and text in said, said
            for typestr in ('<f2', '>f8', '<c32'):
                said = refused(TypeError, lambda: g(d, Told(typestr=typestr)))
                dtype = 'float16' if typestr == '<f2' else typestr
                assert f'g: y is __main__.Told {dtype}[3, 4] on cuda:0, and kernels take bool, ' in said, said
                assert 'Convert it' in said
            g(d, d)
        assert "stream is 'x', but it is None" in refused(TypeError, lambda: d.__dlpack__(stream='x'))
        assert 'but it is None, -1' in refused(TypeError, lambda: d.__dlpack__(stream=1 << 64))
        assert "dl_device is 'x', but it is None or" in refused(TypeError, lambda: d.__dlpack__(dl_device='x'))
        assert 'more than 64 bits' in refused(TypeError, lambda: tilewright.device('cuda', stream=1 << 64))
    """)


def test_an_interface_of_the_object_alone():
    with_fake("""
        class Any: pass
        d, one = tilewright.to_device(x), Any()
        assert _face.placed(one) is None
        one.__cuda_array_interface__ = d.__cuda_array_interface__
        assert type(f(one, d)) is type(f(d, one)) is tilewright.DeviceArray
        assert _face.placed(Any()) is None
        class Every:
            def __getattr__(self, name): return name
        assert _face.placed(Every()) is None
    """)


def test_device_memory_that_is_not_there():
    text = with_fake(
        """
        big = np.zeros(100_000)
        d = tilewright.to_device(big)
        @tilewright.jit(target='cuda')
        def steps(z):
            z = z * 2
            for i in range(300):
                z[1:-1] = (z[2:] + z[:-2]) * 0.5
            return z
        kept = [f(d, d)]
        for call, name in ((lambda: f(d, d), 'f'), (lambda: tilewright.to_device(big), 'to_device')):
            text = refused(MemoryError, call)
            assert text.startswith(f'{name}: cuda:0: no 800000 bytes of device memory are left. Free arrays'), text
        assert 'no memory left for the copies' in refused(MemoryError, lambda: f(big, big))
        kept.clear()
        text = refused(MemoryError, lambda: steps(d))  # a temporary
        assert text.startswith('steps: ') and 'Free arrays' in text, text
        """,
        FAKE_CUDA_MEMORY="2000000",
    )
    assert text == ""


def test_too_large_arrays_on_a_device_are_described():
    with_fake(
        """
        @tilewright.jit(target='cuda')
        def g(x): return x[::-1] * 2
        large = tilewright.to_device(np.zeros((5501, 2)))
        text = refused(ValueError, lambda: g(large))
        assert 'float64[5501, 2] on cuda:0' in text, text
        """,
        TILEWRIGHT_ELEMENT_LIMIT="5000",
    )


def test_device_arrays_are_not_compared():
    with_fake("""
        import operator
        d, e = tilewright.to_device(x), tilewright.to_device(x)
        for compare in (operator.eq, operator.ne, operator.lt, operator.ge):
            for one, other in ((d, e), (d, d), (d, None), (x, d)):
                assert 'copy_to_host()' in refused(TypeError, lambda: compare(one, other))
        assert d in [d, e] and {d: 1, e: 2}[e] == 2
    """)


def test_a_thousand_calls_neither_wait_nor_copy():
    with_fake("""
        d = tilewright.to_device(x)
        f(d, d)
        seen = calls_of(lambda: f(d, d), 1000)
        assert seen == {'launches': 1000}, seen
        with tilewright.device('cuda', stream=2):
            f(d, d)
            seen = calls_of(lambda: f(d, d), 1000)
        # A block that goes back to the pool may leave an event on its stream; nothing waits for it.
        assert {**seen, 'events': 0} == {'launches': 1000, 'events': 0}, seen
        given = Foreign(d, stream=2)
        with tilewright.device('cuda', stream=2):
            seen = calls_of(lambda: f(given, given), 1000)
        assert {**seen, 'events': 0} == {'launches': 1000, 'events': 0}, seen
    """)


def test_what_sizes_decide_costs_neither_kernel_nor_wait():
    with_fake("""
        @tilewright.jit(target='cuda')
        def rows(x, p):
            y = np.zeros(x.shape)
            for i in range(1, x.shape[0]):
                if i > p and i % 2 == 0:
                    y[i] = x[p] + y[i - 1].sum()
            return y
        d = tilewright.to_device(np.ones((20, 20)))
        rows(d, 3)
        seen = calls_of(lambda: rows(d, 3))
        seen = {name: count for name, count in seen.items() if name not in ('allocations', 'frees', 'events')}
        assert set(seen) == {'launches'}, seen  # and no copy to look at
        assert (seen['launches'] - 1) % 8 == 0, seen  # eight iterations alone do something
    """)


def test_streams_wait_for_each_other_on_the_device():
    with_fake("""
        d, e = tilewright.to_device(x), tilewright.to_device(x)
        f(d, e)
        # The stream of the first array is the call's; the second one's data are ready on another.
        seen = calls_of(lambda: f(Foreign(d, stream=2), Foreign(e, stream=1)))
        assert seen['stream_waits'] == 2 and 'stream_synchronizations' not in seen, seen  # before, and for its library after
        r = f(Foreign(d, stream=2), Foreign(e, stream=2))
        assert r.__cuda_array_interface__['stream'] == 2
        # Our own arrays know the stream that used them last.
        d.copy_to_host()
        with tilewright.device('cuda', stream=2) as place:
            seen = calls_of(lambda: f(d, e))
            assert seen['stream_waits'] == 2, seen
            assert 'stream_waits' not in calls_of(lambda: f(d, e))
            place.synchronize()
        asked = Capsule(d)
        with tilewright.device('cuda', stream=2):
            f(asked, asked)
        assert asked.streams == [2, 2], asked.streams
    """)


def test_numpy_arrays_inside_of_a_device_block_go_there_and_come_back():
    with_fake("""
        x = np.linspace(0, 1, 90_000).reshape(300, 300)  # enough that compiled code is taken, not NumPy
        @tilewright.jit
        def g(a):
            return (a * a + a) * a + 1
        g(x)
        assert [v.build.on_device for v in g.specializations[0].versions] == [False], g.explain(source=False)
        with tilewright.device('cuda:1'):
            seen = calls_of(lambda: g(x))
        assert [v.build.on_device for v in g.specializations[0].versions] == [False, True]
        assert seen['copies_to_device'] >= 1 and seen['copies_to_host'] >= 1, seen
        assert np.array_equal(g(x), (x * x + x) * x + 1)  # outside of it the host's version runs
        assert type(g(tilewright.to_device(x))) is tilewright.DeviceArray

        @tilewright.jit(target='host')
        def h(a):
            return a + 1
        assert "host,cuda" in refused(tilewright.DeviceError, lambda: h(tilewright.to_device(x)))
        with tilewright.device('cuda'):
            assert "host,cuda" in refused(tilewright.DeviceError, lambda: h(x))
    """)


def test_a_refusal_of_one_value_is_none_of_another():
    with_fake("""
        @tilewright.jit
        def scaled(a, t):
            if t > 0: return a * 2
            return a
        d = tilewright.to_device(x)
        assert scaled(d, 0.0) is d
        assert 'launches' in calls_of(lambda: scaled(d, 1.0))
        assert scaled(d, 0.0) is d
    """)


def test_what_cannot_be_compiled_for_arrays_on_a_device_is_an_error():
    with_fake("""
        import warnings
        @tilewright.jit
        def k(a):
            return np.linalg.svd(a)
        d = tilewright.to_device(x)
        said = refused(tilewright.TraceError, lambda: k(d))
        assert 'np.linalg.svd()' in said and 'on the host alone, and the arrays of the call are on a device' in said, said
        for called in (lambda a: np.linalg.svd(a)[1] + 1, lambda a: np.sort(a) + 1, lambda a: a[a > 1]):
            said = refused(tilewright.TraceError, lambda: tilewright.jit(called)(d))
            assert 'NumPy can compute it between kernels, but on the host alone' in said, said
        with np.errstate(all='raise'):
            assert 'np.errstate' in refused(tilewright.DeviceError, lambda: f(d, d))
        @tilewright.jit(target='cuda')
        def only(a):
            return np.linalg.eigvals(a[:3, :3])
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            only(x)  # NumPy arrays are where NumPy can take them
        assert any(issubclass(w.category, tilewright.FallbackWarning) for w in seen)
    """)


def test_calls_that_compute_nothing_are_python_itself():
    """Loops without an iteration, and views that arrays on a device have themselves: no kernel, no NumPy, no refusal."""
    with_fake("""
        d, none = tilewright.to_device(x), tilewright.to_device(np.zeros(0))
        jit = tilewright.jit(target='cuda')
        @jit
        def reverse(a): return a[::-1]
        @jit
        def same(a): return a
        @jit
        def advance(a, steps):
            for t in range(1, steps): a[:] = a * 2 + 1
            return a
        @jit
        def total(a):
            s = 0.0
            for i in range(a.shape[0]): s += a[i]
            return s
        def calls():
            r = reverse(d)
            assert type(r) is tilewright.DeviceArray and r.strides == (-32, 8) and r.pointer == d.pointer + 64
            assert same(d) is d
            assert advance(d, 1) is d
            assert total(none) == 0.0
        assert calls_of(calls, 3) == {}
        assert advance(d, 4) is d and total(tilewright.to_device(np.zeros(3))).shape == ()  # computed
        assert calls_of(calls, 3) == {}
        @jit
        def turned(a): return a.T
        @jit
        def both(a): return a[1:], a * 2
        @jit
        def deep(a): return np.atleast_3d(a)  # of an unknown array NumPy makes an array of one object
        assert 'it returns a view of a' in refused(tilewright.TraceError, lambda: deep(Foreign(d)))
        for g, reason in ((turned, 'it returns a view of a'), (both, 'it returns a view of a')):
            text = refused(tilewright.TraceError, lambda: g(d))
            assert reason + '; such calls are not compiled, for arrays on a device' in text, text
        for g, a in ((turned, d), (total, none)):
            try: g.for_args(a)
            except tilewright.TraceError as error: assert type(error) is tilewright.TraceError
        assert np.array_equal(advance(x, 1), x)
    """)


def test_draws_for_arrays_on_a_device_are_refused():
    """From a generator of the caller's, a global one and one that the function makes; also where NumPy arrays came before."""
    with_fake("""
        GENERATOR = np.random.default_rng(0)
        def given(a, rng): return a + rng.random(4)
        def outside(a): return a + GENERATOR.random(4)
        def made(a): return a + np.random.default_rng(3).random(4)
        d = tilewright.to_device(x)
        text = 'it draws from a random generator, whose state is on the host, for arrays on a device; such calls are not compiled. Draw'
        for target in (None, 'cuda'):
            for function in (given, outside, made):
                more = (np.random.default_rng(1),) if function is given else ()
                for first in (None, x):
                    g = tilewright.jit(function, target=target)
                    if first is not None: g(first, *more)
                    for call in (g, g.for_args, lambda *args: g.tune(*args, budget=1)):
                        assert text in refused(tilewright.TraceError, lambda: call(d, *more))
    """)


def test_written_arguments():
    with_fake("""
        @tilewright.jit
        def add_one(a, b):
            a += b
        d, e = tilewright.to_device(x), tilewright.to_device(x)
        assert add_one(d, e) is None
        assert 'read-only' in refused(ValueError, lambda: add_one(Foreign(d, read_only=True), Foreign(e)))
        assert 'shares memory with' in refused(ValueError, lambda: add_one(d, d))
    """)


def test_arrays_from_outside_of_the_call_are_copied_and_that_is_said():
    with_fake("""
        weights = np.ones(4)
        @tilewright.jit
        def scaled(a):
            return a * weights
        d = tilewright.to_device(x)
        scaled(d)
        assert calls_of(lambda: scaled(d))['copies_to_device'] == 1
        assert 'weights: from outside of the call, copied to the device at each call' in scaled.explain(source=False)
        weights = tilewright.to_device(np.ones(4))
        scaled(d)
        assert 'copies_to_device' not in calls_of(lambda: scaled(d))
    """)


def test_explain_says_copies_aloud():
    with_fake("""
        f(x, x)
        text = f.explain(source=False)
        assert 'requires isa cuda-sm_80' in text
        assert 'each call copies 192 bytes to the device (x 96 bytes, y 96 bytes) and 96 bytes of results back' in text
        assert 'arrays on a device: no copies' in text
        assert 'ld.global' in f.explain(source=False, code=True)
    """)


def test_without_a_driver_host_calls_just_work():
    from device_helpers import run_python

    run_python("""
        import numpy as np, tilewright
        x = np.arange(6.0)
        @tilewright.jit
        def f(a): return a + 1
        @tilewright.jit(target='host,cuda')
        def g(a): return a + 1
        @tilewright.jit(target='cuda')
        def h(a): return a + 1
        assert np.array_equal(f(x), x + 1) and np.array_equal(g(x), x + 1)
        for call in (lambda: h(x), lambda: tilewright.to_device(x), lambda: tilewright.device('cuda').__enter__()):
            try:
                call()
            except tilewright.DeviceError as error:
                assert 'driver' in str(error) and isinstance(error, RuntimeError), error
            else:
                raise AssertionError
    """)


# ---- on a device ------------------------------------------------------------------------------------------------------


@tilewright.jit
def _mixed(a, b):
    return np.sqrt(a * a + b) / (1 + a)


def _operands():
    rng = np.random.default_rng(0)
    return rng.standard_normal((300, 7)) ** 2, rng.standard_normal((300, 7)) ** 2


def _library(name):
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name} is not here")
    return pytest.importorskip(name)


def _bits(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert np.array_equal(*(np.ascontiguousarray(a).view(np.uint8) for a in (result, expected)))


@needs_device
def test_device_arrays_on_a_device():
    a, b = _operands()
    result = _mixed(tilewright.to_device(a), tilewright.to_device(b))
    _bits(result.copy_to_host(), _mixed.__wrapped__(a, b))
    _bits(
        _mixed(tilewright.to_device(a)[::2], tilewright.to_device(b)[::2]).copy_to_host(),
        _mixed.__wrapped__(a[::2], b[::2]),
    )
    with tilewright.device("cuda"):
        _bits(_mixed(a, b), _mixed.__wrapped__(a, b))


@needs_device
def test_torch_on_a_device():
    torch = _library("torch")
    a, b = _operands()
    s, t = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    result = _mixed(s, t)
    assert type(result) is torch.Tensor and result.is_cuda
    _bits(result.cpu().numpy(), _mixed.__wrapped__(a, b))
    _bits(_mixed(s.T, t.T).cpu().numpy(), _mixed.__wrapped__(a.T, b.T))
    with pytest.raises(TypeError, match="detach"):
        _mixed(s.clone().requires_grad_(), t)
    with torch.no_grad():
        _mixed(s.clone().requires_grad_(), t)
    with pytest.raises(TypeError, match="on the host"):
        _mixed(s, torch.from_numpy(b))
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        _mixed(s, t)
        before = _face.driver_calls()
        for _ in range(1000):
            result = _mixed(s, t)
        after = _face.driver_calls()
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert {**changed, "events": 0} == {"launches": 1000, "events": 0}
    stream.synchronize()
    _bits(result.cpu().numpy(), _mixed.__wrapped__(a, b))


@needs_device
def test_cupy_on_a_device():
    cupy = _library("cupy")
    a, b = _operands()
    s, t = cupy.asarray(a), cupy.asarray(b)
    result = _mixed(s, t)
    assert type(result) is cupy.ndarray
    _bits(cupy.asnumpy(result), _mixed.__wrapped__(a, b))
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        _mixed(s, t)
        before = _face.driver_calls()
        for _ in range(1000):
            result = _mixed(s, t)
        after = _face.driver_calls()
        assert after["stream_synchronizations"] == before["stream_synchronizations"]
        assert after["copies_to_host"] == before["copies_to_host"]
        _bits(cupy.asnumpy(result), _mixed.__wrapped__(a, b))


@needs_device
def test_numba_on_a_device():
    cuda = _library("numba.cuda")
    a, b = _operands()
    result = _mixed(cuda.to_device(a), cuda.to_device(b))
    assert cuda.is_cuda_array(result) and not isinstance(result, tilewright.DeviceArray)
    _bits(result.copy_to_host(), _mixed.__wrapped__(a, b))


@needs_device
def test_jax_on_a_device():
    jax = _library("jax")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no CUDA")
    a, b = _operands()
    s, t = jax.numpy.asarray(a), jax.numpy.asarray(b)
    for _ in range(50):
        result = _mixed(s, t)
    assert isinstance(result, jax.Array)
    _bits(np.asarray(result), _mixed.__wrapped__(a, b))

    @tilewright.jit
    def add_one(x):
        x += 1

    with pytest.raises(ValueError, match="read-only"):
        add_one(s)


@needs_device
def test_libraries_mix_on_one_device():
    torch, cupy = _library("torch"), _library("cupy")
    a, b = _operands()
    result = _mixed(torch.from_numpy(a).cuda(), cupy.asarray(b))
    assert type(result) is torch.Tensor
    _bits(result.cpu().numpy(), _mixed.__wrapped__(a, b))
