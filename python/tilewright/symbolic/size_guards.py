"""What has to hold of the sizes of a call."""

from __future__ import annotations

from collections.abc import Mapping

from ..light_dataclass import dataclass
from .operators import COMPARE
from .sizes import Size


@dataclass(frozen=True)
class SizeGuard:
    """`left operator right` must hold, in sizes of a call."""

    left: Size
    operator: str
    right: Size
    message: str
    line: int = 0
    # What is left of a definition has been replaced by what is right of it everywhere else.
    is_definition: bool = False

    @property
    def condition(self) -> str:
        if self.operator == ">=" and self.left.is_constant:
            # "X.0 <= 5" reads better than "5 >= X.0".
            return f"{self.right} <= {self.left}"
        return f"{self.left} {self.operator} {self.right}"

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """In a call with these sizes."""
        try:
            return bool(COMPARE[self.operator](self.left.evaluate(sizes), self.right.evaluate(sizes)))
        except ZeroDivisionError:
            return False


def margin(operator: str, left: Size, right: Size) -> Size:
    """What is not negative where `left operator right` holds, for each of <, <=, > and >=."""
    difference = right - left if operator in ("<", "<=") else left - right
    return difference - 1 if operator in ("<", ">") else difference
