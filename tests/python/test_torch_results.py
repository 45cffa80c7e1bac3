"""Results for PyTorch's tensors, on the fake driver with a stand-in for PyTorch: small ones reuse the memory of earlier ones, and never where somebody may
still write or read it."""

import textwrap
from pathlib import Path

import pytest
from device_helpers import with_fake

pytestmark = pytest.mark.compile

PRELUDE = f"""
import ctypes, os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from fake_torch import Tensor, allocator, torch

@tilewright.jit(target='cuda')
def plus(x, y):
    return x + y

def seen(call):
    before = allocator.allocations
    result = call()
    return result, allocator.allocations - before

driver = ctypes.CDLL(os.environ['TILEWRIGHT_LIBCUDA'])
tilewright.to_device(x)  # its context is current from here on
def new_stream():
    stream = ctypes.c_void_p()
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    return stream.value

s, t = Tensor([100]), Tensor([100])
plus(s, t)
"""


def with_torch(script):
    with_fake(textwrap.dedent(PRELUDE) + textwrap.dedent(script))


def test_memory_of_a_result_that_is_gone_is_used_again():
    with_torch("""
        r, asked = seen(lambda: plus(s, t))
        assert type(r) is Tensor and (r.shape, r.strides, r.dtype, r.device) == ((100,), (1,), 'float64', 0) and asked == 0
        other, asked = seen(lambda: plus(s, t))  # the first one is still there
        assert asked == 1 and other.address != r.address
        gone = r.address
        del r
        r, asked = seen(lambda: plus(s, t))
        assert asked == 0 and r.address == gone
        # Other shapes and types of about that size are described as what they are.
        del r
        r, asked = seen(lambda: plus(Tensor([5, 20]), Tensor([5, 20])))
        assert asked == 0 and (r.shape, r.strides, r.address) == ((5, 20), (20, 1), gone)
        del r
        r, asked = seen(lambda: plus(Tensor([200], 'float32'), Tensor([200], 'float32')))
        assert asked == 0 and (r.shape, r.dtype, r.address) == ((200,), 'float32', gone)
        r, asked = seen(lambda: plus(Tensor([]), Tensor([])))
        assert asked == 1 and (r.shape, r.strides) == ((), ())
        r, asked = seen(lambda: plus(Tensor([0]), Tensor([0])))
        assert r.shape == (0,)
    """)


def test_a_thousand_calls_allocate_nothing():
    with_torch("""
        before, asked = allocator.allocations, allocator.asked
        assert calls_of(lambda: plus(s, t), 1000) == {'launches': 1000}
        assert allocator.allocations == before
        assert allocator.asked - asked == 1000, 'the stream of the library is asked once a call'
    """)


def test_memory_stays_on_its_stream_and_device():
    with_torch("""
        allocator.stream = first = new_stream()
        r, asked = seen(lambda: plus(s, t))
        assert asked == 1
        address = r.address
        del r
        allocator.stream = new_stream()
        r, asked = seen(lambda: plus(s, t))
        assert asked == 1 and r.address != address
        allocator.stream = first
        r, asked = seen(lambda: plus(s, t))
        assert asked == 0 and r.address == address
        del r
        allocator.stream = 2  # another one on each thread
        assert [seen(lambda: plus(s, t))[1] for _ in range(2)] == [1, 1]
        allocator.stream = 0
        there = Tensor([100], device=1)
        assert seen(lambda: plus(there, there))[0].device == 1
        r, asked = seen(lambda: plus(there, there))
        assert asked == 0 and r.device == 1
        # On a stream of the caller's the library has not said that its memory is free.
        allocator.stream = first
        with tilewright.device('cuda', stream=new_stream()):
            assert [seen(lambda: plus(s, t))[1] for _ in range(2)] == [1, 1]
    """)


def test_what_a_graph_captures_is_its_own():
    with_torch("""
        allocator.stream = stream = new_stream()
        address = plus(s, t).address
        assert driver.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), 2) == 0
        captured, asked = seen(lambda: plus(s, t))
        assert asked == 1 and captured.address != address
        address = captured.address
        del captured
        graph = ctypes.c_void_p()
        assert driver.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph)) == 0
        assert address not in allocator.live
        r, asked = seen(lambda: plus(s, t))
        assert asked == 0 and r.address != address
    """)


def test_little_is_kept():
    with_torch("""
        many = [plus(s, t) for _ in range(100)]
        assert len({r.address for r in many}) == 100
        del many
        assert len(allocator.live) == 16, len(allocator.live)
        large = Tensor([1 << 16])
        assert [seen(lambda: plus(large, large))[1] for _ in range(2)] == [1, 1]
        assert len(allocator.live) == 16
        r = plus(s, t)
        _face.trim_device_pool('cuda')
        assert list(allocator.live) == [r.address]
        del r
        _face.trim_device_pool('cuda')
        assert not allocator.live
        allocator.fails = True
        refused(MemoryError, lambda: plus(s, t))
        allocator.fails = False
        assert plus(s, t).shape == (100,)
    """)


def test_results_end_on_any_thread():
    with_torch("""
        import threading
        def work():
            mine = Tensor([100])
            for _ in range(200):
                results = [plus(mine, mine) for _ in range(3)]
                assert len({r.address for r in results}) == 3
                handed.append(results.pop())
                if len(handed) > 5: handed.pop(0)
        handed = []
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        handed.clear()
        assert len(allocator.live) <= 16
    """)


def test_each_tensor_is_looked_at_in_each_call():
    with_torch("""
        asking = Tensor([100], requires_grad=True)
        assert 'detach()' in refused(TypeError, lambda: plus(s, asking))
        torch.grad_enabled = False
        plus(s, asking)
        torch.grad_enabled = True
        s.requires_grad = True  # the same object as before
        assert 'detach()' in refused(TypeError, lambda: plus(s, t))
        s.requires_grad = False
        s.negated = True
        assert 'resolve_neg' in refused(TypeError, lambda: plus(s, t))
        s.negated = False
        assert 'on cuda:0, but y is' in refused(TypeError, lambda: plus(s, Tensor([100], device=1)))
        # Another tensor at the same address, of another type, shape, order.
        for shape, dtype, strides in (([100], 'int64', None), ([50, 2], 'float64', None), ([2, 50], 'float64', [1, 2]), ([100], 'float64', [0]),
                                      ([], 'float64', None), ([100], 'float64', None)):
            view = Tensor(shape, dtype, strides=strides, owner=s.owner, address=s.address)
            r = plus(view, view)
            assert (r.shape, r.dtype) == (tuple(shape), dtype)
            assert r.strides == Tensor(shape, dtype).strides
        odd = Tensor([100], owner=s.owner, address=s.address + 4)
        assert 'not aligned' in refused(TypeError, lambda: plus(odd, t))
    """)
