"""What a call says of the place that it runs at, what it takes from the host beside arrays on a device, and device memory that
other libraries keep. On the fake driver: kernels do nothing."""

import numpy as np
import pytest
import tilewright
from device_helpers import with_fake

pytestmark = pytest.mark.compile

SWEEP = """
    import warnings
    @tilewright.jit
    def sweep(a):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5
    @tilewright.jit
    def averaged(a):
        u = a.copy()
        for _ in range(600):
            u[1:-1] = 0.5 * (u[2:] + u[:-2])
        return u
    def warnings_of(call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            call()
        return [w for w in caught if w.category is tilewright.PlacementWarning]
"""


def test_a_call_of_many_small_kernels_says_once_that_the_host_is_the_place():
    with_fake(SWEEP + """
    a = tilewright.to_device(np.zeros((60, 60)))
    said, = warnings_of(lambda: sweep(a))
    before = _face.launched()[0]
    sweep(a)
    kernels = _face.launched()[0] - before
    assert kernels >= 58 * 58, kernels
    text = str(said.message)
    assert text.startswith('sweep: a device is the wrong place for it: iterations of its loops stay on the host, and this call '
                           f'launched {kernels:,} kernels of '), text
    assert text.endswith('Code for the host is likely to be faster by far. Pass NumPy arrays (copy_to_host()); explain() names '
                         'the loops.'), text
    assert said.filename == __file__ and said.lineno == sweep.__wrapped__.__code__.co_firstlineno
    assert not warnings_of(lambda: sweep(tilewright.to_device(np.zeros((80, 60)).T)))
    explained = sweep.explain(source=False)
    assert 'on a device the iterations of its loops stay on the host (see loops of the program), each with its launches:' in explained
    assert 'the host is the place for it: pass NumPy arrays' in explained
    """)  # fmt: skip


def test_many_kernels_with_work_of_their_own_are_in_their_place():
    with_fake(SWEEP + """
    assert not warnings_of(lambda: averaged(tilewright.to_device(np.zeros(100_000))))
    explained = averaged.explain(source=False)
    assert 'the latest such call launched ' in explained and 'the host is the place' not in explained
    """)  # fmt: skip


def test_numbers_of_the_host_stand_beside_arrays_on_a_device():
    with_fake("""
        class Tensor:
            '''A tensor of a library on the host.'''
            def __init__(self, array): self.array = array
            def __dlpack__(self, **how): return self.array.__dlpack__(**how)
            def __dlpack_device__(self): return 1, 0

        @tilewright.jit
        def scaled(x, s): return x * s
        @tilewright.jit
        def counted(x, s):
            s[...] = 3.0
            return x + s
        d = tilewright.to_device(x)
        scaled(d, d)  # a number is not for this plan, and no error
        for number in (np.array(2.0), Tensor(np.array(2.0))):
            assert type(scaled(d, number)) is tilewright.DeviceArray
            changed = calls_of(lambda: scaled(d, number))
            assert changed['copies_to_device'] == 1 and changed['launches'] == 1, changed
            assert 'stream_synchronizations' not in changed
        assert 'lie on one device' in refused(TypeError, lambda: scaled(d, np.ones(4)))
        assert 'lie on one device' in refused(TypeError, lambda: counted(d, np.array(1.0)))
    """)


class HostTensor:
    """A tensor of a library on the host."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return 1, 0


def test_jit_takes_tensors_of_the_host():
    @tilewright.jit(strict=True)
    def f(x, y):
        x += 1
        return x * y

    a, b = np.arange(2e5), np.ones(200_000)
    expected = (np.arange(2e5) + 1) * b
    np.testing.assert_array_equal(f(HostTensor(a), y=HostTensor(b)), expected)
    np.testing.assert_array_equal(a, np.arange(2e5) + 1)  # the tensor's own memory

    class Refuses(HostTensor):
        def __dlpack__(self, **_):
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")

    with pytest.raises(TypeError) as raised:
        f(Refuses(a), b)
    assert str(raised.value) == (
        "f: an argument is a test_device_places.test_jit_takes_tensors_of_the_host.<locals>.Refuses on the host, which "
        "NumPy does not take: Can't export tensors that require gradient, use tensor.detach()"
    )


def test_kept_memory_of_a_device_is_given_back_by_its_name():
    with_fake("""
        d = tilewright.to_device(np.zeros(1 << 20))
        del d
        kept = tilewright.pool_info('cuda')
        assert kept['pooled_bytes'] >= 1 << 23 and kept['graph_bytes'] == 0
        assert tilewright.trim_pool(tilewright.device('cuda:1')) == 0
        assert tilewright.trim_pool(device='cuda') == kept['pooled_bytes']
        assert tilewright.pool_info('cuda')['pooled_bytes'] == 0
        assert isinstance(tilewright.trim_pool(), int)
    """)


def test_the_limit_of_what_is_kept_is_megabytes_or_a_share():
    limit = "print(tilewright.pool_info('cuda')['limit_bytes'])"
    memory = str(1 << 33)
    assert with_fake(limit, FAKE_CUDA_MEMORY=memory) == f"{1 << 31}\n"
    assert with_fake(limit, FAKE_CUDA_MEMORY=memory, TILEWRIGHT_DEVICE_POOL_MB="100") == f"{100 << 20}\n"
    assert with_fake(limit, FAKE_CUDA_MEMORY=memory, TILEWRIGHT_DEVICE_POOL_MB="12.5%") == f"{1 << 30}\n"
    assert with_fake(limit, FAKE_CUDA_MEMORY=memory, TILEWRIGHT_DEVICE_POOL_MB="0") == "0\n"


def test_a_share_is_no_problem_of_the_environment(monkeypatch):
    from tilewright import settings

    for text, is_fine in (
        ("10%", True),
        ("12.5%", True),
        ("500", True),
        ("10 %", False),
        ("%", False),
        ("a lot", False),
    ):
        monkeypatch.setenv("TILEWRIGHT_DEVICE_POOL_MB", text)
        said = [problem for problem in settings.problems() if "DEVICE_POOL" in problem]
        assert bool(said) != is_fine, (text, said)


def test_memory_that_is_missing_names_what_other_libraries_keep():
    script = """
        import sys, types
        message = 'to_device: cuda:0: no 16777216 bytes of device memory are left. Free arrays, or work with fewer elements.'
        large = np.zeros(1 << 21)
        assert refused(MemoryError, lambda: tilewright.to_device(large)) == message
        torch = types.ModuleType('torch')
        torch.cuda = types.SimpleNamespace(is_initialized=lambda: True, memory_reserved=lambda device: 5000,
                                           memory_allocated=lambda device: 1000)
        sys.modules['torch'] = torch
        cupy = types.ModuleType('cupy')
        cupy.get_default_memory_pool = lambda: types.SimpleNamespace(free_bytes=lambda: 77)
        sys.modules['cupy'] = cupy
        assert refused(MemoryError, lambda: tilewright.to_device(large)) == message + (
            ' PyTorch keeps 4000 bytes that no array of its uses: torch.cuda.empty_cache() gives them back.'
            ' CuPy keeps 77 bytes that no array of its uses: cupy.get_default_memory_pool().free_all_blocks() gives them back.')
    """
    with_fake(script, FAKE_CUDA_MEMORY=str(1 << 23))
