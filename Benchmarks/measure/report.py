"""Tables of figures, as text that reads as Markdown too."""

import statistics
import textwrap
from dataclasses import dataclass, field

# Columns of a line of text.
WIDTH = 118


@dataclass
class Table:
    """One measurement: its heading, what was done, columns, rows, and the command that repeats it."""

    title: str
    about: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    command: str = ""

    def add(self, *cells: object) -> None:
        self.rows.append([str(cell) for cell in cells])


def quantile(values: list[float], share: float) -> float:
    """The value that `share` of all are at or below."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def microseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.0f}"


def median(values: list[float]) -> float:
    return statistics.median(values)


def text(tables: list[Table]) -> str:
    return "\n".join(_table(table) for table in tables)


def _table(table: Table) -> str:
    widths = [max(len(row[column]) for row in [table.columns, *table.rows]) for column in range(len(table.columns))]

    def line(cells: list[str]) -> str:
        padded = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rules = ["-" * (width + 1) + ("-" if column == 0 else ":") for column, width in enumerate(widths)]
    rule = "|" + "|".join(rules) + "|"
    body = [line(table.columns), rule, *(line(row) for row in table.rows)]
    return f"## {table.title}\n\n{textwrap.fill(table.about, WIDTH)}\n\n" + "\n".join(body) + f"\n\n`{table.command}`\n"


def page(date: str, machine: list[str], figures: str) -> str:
    """The whole of RESULTS.md."""
    facts = "\n".join(f"- {fact}" for fact in machine)
    return f"""# Results

Written by `Benchmarks/run --write {date}`; not edited by hand. Compare columns of one table only: they were measured
in turn in one run. Nothing is asserted on them.

{facts}

{figures}"""
