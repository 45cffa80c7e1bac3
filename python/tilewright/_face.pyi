# The C extension of every module and of @jit (python/native/face).
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MISSING: Any

class PlanError(ImportError): ...

class Dispatcher:
    calls: int
    misses: int
    def __new__(cls, name: str, parameters: Sequence[tuple[str, Any, Any]]) -> Any: ...
    def __init__(self, name: str, parameters: Sequence[tuple[str, Any, Any]]) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def add(
        self,
        plan_text: str,
        objects: Mapping[str, bytes],
        *,
        constants: Mapping[str, Any] | None = ...,
        hidden: Mapping[str, tuple[dict[str, Any], str]] | None = ...,
        conditions: Sequence[tuple[dict[str, Any], str, Any]] | None = ...,
        scalar_types: Mapping[str, type] | None = ...,
    ) -> int: ...
    def replace(
        self,
        index: int,
        plan_text: str,
        objects: Mapping[str, bytes],
        *,
        constants: Mapping[str, Any] | None = ...,
        hidden: Mapping[str, tuple[dict[str, Any], str]] | None = ...,
        conditions: Sequence[tuple[dict[str, Any], str, Any]] | None = ...,
        scalar_types: Mapping[str, type] | None = ...,
    ) -> None: ...
    def clear(self) -> None: ...

def load(
    plan_text: str | Sequence[str],
    objects: Mapping[str, bytes],
    *,
    name: str,
    doc: str | None = ...,
    signature_text: str = ...,
    parameters: Sequence[tuple[str, Any, Any]] = ...,
    module_name: str = ...,
    constants: Mapping[str, Any] | None = ...,
) -> Callable[..., Any]: ...
def machine_isa() -> str: ...
def matmul_library() -> str: ...
def set_num_threads(count: int) -> None: ...
def get_num_threads() -> int: ...
def trim_pool() -> int: ...
def pool_info() -> dict[str, Any]: ...
def parallel_backend() -> str: ...

class threads:
    def __init__(self, n: int) -> None: ...
    def __enter__(self) -> threads: ...
    def __exit__(self, *details: object) -> None: ...
