"""`playhead trace info`: one trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from playhead.cli import output, words
from playhead.cli.options import examples, json_option, store_option
from playhead.cli.output import Column
from playhead.cli.trace import source
from playhead.cli.trace.options import trace_argument, which_options

if TYPE_CHECKING:
    from playhead.trace import Trace

_LOOKED_AT = 4096  # steps, to tell whether inputs were recorded


@click.command(
    "info", epilog=examples("playhead trace info last/fit", "playhead trace info last", "playhead trace info fit.trace")
)
@trace_argument()
@which_options
@json_option
@store_option
def command(trace: str, as_json: bool, place: int | None, variant: int | None, store_path: str | None) -> None:
    """Show one trace: steps, keyframes, function, parameters."""
    found = source.find(store_path, trace, place, variant)
    opened = source.open_trace(found)
    said = _described(found, opened)
    if as_json:
        output.print_json(said)
    else:
        _print(said)


def _described(found: source.Found, trace: Trace) -> dict[str, Any]:
    from playhead import traces
    from playhead.cli.trace.printing import leaves

    seen = traces.glance(found.path, found.which)
    keyframes = trace.keyframes
    first = leaves(trace.seek(int(keyframes[0]))) if len(keyframes) else []
    return {
        "trace": found.label,
        "path": str(found.path),
        "bytes": seen.bytes,
        "is_recorded": seen.is_recorded,
        "created_at": (trace.facts.get("created_ns") or 0) / 1e9 or None,
        "steps": len(trace),
        "keyframes": len(keyframes),
        "best": seen.best,
        "error": seen.error,
        "marks": len(trace.marks),
        "has_inputs": any(one is not None for one in trace.contents.packed_inputs(0, min(len(trace), _LOOKED_AT))),
        "retention": trace.facts.get("retention"),
        "parameters": trace.parameters,
        "function": trace.facts.get("step"),
        "state": [{"path": leaf.path, "type": leaf.kind} for leaf in first],
    }


def _print(said: dict[str, Any]) -> None:
    click.secho(words.one_line(said["trace"]), bold=True)
    steps, keyframes = said["steps"], said["keyframes"]
    best = "" if said["best"] is None else f"{words.number(said['error'], 6)} at step {said['best']:,}"
    size = words.size(said["bytes"]) + (f", {said['bytes'] / steps:.1f} B a step" if steps else "")
    output.print_facts(
        [
            ("file", words.one_line(said["path"])),
            ("size", size),
            ("created", words.moment(said["created_at"])),
            ("state", "being recorded" if said["is_recorded"] else ""),
            ("steps", f"{steps:,}"),
            ("keyframes", f"{keyframes:,}" + (f", {100 * keyframes / steps:.3g} % of the steps" if steps else "")),
            ("kept", _pairs(said["retention"])),
            ("inputs", "recorded" if said["has_inputs"] else "none"),
            ("best", f"{best}, {words.counted(said['marks'], 'best step')} in all" if best else ""),
            ("function", _function(said["function"])),
            ("parameters", _pairs(said["parameters"])),
        ]
    )
    if said["state"]:
        output.print_heading("State")
        columns = [Column("path", style="bold"), Column("type")]
        rows = [[words.one_line(one["path"]), one["type"]] for one in said["state"][:50]]
        output.print_table(columns, rows, indent=2)


def _function(said: dict[str, Any] | None) -> str:
    if not said:
        return ""
    versions = ", ".join(f"{name} {version}" for name, version in (said.get("versions") or {}).items())
    return words.one_line(f"{said.get('module')}:{said.get('name')}" + (f" ({versions})" if versions else ""))


def _pairs(values: dict[str, Any] | None) -> str:
    return ", ".join(f"{words.one_line(name)} {words.value(value)}" for name, value in (values or {}).items())
