"""The probes of the optimal and the consistency plan, what they show of listed heads, and that no head can be
taken for another. The proof is in :mod:`.few_queries` and :mod:`.recovery_v2`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from .check import MAX_EXPONENT_SUM, Vector, add, dot, refuse

__all__ = [
    "Draw",
    "Probe",
    "Seen",
    "Sizes",
    "check_heads_of_probe",
    "check_labels",
    "lifted",
    "minus",
    "query",
    "shown_heads",
    "staged_probes",
]


class Sizes(NamedTuple):
    """Method, bound on the number of heads, token size, bound on the rank, bias, and whether the rank was
    found out, which asks some columns more."""

    method: str
    bound: int
    dim: int
    rank: int
    bias: bool = False
    found: bool = False

    @property
    def rows(self) -> int:
        """The rows of every W."""
        return self.dim + self.bias

    @property
    def further_columns(self) -> int:
        """Columns after column ``rank`` in row ``rank`` + 1."""
        if not self.found or self.rank == self.dim:
            return 0
        return 1 if self.method == "consistent" else min(self.dim - self.rank, 2 - self.rank % 2)

    @property
    def formula(self) -> int:
        """The number of queries of the plan."""
        numbers = self.rank * (2 * self.dim + self.bias - self.rank) + self.dim
        if self.method == "optimal":
            return self.bound * (numbers + self.further_columns) + self.bias
        if self.method == "consistent":
            return 2 * self.bound * (numbers - 1 + self.further_columns) + self.bias
        return 2 * self.bound * (2 * self.dim * self.rows - 1) + 1


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


def staged_probes(draw: Draw, sizes: Sizes) -> Iterator[Probe]:
    """All probes, in the order of the plan."""
    b, a, u = draw
    copies = range(2 * sizes.bound)
    zero = (0,) * sizes.dim
    yield Probe("base", zero, None, b[0], copies)
    for token in a[1:]:
        if sizes.method == "optimal":
            yield Probe("token", zero, token, b[0], copies)
        else:
            yield Probe("forward", zero, token, b[0], copies)
            yield Probe("opposite", zero, tuple(-x for x in token), b[0], copies)
    columns = {i: columns_of_row(i, sizes) for i in range(1, sizes.rows)}
    if sizes.method == "optimal":
        yield from pair_probes(draw, columns, sizes)
        return
    for i, n in columns.items():
        filler = minus(b[i], u[0])
        yield Probe("row base", filler, None, b[i], copies)
        for direction in u[1:n]:
            yield Probe("row", filler, add(filler, direction), b[i], copies)


def columns_of_row(i: int, sizes: Sizes) -> int:
    """How many columns are asked in row i, counted from 0: all of the first rows."""
    if i < sizes.rank:
        return sizes.dim
    return min(sizes.dim, sizes.rank + (sizes.further_columns if i == sizes.rank else 0))


def pair_probes(draw: Draw, columns: dict[int, int], sizes: Sizes) -> Iterator[Probe]:
    """Two columns a probe. Of an odd number of columns, two rows share a probe, each with one column left; a
    row by itself shows its last column in half a probe."""
    b, _, u = draw

    def pair(last: Vector, j: int, k: int, kind: str = "pair") -> Probe:
        filler = minus(last, u[k])
        return Probe(kind, filler, add(filler, u[j]), last, range(2 * sizes.bound))

    def by_itself(i: int, n: int) -> Iterator[Probe]:
        yield from (pair(b[i], j, j + 1) for j in range(0, n - 1, 2))
        if n % 2:
            yield Probe("half", b[i], add(b[i], u[n - 1]), b[i], range(sizes.bound))

    waiting: dict[int, int] = {}  # the row that waits for another one, by number of columns
    for i, n in columns.items():
        if n % 2 == 0 or n == 1 or sizes.found:
            yield from by_itself(i, n)
        elif n not in waiting:
            waiting[n] = i
        else:
            other = waiting.pop(n)
            yield from (pair(b[other], j, j + 1) for j in range(0, n - 1, 2))
            yield from (pair(b[i], j, j + 1) for j in range(1, n, 2))
            yield pair(minus(add(b[other], b[i]), b[0]), n - 1, 0)
    for n, i in waiting.items():
        yield from by_itself(i, n)


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


def check_labels(name: str, kind: str, seen: Seen, earlier: dict[str, Seen]) -> None:
    """That in a probe no head can have the pole of another; ``earlier`` has what its row's first probes
    show."""
    heads = range(len(seen.R))
    if kind == "pair" and any(x == y for x, y in zip(seen.alpha, seen.beta, strict=True)):
        refuse("heads", f"{name}: a head has equal v.p and v.q")
    for h in heads:
        if any(g != h and fits(kind, h, g, seen, earlier) for g in heads):
            refuse("heads", f"{name}: the labels of two heads are ambiguous")
    if kind == "opposite":
        check_opposite(name, earlier["forward"], seen, earlier["base"])


def fits(kind: str, h: int, g: int, seen: Seen, earlier: dict[str, Seen]) -> bool:
    """Whether head h could have the pole of head g (steps 2 and 3 of the proof)."""
    R, S, alpha, beta = seen.R[g], seen.S[g], seen.alpha[h], seen.beta[h]
    if kind == "token":
        return is_power(R - earlier["base"].y[h])
    if kind == "pair":
        return is_power((S - beta * R) / (alpha - beta)) and is_power((alpha * R - S) / (alpha - beta))
    if kind == "row base":
        return R * beta == S
    if kind == "row":
        y = earlier["row base"].y[h]
        return (R - y) * alpha + y * beta == S
    return False


def check_opposite(name: str, forward: Seen, opposite: Seen, base: Seen) -> None:
    """Only the poles of head h satisfy its two equations."""
    n = range(len(base.y))
    for h in n:
        y, residue = base.y[h], base.S[h]
        for g in n:
            x, e = forward.R[g] - y, forward.S[g] - residue
            for k in n:
                inverse, back = opposite.R[k] - y, opposite.S[k] - residue
                if (g, k) != (h, h) and x * inverse == 1 and back * x == -e * inverse:
                    refuse("heads", f"{name}: the labels of two heads are ambiguous")
