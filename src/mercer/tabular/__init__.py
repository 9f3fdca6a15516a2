"""Tables: reading them, turning columns into numbers by a recipe, and models that go with one."""

from mercer.exceptions import DataError, DataWarning
from mercer.tabular.kernels import default_kernel
from mercer.tabular.model import TableModel
from mercer.tabular.reading import Reading, read, read_table
from mercer.tabular.reads import objects_of, placed
from mercer.tabular.recipe import Recipe
from mercer.tabular.scoring import score

__all__ = [
    "DataError",
    "DataWarning",
    "Reading",
    "Recipe",
    "TableModel",
    "default_kernel",
    "objects_of",
    "placed",
    "read",
    "read_table",
    "score",
]
