"""Probes, what they show of listed heads, and that in plans with two stages no head can be taken for another.

Labels: let another layer's heads, told apart by earlier probes, have poles and residues of the listed heads,
head h those of p(h), where p is a permutation. The labelling rule says for which h and g that is possible: h
*fits* the pole of g. If there is no cycle of different heads in which each fits the pole of the next, p is
the identity.

Two of the K heads may share a pole, so that there are K - 1 with residues that are not zero. Another layer's
heads give every one of these poles a residue, so at most one head is left over, which must have the residue 0
if it has another pole. All ways in which the residues that the labelling rule allows add up are tried, and
only the listed one is found.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from .check import MAX_EXPONENT_SUM, Vector, dot, refuse
from .placements import Limit, placements

__all__ = [
    "Draw",
    "Probe",
    "Seen",
    "check_heads_of_probe",
    "check_labels",
    "check_shared",
    "lifted",
    "minus",
    "query",
    "shares_poles",
    "shown_heads",
]

MAX_SHARING = 64  # heads


class Draw(NamedTuple):
    """The vectors of one draw: last tokens, b_1 with the tokens of stage 1, directions of stage 2."""

    b: list[Vector]
    a: list[Vector]
    u: list[Vector]


class Probe(NamedTuple):
    """Copies of ``filler``, ``extra`` if there is one, and the last token."""

    kind: str
    filler: Vector
    extra: Vector | None
    last: Vector
    copies: range


class Seen(NamedTuple):
    """What a probe shows of the heads: exponents of x and y, poles, residues, y, and v.p and v.q."""

    exponents: list[tuple[int, int]]
    R: list[Fraction]
    S: list[Fraction]
    y: list[Fraction]
    alpha: list[Fraction]
    beta: list[Fraction]


def minus(x: Vector, y: Vector) -> Vector:
    return tuple(p - q for p, q in zip(x, y, strict=True))


def lifted(last: Any, bias: bool) -> Any:
    """The last token as it enters scores: b, or (1, b) with a bias."""
    return (1, *last) if bias else last


def query(probe: Probe, m: int) -> tuple[Any, Vector]:
    """A query in normal form: sorted runs with positive counts, and the last token."""
    runs = {probe.filler: m}
    if probe.extra is not None:
        runs[probe.extra] = runs.get(probe.extra, 0) + 1
    return tuple(sorted((tok, n) for tok, n in runs.items() if n)), probe.last


def shown_heads(probe: Probe, heads: list[Any], D: int, bias: bool = False) -> Seen:
    """What the probe shows of each head; exponents must be integers of a reasonable size."""
    total = 0
    seen = Seen([], [], [], [], [], [])
    q = minus(probe.last, probe.filler)
    p = None if probe.extra is None else minus(probe.extra, probe.filler)
    for h, (W, v) in enumerate(heads):
        row = [D * dot(lifted(probe.last, bias), column) for column in zip(*W, strict=True)]
        exponents = []
        for direction in (p, q):
            e = Fraction(0) if direction is None else Fraction(dot(row, direction))
            if e.denominator != 1:
                refuse(f"heads[{h}].W", "an exponent is not an integer")
            total += abs(int(e))
            if total > MAX_EXPONENT_SUM:
                refuse("heads", f"{probe.kind} probe: the exponents of 2 are too large")
            exponents.append(int(e))
        x, y = (Fraction(0) if p is None else power(exponents[0])), power(exponents[1])
        alpha, beta = Fraction(0) if p is None else Fraction(dot(v, p)), Fraction(dot(v, q))
        seen.exponents.append((exponents[0], exponents[1]))
        seen.R.append(x + y)
        seen.S.append(alpha * x + beta * y)
        seen.y.append(y)
        seen.alpha.append(alpha)
        seen.beta.append(beta)
    return seen


def power(e: int) -> Fraction:
    return Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)


def is_power(x: Fraction) -> bool:
    p, q = x.numerator, x.denominator
    return p > 0 and p & (p - 1) == 0 and q & (q - 1) == 0


def check_heads_of_probe(name: str, seen: Seen) -> None:
    """Distinct poles and no zero residue."""
    if len(set(seen.R)) < len(seen.R):
        refuse("heads", f"{name}: two heads have the same pole")
    if not all(seen.S):
        refuse("heads", f"{name}: a residue is zero")


def shares_poles(seen: Seen) -> bool:
    """Whether some heads have the same pole."""
    return len(set(seen.R)) < len(seen.R)


def check_shared(name: str, kind: str, seen: Seen, before: list[Seen]) -> None:
    """That heads which share a pole in a later row cannot be exchanged with others."""
    poles: dict[Fraction, Fraction] = {}
    for R, S in zip(seen.R, seen.S, strict=True):
        poles[R] = poles.get(R, Fraction(0)) + S
    K = len(seen.R)
    if K - len(poles) != 1 or not all(poles.values()) or K > MAX_SHARING:
        refuse("heads", f"{name}: too many heads share a pole, or a residue is zero")
    known = dict(zip(seen.R, seen.exponents, strict=True))
    numbers = list(poles)

    def options(level: int, h: int) -> list[tuple[Fraction, Any]]:
        R, alpha, beta = numbers[level], seen.alpha[h], seen.beta[h]
        if kind == "pair":
            e, f = known[R]
            ways = {(e, f), (f, e)}
            return [(power(x) * alpha + power(y) * beta, (R, x)) for x, y in ways]
        if kind == "row base":
            return [(R * beta, R)]
        y = before[0].y[h]  # of the row's base
        return [((R - y) * alpha + y * beta, R)]

    truth = {
        h: (R, x) if kind == "pair" else R
        for h, (R, (x, _)) in enumerate(zip(seen.R, seen.exponents, strict=True))
    }
    for placed in placements(list(poles.values()), options, frozenset(truth), 1, Limit(name)):
        left = [h for h in truth if h not in placed]
        if any(may_vanish(kind, seen.alpha[h], seen.beta[h]) for h in left) or not (left or placed == truth):
            refuse("heads", f"{name}: the labels of two heads are ambiguous")


def may_vanish(kind: str, alpha: Fraction, beta: Fraction) -> bool:
    """Whether x alpha + y beta can be 0, for powers of 2 (pair), x = 0 (row base), or any x > 0 (row)."""
    if not alpha or not beta:
        return not (alpha or beta)
    return is_power(-alpha / beta) if kind == "pair" else alpha * beta < 0


def check_labels(name: str, kind: str, seen: Seen, before: list[Seen]) -> None:
    """That in a probe every head has its own pole; ``before``: what the probes it builds on show."""
    heads = len(seen.R)
    if kind == "pair" and any(x == y for x, y in zip(seen.alpha, seen.beta, strict=True)):
        refuse("heads", f"{name}: a head has equal v.p and v.q")
    if kind == "opposite":
        pairs = opposite_pairs(seen, *before)
        require_identity(name, heads, lambda h, g: any((h, g) == pair[:2] for pair in pairs[h]))
        require_identity(name, heads, lambda h, k: any((h, k) == pair[::2] for pair in pairs[h]))
    elif kind not in ("base", "forward", "half", "linked"):
        require_identity(name, heads, lambda h, g: fits(kind, h, g, seen, before))


def require_identity(name: str, heads: int, related: Callable[[int, int], bool]) -> None:
    """That there is no cycle of different heads, each related to the next: heads that lead to none are taken
    away until none is left."""
    follows = [{g for g in range(heads) if g != h and related(h, g)} for h in range(heads)]
    left = set(range(heads))
    while left:
        ends = {h for h in left if not follows[h] & left}
        if not ends:
            refuse("heads", f"{name}: the labels of two heads are ambiguous")
        left -= ends


def fits(kind: str, h: int, g: int, seen: Seen, before: list[Seen]) -> bool:
    """Whether head h could have the pole of head g (steps 2 and 3 of the proof)."""
    R, S, alpha, beta = seen.R[g], seen.S[g], seen.alpha[h], seen.beta[h]
    if kind == "token":
        return is_power(R - before[0].y[h])
    if kind == "pair":
        return is_power((S - beta * R) / (alpha - beta)) and is_power((alpha * R - S) / (alpha - beta))
    if kind == "row base":
        return R * beta == S
    y = before[0].y[h]  # of the row's base
    return (R - y) * alpha + y * beta == S


def opposite_pairs(seen: Seen, base: Seen, forward: Seen) -> list[list[tuple[int, int, int]]]:
    """For every head h all (h, g, k): the pole of g in the probe with a token, and that of k in the one with
    the opposite token, satisfy the two equations of h."""
    found = []
    for h, (y, residue) in enumerate(zip(base.y, base.S, strict=True)):
        inverses = {R - y: k for k, R in enumerate(seen.R)}
        pairs = []
        for g, (R, S) in enumerate(zip(forward.R, forward.S, strict=True)):
            k = None if y == R else inverses.get(1 / (R - y))
            if k is not None and (seen.S[k] - residue) * (R - y) ** 2 == residue - S:
                pairs.append((h, g, k))
        found.append(pairs)
    return found
