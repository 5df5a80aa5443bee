"""What a part answers: a table, and the aims that were missed."""

import sys
from dataclasses import dataclass, field

from .programs import ROOT

sys.path.append(str(ROOT / "Benchmarks"))

from measure.report import Table, median, quantile, text  # noqa: E402

__all__ = ["Outcome", "Table", "median", "quantile", "text"]


@dataclass
class Outcome:
    table: Table
    missed: list[str] = field(default_factory=list)
