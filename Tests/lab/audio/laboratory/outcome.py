"""What a part answers: a table, and the aims that were missed."""

from dataclasses import dataclass, field

# Imported first: it adds the benchmarks' folder to the path.
from . import programs  # noqa: F401
from measure.report import Table, median, quantile, text

__all__ = ["Outcome", "Table", "median", "milliseconds", "quantile", "text"]


@dataclass
class Outcome:
    table: Table
    missed: list[str] = field(default_factory=list)


def milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.2f}"
