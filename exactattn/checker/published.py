"""The probes of the published plan, with or without biases, and that no head can be taken for another."""

from __future__ import annotations

from .check import Vector, add, refuse
from .staged import Probe, Seen, minus

__all__ = ["check_published_labels", "published_probes"]

Place = tuple[str, int, int]


def published_probes(b: list[Vector], u: list[Vector], bound: int, bias: bool) -> dict[Place, Probe]:
    """All probes, in the order of the plan, by kind and numbers of last token and difference."""
    copies = range(1, 2 * bound + 1)

    def probe(last: Vector, difference: Vector) -> Probe:
        return Probe("published", minus(last, difference), None, last, copies)

    found: dict[Place, Probe] = {}
    for i, last in enumerate(b, 1):
        found |= {("base", i, j): probe(last, x) for j, x in enumerate(u, 1)}
    for i, last in enumerate(b, 1):
        found |= {("column", i, j): probe(last, add(u[0], x)) for j, x in enumerate(u[1:], 2)}
    for i, last in enumerate(b[1:], 2):
        joined = minus(add(last, last), b[0]) if bias else add(b[0], last)
        found["row", i, 1] = probe(joined, u[0])
    return found


def check_published_labels(found: dict[Place, Seen], bias: bool) -> None:
    """Step 3 of the proof in check.py: what joins two base probes joins no two different heads."""

    def pairs(seen: Seen) -> list[tuple[int, int]]:
        return [(e, h) for h, (_, e) in enumerate(seen.exponents)]

    for (kind, i, j), seen in found.items():
        if kind == "base":
            continue
        row = kind == "row"
        X, Y = found["base", 1 if row else i, 1], found["base", i, j]
        shown = {(e, seen.beta[h]) for e, h in pairs(seen)}
        for e, h in pairs(X):
            for f, g in pairs(Y):
                if g == h or (row and X.beta[h] != Y.beta[g]):
                    continue
                score = 2 * f - e if row and bias else e + f
                if (score, X.beta[h] if row else X.beta[h] + Y.beta[g]) in shown:
                    refuse("heads", f"{kind} probe ({i}, {j}): the labels of two heads are ambiguous")
