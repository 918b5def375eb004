"""One row of probes modulo p from what it shows of the heads: its answers, and that it is generic.

A row is a last token b_i: base probes (b_i, u_j), column probes (b_i, u_1 + u_j), and from the second row on
the row probe that joins it to the first. With r_h = g^e the part of an answer that depends on the number of
copies is m N(m)/Q(m), Q(z) = prod (z + r_h), N(z) = Q(z) sum c_h/(z + r_h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain
from operator import add, mul
from typing import NamedTuple

from .check import refuse
from .prime_plan import Field

__all__ = ["Row", "Rows"]

SLOT = 128  # bits: sums of 256 products of residues below 2^31, with room


class Row(NamedTuple):
    """A row i: scores modulo p - 1, heads by columns, and the answer at b_i alone."""

    number: int
    scores: list[list[int]]
    alone: int


class Rows(NamedTuple):
    """What all rows share: residues v_h.u_j modulo p, heads by columns; scores of the first row at u_1; the
    answer at b_1 alone; powers of all numbers of copies, in one long integer each."""

    field: Field
    bias: bool
    residues: list[list[int]]
    first: list[int]
    first_alone: int
    copies: int
    powers: list[int]

    @classmethod
    def of(
        cls, field: Field, bias: bool, residues: list[list[int]], first: list[int], alone: int, bound: int
    ) -> Rows:
        p, nodes = field.prime, range(1, 2 * bound + 1)
        powers = [sum(pow(m, k, p) << SLOT * (m - 1) for m in nodes) for k in range(len(first) + 1)]
        return cls(field, bias, residues, first, alone, 2 * bound, powers)

    def answers(self, row: Row) -> bytes:
        """All answers of a row, four bytes each, little endian. Refuses a row that is not generic."""
        values = self.probes(row)
        start = [] if row.number else [self.first_alone]
        found = list(chain(start, chain.from_iterable(values)))
        return struct.pack(f"<{len(found)}I", *found)

    def probes(self, row: Row) -> Iterator[list[int]]:
        p, n = self.field.prime, self.field.prime - 1
        name = f"row {row.number + 1}"
        base, own = row.scores[0], self.residues[0]
        exps = [[self.field.exp(e) for e in scores] for scores in row.scores]
        for j, (r, c) in enumerate(zip(exps, self.residues, strict=True), 1):
            yield self.values(f"{name}, base probe {j}", row.alone, r, c)
        each = [e for e in base for _ in base]
        columns = zip(row.scores[1:], exps[1:], self.residues[1:], strict=True)
        for j, (scores, r, c) in enumerate(columns, 2):
            place = f"{name}, column probe {j}"
            residues = [(x + y) % p for x, y in zip(own, c, strict=True)]
            yield self.values(
                place, row.alone, [x * y % p for x, y in zip(exps[0], r, strict=True)], residues
            )
            sums = [(x + y) % n for x, y in zip(base, scores, strict=True)]
            both = [*sums, *(s + n for s in sums)]
            if sum(map(set(both).__contains__, map(add, each, scores * len(base)))) > len(base):
                require_labels(place, list(zip(base, own, strict=True)), list(zip(scores, c, strict=True)),
                               set(zip(sums, residues, strict=True)), n, p)  # fmt: skip
        if row.number:
            yield self.row_probe(f"{name}, row probe", row)

    def row_probe(self, place: str, row: Row) -> list[int]:
        """The probe with u_1 whose last token is b_1 + b_i, or 2b_i - b_1 with a bias."""
        p, n = self.field.prime, self.field.prime - 1
        a, b = (-1, 2) if self.bias else (1, 1)
        scores, c = row.scores[0], self.residues[0]
        joined = [(a * x + b * y) % n for x, y in zip(self.first, scores, strict=True)]
        shown = set(zip(joined, c, strict=True))
        for h, x in enumerate(self.first):
            for g, y in enumerate(scores):
                if h != g and c[h] == c[g] and ((a * x + b * y) % n, c[h]) in shown:
                    refuse("answers", f"{place}: the labels of two heads are ambiguous modulo {p}")
        alone = (a * self.first_alone + b * row.alone) % p
        return self.values(place, alone, [self.field.exp(e) for e in joined], c)

    def values(self, place: str, alone: int, r: list[int], c: list[int]) -> list[int]:
        """The answers at m = 1 ... 2*H0 of a probe, which must show every head."""
        p = self.field.prime
        if len(set(r)) < len(r):
            refuse("answers", f"{place}: two heads have the same pole modulo {p}")
        if not all(c):
            refuse("answers", f"{place}: a residue is zero modulo {p}")
        N: list[int] = []
        Q = [1]
        for x, y in zip(r, c, strict=True):
            N = [(s + x * t + y * q) % p for s, t, q in zip([0, *N], [*N, 0], Q, strict=True)]
            Q = [(s + x * t) % p for s, t in zip([0, *Q], [*Q, 0], strict=True)]
        tops, bottoms = self.at_nodes(N), self.at_nodes(Q)
        before, product = [], 1
        for q in bottoms:
            before.append(product)
            product = product * q % p
        if not product:
            refuse("answers", f"{place}: a denominator vanishes modulo {p}")
        inverse, m = pow(product, -1, p), len(bottoms)
        found = []
        for t, q, part in zip(reversed(tops), reversed(bottoms), reversed(before), strict=True):
            found.append((alone - m * (t * (inverse * part % p))) % p)
            inverse, m = inverse * q % p, m - 1
        found.reverse()
        return found

    def at_nodes(self, coefficients: list[int]) -> list[int]:
        """Values of a polynomial at all numbers of copies: one product of long integers per coefficient."""
        p, wide = self.field.prime, (1 << 64) % self.field.prime
        total = sum(map(mul, coefficients, self.powers))
        words = struct.unpack(f"<{2 * self.copies}Q", total.to_bytes(16 * self.copies, "little"))
        return [(low + high * wide) % p for low, high in zip(words[::2], words[1::2], strict=True)]


def require_labels(
    place: str,
    X: list[tuple[int, int]],
    Y: list[tuple[int, int]],
    Z: set[tuple[int, int]],
    n: int,
    p: int,
) -> None:
    for h, (e, c) in enumerate(X):
        for g, (f, k) in enumerate(Y):
            if h != g and ((e + f) % n, (c + k) % p) in Z:
                refuse("answers", f"{place}: the labels of two heads are ambiguous modulo {p}")
