"""riskpkg: a small Monte Carlo risk toolkit for an equity/option book."""
from .models import Asset, Book, Option
from .simulate import PathSimulator

__version__ = "0.3.1"
