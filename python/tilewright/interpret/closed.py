"""What stands for objects and containers that a trace does not look into."""

from __future__ import annotations

import abc
from typing import Any, NoReturn


class Closed(abc.ABC):
    """Whatever asks for more than itself is refused."""

    @abc.abstractmethod
    def refused(self) -> Exception:
        """The refusal, in words for the present statement."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self.refused()

    __len__ = __iter__ = __getitem__ = __setitem__ = __delitem__ = __contains__ = __bool__ = __call__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __str__ = __format__ = _refuse  # type: ignore[assignment]
    __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __mod__ = __or__ = __ror__ = __and__ = __sub__ = _refuse
    __array__ = __array_ufunc__ = __array_function__ = __index__ = __int__ = __float__ = _refuse
    __hash__ = object.__hash__
