"""The drawing of what rests on what."""

from __future__ import annotations

import re
from graphlib import CycleError
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import certificate, decided

from exactattn.certificate.report.content import Report
from exactattn.certificate.report.graph import NODE_HEIGHT, NODE_WIDTH, Layout, Node, Place, layered
from exactattn.ledger import Decided, Outcome, Verdict

NUMBER = re.compile(r"-?[\d.]+")


def nodes(count: int) -> list[Node]:
    return [Node(f"n{k}", f"n{k}", "", "proved", f"n{k}") for k in range(count)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Node], list[tuple[str, str]]]:
    """Edges lead from lower to higher numbers, so there is no circle; the order of nodes is any."""
    count = draw(st.integers(0, 14))
    pairs = list(combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []
    return draw(st.permutations(nodes(count))), [(f"n{a}", f"n{b}") for a, b in chosen]


def boxes(layout: Layout) -> list[Place]:
    return [*layout.places, *layout.alone]


@given(graphs())
@settings(deadline=None)
def test_nodes_are_all_there_apart_and_inside(graph: tuple[list[Node], list[tuple[str, str]]]) -> None:
    """If it fails, claims are missing in the drawing, or lie on each other or outside of it."""
    layout = layered(*graph)
    assert sorted(place.node.name for place in boxes(layout)) == sorted(node.name for node in graph[0])
    for a, b in combinations(boxes(layout), 2):
        apart = abs(a.x - b.x) >= NODE_WIDTH or abs(a.y - b.y) >= NODE_HEIGHT - 1e-6
        assert apart, (a, b)
    for place in boxes(layout):
        assert 0 <= place.x <= layout.width - NODE_WIDTH
        assert -1e-6 <= place.y <= layout.height - NODE_HEIGHT + 1e-6


@given(graphs())
@settings(deadline=None)
def test_edges_lead_from_left_to_right_between_their_boxes(
    graph: tuple[list[Node], list[tuple[str, str]]],
) -> None:
    """If it fails, an arrow would say that one claim rests on another that it does not rest on."""
    layout = layered(*graph)
    drawn = []
    for edge in layout.edges:
        used, user = layout.places[edge.used - 1], layout.places[edge.user - 1]
        drawn.append((used.node.name, user.node.name))
        numbers = [float(x) for x in NUMBER.findall(edge.path)]
        start, end = numbers[:2], numbers[-2:]
        assert start == pytest.approx([used.x + NODE_WIDTH, used.y + NODE_HEIGHT / 2], abs=0.051)
        assert end == pytest.approx([user.x, user.y + NODE_HEIGHT / 2], abs=0.051)
        assert start[0] < end[0]
    assert sorted(drawn) == sorted(graph[1])


def test_a_circle_is_refused() -> None:
    """If it fails, claims that rest on each other would be drawn as if that were fine."""
    with pytest.raises(CycleError):
        layered(nodes(2), [("n0", "n1"), ("n1", "n0")])


def test_few_crossings_in_an_easy_case() -> None:
    """If it fails, orders in columns are not improved: a matching in reverse order can be drawn without any
    crossing."""
    layout = layered(nodes(10), [(f"n{k}", f"n{9 - k}") for k in range(5)])
    height = {place.node.name: place.y for place in layout.places}
    assert all(height[f"n{k}"] == height[f"n{9 - k}"] for k in range(5))


def test_claims_and_certificates_of_a_report() -> None:
    """If it fails, the graph leaves out what a claim rests on: another claim or its certificates."""
    proof = certificate()
    first = decided()
    second = decided(Verdict.PROVED, id="Q-2", depends_on=["Q-1", "Q-9"])
    held = Decided(
        second.claim, Outcome(Verdict.PROVED, "it", second.outcome.steps, (), None, (proof,) * 2), 0.1
    )
    layout = Report.of([first, held]).graph
    names = [place.node.name for place in layout.places]
    edges = {(names[edge.used - 1], names[edge.user - 1]) for edge in layout.edges}
    assert edges == {("Q-1", "Q-2"), ("recovery of Q-2", "Q-2")}
    assert {place.node.label for place in layout.places} == {"Q-1", "Q-2", "2 recovery certificates"}
    assert not layout.alone
