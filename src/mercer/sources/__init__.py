"""Rows that need not fit in memory: ordered parts that can be read, and passes over them."""

from mercer.sources.base import Arrays, Block, Source, as_source, is_source
from mercer.sources.changed import Recoded, Without, distinct
from mercer.sources.checkpoint import Checkpoint
from mercer.sources.engines import EngineLost, OutOfTime
from mercer.sources.mapped import MappedTable
from mercer.sources.passes import map_reduce

__all__ = [
    "Arrays", "Block", "Checkpoint", "EngineLost", "MappedTable", "OutOfTime", "Recoded", "Source", "Without",
    "as_source", "distinct", "is_source", "map_reduce",
]  # fmt: skip
