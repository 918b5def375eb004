"""A layered drawing of what rests on what: columns by depth, few crossings, straight long edges.

Columns hold the longest path from nodes that rest on nothing; edges over several columns pass through
placeholders; orders come from barycentre sweeps, heights from least squares with a least distance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

__all__ = ["Edge", "Layout", "Node", "Place", "layered"]

NODE_WIDTH, NODE_HEIGHT = 162, 26
GAP_X, GAP_Y, GAP_PLACEHOLDER = 56, 10, 8
MARGIN = 8
SWEEPS = 12


@dataclass(frozen=True)
class Node:
    """A node: its name, what is written on it, a longer title, a kind (for the style), the element of the
    page it leads to."""

    name: str
    label: str
    title: str
    kind: str
    target: str


@dataclass(frozen=True)
class Place:
    """A node with the left upper corner of its box."""

    node: Node
    x: float
    y: float


@dataclass(frozen=True)
class Edge:
    """A curve from a node to one that rests on it, as the data of an SVG path; both by their number, from
    1, among the places."""

    used: int
    user: int
    path: str


@dataclass(frozen=True)
class Layout:
    """Everything placed; ``alone`` are nodes without edges, in rows below the others."""

    places: tuple[Place, ...]
    alone: tuple[Place, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float
    alone_top: float


def layered(nodes: Sequence[Node], edges: Sequence[tuple[str, str]]) -> Layout:
    """Places nodes; each edge is (used, user). Raises graphlib.CycleError for a circle.

    >>> a, b = (Node(name, name, name, "claim", name) for name in "ab")
    >>> layout = layered([a, b], [("a", "b")])
    >>> [place.x < layout.places[1].x for place in layout.places]
    [True, False]
    """
    by_name = {node.name: node for node in nodes}
    needed: dict[str, set[str]] = {name: set() for name in by_name}
    for used, user in edges:
        needed[user].add(used)
    depths: dict[str, int] = {}
    for name in TopologicalSorter(needed).static_order():
        depths[name] = max((depths[other] + 1 for other in needed[name]), default=0)
    joined = {name for edge in edges for name in edge}
    columns, chains = _columns([n for n in by_name if n in joined], edges, depths)
    links = [pair for chain in chains for pair in pairwise(chain)]
    _order(columns, links)
    middles = _heights(columns, links)
    left = {name: MARGIN + k * (NODE_WIDTH + GAP_X) for k, column in enumerate(columns) for name in column}
    places = tuple(
        Place(by_name[name], left[name], middles[name] - NODE_HEIGHT / 2)
        for column in columns
        for name in column
        if name in by_name
    )
    number = {place.node.name: k for k, place in enumerate(places, 1)}
    drawn = tuple(Edge(number[c[0]], number[c[-1]], _curve(c, left, middles)) for c in chains)
    bottom = max((place.y + NODE_HEIGHT for place in places), default=0.0) + MARGIN
    per_row = max(len(columns), 4)
    apart = [node for node in nodes if node.name not in joined]
    top = bottom + 28
    alone = tuple(
        Place(
            node, MARGIN + (k % per_row) * (NODE_WIDTH + GAP_X), top + (k // per_row) * (NODE_HEIGHT + GAP_Y)
        )
        for k, node in enumerate(apart)
    )
    height = max((place.y + NODE_HEIGHT + MARGIN for place in alone), default=bottom)
    width = 2 * MARGIN + per_row * NODE_WIDTH + (per_row - 1) * GAP_X
    return Layout(places, alone, drawn, width, height, top)


def _columns(
    names: Sequence[str], edges: Sequence[tuple[str, str]], depths: Mapping[str, int]
) -> tuple[list[list[str]], list[list[str]]]:
    """Columns of names with placeholders, and the chain of names each edge passes."""
    columns: list[list[str]] = [[] for _ in range(max((depths[n] + 1 for n in names), default=0))]
    for name in names:
        columns[depths[name]].append(name)
    chains = []
    for used, user in edges:
        between = [f"{used} → {user} {k}" for k in range(depths[used] + 1, depths[user])]
        for k, placeholder in enumerate(between, depths[used] + 1):
            columns[k].append(placeholder)
        chains.append([used, *between, user])
    return columns, chains


def _neighbours(links: Sequence[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for left, right in links:
        after.setdefault(left, []).append(right)
        before.setdefault(right, []).append(left)
    return before, after


def _order(columns: list[list[str]], links: Sequence[tuple[str, str]]) -> None:
    """Sorts each column by the mean position of the neighbours, forwards and backwards."""
    before, after = _neighbours(links)
    rank = {name: k for column in columns for k, name in enumerate(column)}
    for sweep in range(SWEEPS):
        forwards = sweep % 2 == 0
        near = before if forwards else after
        for column in columns[1:] if forwards else columns[-2::-1]:
            own = {name: rank[name] for name in column}
            column.sort(key=lambda n: (_mean([rank[m] for m in near.get(n, ())], own[n]), own[n]))
            rank.update((name, k) for k, name in enumerate(column))


def _mean(numbers: Sequence[float], default: float) -> float:
    return sum(numbers) / len(numbers) if numbers else default


def _heights(columns: Sequence[Sequence[str]], links: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The middle of each name: near its neighbours, in the order of the column, never too close."""
    before, after = _neighbours(links)
    middles: dict[str, float] = {}
    for column in columns:
        offsets = _offsets(column)
        middles.update(zip(column, offsets, strict=True))
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            wanted = [
                _mean([middles[m] for m in (*before.get(n, ()), *after.get(n, ()))], middles[n])
                for n in column
            ]
            offsets = _offsets(column)
            fitted = _ascending([w - o for w, o in zip(wanted, offsets, strict=True)])
            middles.update((n, f + o) for n, f, o in zip(column, fitted, offsets, strict=True))
    top = min(middles.values(), default=0.0) - NODE_HEIGHT / 2 - MARGIN
    return {name: middle - top for name, middle in middles.items()}


def _offsets(column: Sequence[str]) -> list[float]:
    """Distances from the first of a column when all are as close as allowed."""
    sizes = [GAP_PLACEHOLDER if " → " in name else NODE_HEIGHT + GAP_Y for name in column]
    offsets = [0.0]
    for a, b in pairwise(sizes):
        offsets.append(offsets[-1] + (a + b) / 2)
    return offsets[: len(column)]


def _ascending(numbers: Sequence[float]) -> list[float]:
    """The ascending sequence nearest in least squares: neighbours in the wrong order are pooled."""
    pools: list[list[float]] = []
    for x in numbers:
        pools.append([x])
        while len(pools) > 1 and _mean(pools[-2], 0) > _mean(pools[-1], 0):
            last = pools.pop()
            pools[-1] += last
    return [mean for pool in pools for mean in [_mean(pool, 0)] * len(pool)]


def _curve(chain: Sequence[str], left: Mapping[str, float], middles: Mapping[str, float]) -> str:
    """From the right side of the first to the left side of the last, level through placeholders."""
    x, y = left[chain[0]] + NODE_WIDTH, middles[chain[0]]
    parts = [f"M{x:.1f} {y:.1f}"]
    for k, name in enumerate(chain[1:], 1):
        to_x, to_y = left[name], middles[name]
        half = (x + to_x) / 2
        parts.append(f"C{half:.1f} {y:.1f} {half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
        if k < len(chain) - 1:
            x += NODE_WIDTH
            parts.append(f"H{x:.1f}")
    return " ".join(parts)
