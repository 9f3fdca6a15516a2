"""Rows that need not fit in memory: ordered parts that can be read, and passes over them."""

from mercer.sources.base import Arrays, Block, Source, as_source, is_source
from mercer.sources.cluster import ClusterOptions
from mercer.sources.engines import EngineLost, OutOfTime
from mercer.sources.passes import map_reduce

__all__ = [
    "Arrays",
    "Block",
    "ClusterOptions",
    "EngineLost",
    "OutOfTime",
    "Source",
    "as_source",
    "is_source",
    "map_reduce",
]
