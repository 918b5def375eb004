"""Non-generic queries: what they are, and which vectors to draw again."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from exactattn.recovery.method import Plan
from exactattn.recovery.probe import Probe

__all__ = ["NonGeneric", "SameOutputs", "vectors_to_replace"]


class NonGeneric(Exception):
    """Some probes cannot be used: poles coincide, a residue vanishes, or labels are ambiguous.

    ``failures`` pairs each probe with its reason. ``proved`` is False when balls are too wide to tell
    non-generic queries from too little precision. ``too_far``: labels by proximity failed, and tokens must be
    closer. ``vectors``: what to replace, if it is known. Never reaches the user: queries are drawn again.
    """

    def __init__(
        self,
        failures: list[tuple[Probe, str]],
        proved: bool,
        *,
        too_far: bool = False,
        vectors: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self.vectors = vectors
        self.failures = failures
        self.proved = proved
        self.too_far = too_far
        named = [f"{probe}: {reason}" for probe, reason in failures[:3]]
        more = [f"and {len(failures) - 3} more probes"] if len(failures) > 3 else []
        super().__init__("; ".join(named + more))


class SameOutputs(Exception):
    """Two heads have the same v, so that this method's labels cannot tell them apart in later rows. Never
    reaches the user: another method is used."""

    def __init__(self, proved: bool) -> None:
        self.proved = proved
        super().__init__("two heads have the same v")


def vectors_to_replace(plan: Plan, failures: Iterable[Probe]) -> set[tuple[str, int]]:
    """A small set of vectors such that every failed probe uses one of them.

    Greedy by probes repaired for each probe that must be asked again, so b_1 and u_1, which many probes
    share, are replaced last; a vector that was replaced before and did not help counts for less.
    """
    versions = dict(plan.versions)
    usage: dict[tuple[str, int], int] = {}
    for probe in plan.probes:
        for vector in probe.vectors:
            usage[vector] = usage.get(vector, 0) + 1
    left = list(failures)
    chosen: set[tuple[str, int]] = set()
    while left:
        candidates = sorted({v for probe in left for v in probe.vectors})
        best = max(candidates, key=lambda v: _merit(v, left, usage[v] * (1 + versions.get(v, 0))))
        chosen.add(best)
        left = [p for p in left if best not in p.vectors]
    return chosen


def _merit(vector: tuple[str, int], left: list[Probe], cost: int) -> tuple[Fraction, tuple[str, int]]:
    return Fraction(sum(vector in p.vectors for p in left), cost), vector
