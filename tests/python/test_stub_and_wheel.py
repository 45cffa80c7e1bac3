"""The stub says what a module takes and gives; the wheel is one that pip accepts."""

import ast
import base64
import hashlib
import inspect
import zipfile

import pytest
from tilewright.errors import ExportError
from tilewright.export import stub
from tilewright.export.stub import shapes
from tilewright.export.wheel import write_wheel
from tilewright.program import Program

pytestmark = pytest.mark.fast

TEXT = """tilewright-program 1
function f "f.py"
arg x: {0}[x.0, x.1]
arg mask: bool[x.0]
scalar a: float64
total: {0}[] = sum(x) {{axes=[0, 1]}} @1
any: bool[x.0] = logical_not(mask) @1
return (total, any)
"""


def stub_text(name, programs, notes):
    """Of a function whose parameters are the programs' arguments."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(a.name, kind) for a in programs[0].arguments]
    return stub.stub_text([stub.Stub(name, programs, [None] * len(programs), parameters)], notes)


def test_one_signature():
    program = Program(TEXT.format("float32"))
    assert shapes(program) == "f(x: float32[:, :], mask: bool[:], a: float64) -> (float32, bool[:])"
    text = stub_text("f", [program], ["Needs NumPy alone."])
    assert (
        "def f(x: NDArray[np.float32], mask: NDArray[np.bool_], a: float, *, "
        "out: tuple[NDArray[np.float32] | None, NDArray[np.bool_] | None] | None = ...)"
        " -> tuple[np.float32, NDArray[np.bool_]]:" in text
    )
    ast.parse(text)


def test_a_function_that_only_writes_returns_none():
    lines = ["tilewright-program 1", 'function f "f.py"', "arg x: float64[x.0]"]
    lines += ["y: float64[x.0] = negative(x) @1", "write x = y", "return ()"]
    program = Program("\n".join(lines) + "\n")
    assert shapes(program) == "f(x: float64[:]) -> None"
    assert "def f(x: NDArray[np.float64]) -> None:" in stub_text("f", [program], [])


def test_several_signatures_are_overloads():
    text = stub_text("f", [Program(TEXT.format("float32")), Program(TEXT.format("float64"))], [])
    assert text.count("@overload") == 2
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert names == ["f", "f", "get_num_threads", "set_num_threads", "evidence"]


def make_package(tmp_path):
    package = tmp_path / "f_tuned"
    (package / "objects").mkdir(parents=True)
    (package / "__init__.py").write_text("x = 1\n")
    (package / "_face.abi3.so").write_bytes(b"GLIBC_2.17\0GLIBC_2.34\0")
    (package / "objects" / "k.o").write_bytes(b"\x7fELF")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "x.pyc").write_bytes(b"")
    return package


def test_wheel(tmp_path):
    path = write_wheel(make_package(tmp_path), "0.1.0")
    assert path.name == "f_tuned-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl"
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert not any("__pycache__" in name for name in names)
        record = archive.read("f_tuned-0.1.0.dist-info/RECORD").decode().splitlines()
        assert sorted(line.split(",")[0] for line in record) == sorted(names)
        for line in record:
            name, digest, size = line.split(",")
            if digest:
                data = archive.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, int(size)) == (f"sha256={expected}", len(data))


def test_a_wheel_is_not_overwritten(tmp_path):
    package = make_package(tmp_path)
    first = write_wheel(package, "0.1.0").read_bytes()
    with pytest.raises(ExportError) as error:
        write_wheel(package, "0.1.0")
    assert str(error.value).endswith(": exists. Give --force to overwrite it.")
    assert write_wheel(package, "0.1.0", force=True).read_bytes() == first
