"""Tables of figures, a row per peer, with how many times Playhead's figure each one is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.registry import BASELINE, PEERS

Figures = Mapping[str, Any]
#: Figures by peer; ``{"error": why}`` or ``{"absent": why}`` where there are none.
Results = Mapping[str, Figures]


@dataclass(frozen=True)
class Table:
    """How a workload's results are shown: columns, then columns of the peer's figure over Playhead's."""

    title: str
    columns: Mapping[str, Callable[[Figures], str]]
    ratios: Mapping[str, str]


def _number(key: str, form: str = ",.1f") -> Callable[[Figures], str]:
    return lambda figures: "n/a" if figures[key] is None else format(figures[key], form)


def _spread(key: str) -> Callable[[Figures], str]:
    return lambda figures: f"{min(figures[key]):,}–{max(figures[key]):,}"


def _wall_and_cpu(name: str) -> Callable[[Figures], str]:
    wall, cpu = _number(f"{name}_wall_ms"), _number(f"{name}_cpu_ms")
    return lambda figures: f"{wall(figures)} / {cpu(figures)}"


def _points(figures: Figures) -> str:
    return f"{figures['points']:,} of {figures['wanted']:,}" if figures["scaled"] else f"{figures['points']:,}"


TABLES: Mapping[str, Table] = {
    "call": Table(
        "One log call of ten scalars, back to back",
        {
            "calls": _number("calls", ",d"),
            "CPU µs median": _number("cpu_us_median"),
            "CPU µs p99": _number("cpu_us_p99"),
            "wall µs median": _number("wall_us_median"),
            "wall µs p99": _number("wall_us_p99"),
            "finish s": _number("finish_s", ".2f"),
        },
        {"CPU ÷ Playhead": "cpu_us_median"},
    ),
    "kill": Table(
        "Points lost to kill -9, one scalar every 2 ms",
        {
            "kills": _number("kills", "d"),
            "acknowledged": _spread("acknowledged"),
            "lost": _spread("lost"),
            "lost a kill": lambda figures: format(sum(figures["lost"]) / figures["kills"], ",.1f"),
        },
        {},
    ),
    "million": Table(
        "Many points in one run, ten a call; CPU and wall are scaled to all points where the clock stopped a slow peer",
        {
            "points logged": _points,
            "CPU s": _number("cpu_s"),
            "wall s": _number("wall_s"),
            "bytes a point": _number("bytes_per_point"),
            "peak MB": _number("peak_mb", ",.0f"),
        },
        {"CPU ÷ Playhead": "cpu_s", "bytes ÷ Playhead": "bytes_per_point"},
    ),
    "list": Table(
        "Runs listed, each with ten parameters and ten metrics; ms of wall / CPU",
        {
            "runs": _number("runs", ",d"),
            "first 100": _wall_and_cpu("first_100"),
            "all": _wall_and_cpu("all"),
            "all with parameters": _wall_and_cpu("all_with_parameters"),
        },
        {
            "first: CPU ÷ Playhead": "first_100_cpu_ms",
            "all: ÷": "all_cpu_ms",
            "with parameters: ÷": "all_with_parameters_cpu_ms",
        },
    ),
}


def render(workload: str, results: Results) -> str:
    """Draw the table of one workload as Markdown that also reads well in a terminal."""
    table = TABLES[workload]
    rows = [["peer", *table.columns, *table.ratios]]
    rows += [_row(table, peer.title, results[peer.name], results) for peer in PEERS if peer.name in results]
    titles = {peer.name: peer.title for peer in PEERS}
    notes = [f"{titles[name]}: {why}\n" for name, figures in results.items() for why in _excuses(figures).values()]
    return "\n".join([f"## {table.title}\n", f"{aligned(rows)}\n", *notes])


def _row(table: Table, title: str, figures: Figures, results: Results) -> list[str]:
    for excuse in _excuses(figures):
        return [title, *[excuse] * (len(table.columns) + len(table.ratios))]
    shown = [show(figures) for show in table.columns.values()]
    return [title, *shown, *(_ratio(key, figures, results) for key in table.ratios.values())]


def _excuses(figures: Figures) -> dict[str, str]:
    words = {"error": "failed", "absent": "n/a"}
    return {words[key]: figures[key] for key in words if key in figures}


def _ratio(key: str, figures: Figures, results: Results) -> str:
    baseline = results.get(BASELINE, {}).get(key)
    if figures[key] is None:
        return "n/a"
    return f"{figures[key] / baseline:,.2f}" if baseline else "?"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
