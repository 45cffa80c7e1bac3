"""A function beside NumPy's: the same result, or the same error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def alike(
    function: Callable[..., Any],
    numpy: Callable[..., Any],
    compare: Callable[[Any, Any], None],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """`compare`: asserts that a result is the wanted one."""
    try:
        wanted = numpy(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        with pytest.raises(type(error)) as caught:
            function(*args, **kwargs)
        assert str(caught.value) == str(error)
        return
    compare(function(*args, **kwargs), wanted)
