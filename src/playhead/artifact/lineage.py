"""Lineage: which runs and versions a version comes from, and which came from it.

A run comes from the versions that it used, and a version from the run that made it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playhead.artifact import index
from playhead.artifact.version import spell
from playhead.home import Home

ARTIFACT, RUN = "artifact", "run"


@dataclass(frozen=True, slots=True)
class Node:
    """A version or a run.

    Attributes:
        kind: `artifact` or `run`.
        id: `model/policy:v3`, or the id of the run.
    """

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A step from what was first to what came of it.

    Attributes:
        source: What was first.
        target: What came of it.
        kind: `made`, from a run to a version; `used`, from a version to a run.
        at: When, in seconds since 1970.
    """

    source: Node
    target: Node
    kind: str
    at: float


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a version or a run comes from, and what came from it.

    Attributes:
        root: Whose lineage it is.
        upstream: All that it comes from, nearest first.
        downstream: All that came from it, nearest first.
        edges: The steps between them.
    """

    root: Node
    upstream: list[Node]
    downstream: list[Node]
    edges: list[Edge]

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON: nodes with their ids, edges by them."""
        nodes = [self.root, *self.upstream, *(node for node in self.downstream if node not in self.upstream)]
        return {
            "root": self.root.id,
            "nodes": [{"kind": node.kind, "id": node.id} for node in nodes],
            "upstream": [node.id for node in self.upstream],
            "downstream": [node.id for node in self.downstream],
            "edges": [
                {"source": edge.source.id, "target": edge.target.id, "kind": edge.kind, "at": edge.at}
                for edge in self.edges
            ],
        }

    def to_dot(self) -> str:
        """Give it in the language of Graphviz."""
        nodes = dict.fromkeys([self.root, *self.upstream, *self.downstream])
        lines = ["digraph lineage {", "  rankdir=LR;"]
        for node in nodes:
            style = ", style=bold" if node == self.root else ""
            lines.append(f"  {_quoted(node.id)} [shape={'box' if node.kind == ARTIFACT else 'ellipse'}{style}];")
        lines += [
            f"  {_quoted(edge.source.id)} -> {_quoted(edge.target.id)} [label={_quoted(edge.kind)}];"
            for edge in self.edges
        ]
        return "\n".join([*lines, "}"])

    def tree(self, *, is_upstream: bool) -> Iterator[tuple[int, Node, bool]]:
        """Walk over one side as a tree: depth, node, and whether it was shown before and is not unfolded again."""
        steps: dict[Node, list[Node]] = {}
        for edge in self.edges:
            near, far = (edge.target, edge.source) if is_upstream else (edge.source, edge.target)
            steps.setdefault(near, []).append(far)
        side = set(self.upstream if is_upstream else self.downstream)
        seen = {self.root}
        waiting = [(1, node) for node in reversed(steps.get(self.root, ())) if node in side]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node, node in seen
            if node not in seen:
                seen.add(node)
                waiting += [(depth + 1, far) for far in reversed(steps.get(node, ())) if far in side or far in seen]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def of(home: Home, version: tuple[str, str, int], *, depth: int | None = None) -> Lineage:
    """Find the lineage of a version.

    Args:
        home: The store.
        version: Type, name and number.
        depth: How many steps to go at most; None for all.
    """
    return _lineage(home, Node(ARTIFACT, spell(*version)), depth)


def of_run(home: Home, run_id: str, *, depth: int | None = None) -> Lineage:
    """Find the lineage of a run; otherwise as `of`."""
    return _lineage(home, Node(RUN, run_id), depth)


def _lineage(home: Home, root: Node, depth: int | None) -> Lineage:
    edges = [
        *(
            Edge(Node(RUN, use.run_id), Node(ARTIFACT, spell(use.type, use.name, use.version)), "made", use.at)
            for use in index.makers(home)
        ),
        *(
            Edge(Node(ARTIFACT, spell(use.type, use.name, use.version)), Node(RUN, use.run_id), "used", use.at)
            for use in index.users(home)
        ),
    ]
    edges.sort(key=lambda edge: (edge.at, edge.source.id, edge.target.id))
    before: dict[Node, list[Edge]] = {}
    after: dict[Node, list[Edge]] = {}
    for edge in edges:
        before.setdefault(edge.target, []).append(edge)
        after.setdefault(edge.source, []).append(edge)
    upstream, up_edges = _reach(root, before, depth, is_upstream=True)
    downstream, down_edges = _reach(root, after, depth, is_upstream=False)
    return Lineage(root, upstream, downstream, list(dict.fromkeys([*up_edges, *down_edges])))


def _reach(
    root: Node, steps: Mapping[Node, list[Edge]], depth: int | None, *, is_upstream: bool
) -> tuple[list[Node], list[Edge]]:
    """Walk from a node in one direction, each node once: what one run used may well come from itself."""
    found: dict[Node, None] = {root: None}
    passed: list[Edge] = []
    level = [root]
    taken = 0
    while level and (depth is None or taken < depth):
        following: list[Node] = []
        for node in level:
            for edge in steps.get(node, ()):
                passed.append(edge)
                other = edge.source if is_upstream else edge.target
                if other not in found:
                    found[other] = None
                    following.append(other)
        level = following
        taken += 1
    return list(found)[1:], passed
