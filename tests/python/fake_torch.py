"""A stand-in for PyTorch on the fake driver: module `torch` with a Tensor whose class offers DLPack's exchange table, in ctypes. Tensors are views of
bytearrays that an "allocator" gives and takes back; it counts, so that tests see whose memory a result has."""

import ctypes as c
import sys
import types

KIND_CUDA = 2
TYPES = {"float32": (2, 32), "float64": (2, 64), "int64": (0, 64), "complex64": (5, 64), "uint8": (1, 8)}
CODES = {value: name for name, value in TYPES.items()}


class _Tensor(c.Structure):
    _fields_ = (
        ("data", c.c_void_p),
        ("device_kind", c.c_int32),
        ("device", c.c_int32),
        ("rank", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    )


class _Managed(c.Structure):
    pass


_DELETER = c.CFUNCTYPE(None, c.POINTER(_Managed))
_Managed._fields_ = (
    ("major", c.c_uint32),
    ("minor", c.c_uint32),
    ("context", c.c_void_p),
    ("deleter", _DELETER),
    ("flags", c.c_uint64),
    ("tensor", _Tensor),
)
_SET_ERROR = c.PYFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p)
_ALLOCATE = c.PYFUNCTYPE(c.c_int, c.POINTER(_Tensor), c.POINTER(c.POINTER(_Managed)), c.c_void_p, _SET_ERROR)
_TO_MANAGED = c.PYFUNCTYPE(c.c_int, c.py_object, c.POINTER(c.POINTER(_Managed)))
_TO_OBJECT = c.PYFUNCTYPE(c.c_int, c.POINTER(_Managed), c.POINTER(c.py_object))
_FROM_OBJECT = c.PYFUNCTYPE(c.c_int, c.py_object, c.POINTER(_Tensor))
_STREAM = c.PYFUNCTYPE(c.c_int, c.c_int32, c.c_int32, c.POINTER(c.c_void_p))


class _Api(c.Structure):
    _fields_ = (
        ("major", c.c_uint32),
        ("minor", c.c_uint32),
        ("previous", c.c_void_p),
        ("allocate", _ALLOCATE),
        ("to_managed", _TO_MANAGED),
        ("to_object", _TO_OBJECT),
        ("from_object", _FROM_OBJECT),
        ("stream", _STREAM),
    )


class Allocator:
    """What is handed out, by the address of its description."""

    def __init__(self):
        self.live, self.allocations, self.stream, self.asked, self.fails = {}, 0, 0, 0, False


allocator = Allocator()


class Tensor:
    """Memory of the fake device; `owner` is what frees it."""

    __module__ = "torch"
    negated = False

    def __init__(
        self, shape, dtype="float64", *, strides=None, device=0, owner=None, address=None, requires_grad=False
    ):
        self.shape, self.dtype, self.device, self.owner, self.requires_grad = (
            tuple(shape),
            dtype,
            device,
            owner,
            requires_grad,
        )
        steps, step = [], 1
        for extent in reversed(self.shape):
            steps.insert(0, step)
            step *= max(extent, 1)
        self.strides = tuple(strides or steps)
        if address is None:
            self.owner = c.create_string_buffer(step * TYPES[dtype][1] // 8 + 512)
            address = (c.addressof(self.owner) + 255) // 256 * 256
        self.address = address
        self.c_shape, self.c_strides = (c.c_int64 * 8)(*self.shape), (c.c_int64 * 8)(*self.strides)

    def describe(self, to):
        to.data, to.device_kind, to.device, to.rank = self.address, KIND_CUDA, self.device, len(self.shape)
        to.code, to.bits, to.lanes = *TYPES[self.dtype], 1
        to.shape, to.strides, to.byte_offset = self.c_shape, self.c_strides, 0

    def is_neg(self):
        return self.negated

    def is_conj(self):
        return False

    def __del__(self):
        if isinstance(self.owner, c.POINTER(_Managed)):
            self.owner.contents.deleter(self.owner)


@_DELETER
def _free(managed):
    del allocator.live[managed.contents.tensor.data]


@_ALLOCATE
def _allocate(prototype, out, _context, _set_error):
    if allocator.fails:  # without a word: an error that is set here would be ctypes' own
        return -1
    wanted = prototype.contents
    made = Tensor(wanted.shape[: wanted.rank], CODES[wanted.code, wanted.bits], device=wanted.device)
    managed = _Managed(1, 1, None, _free)
    made.describe(managed.tensor)
    allocator.live[made.address] = (made, managed)
    allocator.allocations += 1
    out[0] = c.pointer(managed)
    return 0


@_TO_OBJECT
def _to_object(managed, out):
    t = managed.contents.tensor
    assert t.device_kind == KIND_CUDA and managed.contents.major == 1
    shape, strides = t.shape[: t.rank], t.strides[: t.rank]
    kept = c.cast(c.cast(managed, c.c_void_p).value, c.POINTER(_Managed))
    made = Tensor(shape, CODES[t.code, t.bits], strides=strides, device=t.device, owner=kept, address=t.data)
    c.pythonapi.Py_IncRef(c.py_object(made))
    out[0] = made
    return 0


@_FROM_OBJECT
def _from_object(tensor, out):
    tensor.describe(out.contents)
    return 0


@_STREAM
def _stream(_kind, _device, out):
    allocator.asked += 1
    out[0] = allocator.stream
    return 0


_unused = _TO_MANAGED(lambda _object, _out: -1)
_api = _Api(1, 3, None, _allocate, _unused, _to_object, _from_object, _stream)
_new_capsule = c.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = c.py_object, (c.c_void_p, c.c_char_p, c.c_void_p)
_NAME = b"dlpack_exchange_api"  # the capsule keeps its address
Tensor.__dlpack_c_exchange_api__ = _new_capsule(c.addressof(_api), _NAME, None)

torch = types.ModuleType("torch")
torch.Tensor, torch.grad_enabled = Tensor, True
torch.is_grad_enabled = lambda: torch.grad_enabled
sys.modules["torch"] = torch
