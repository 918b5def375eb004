"""A layer modulo a prime, with derivatives along a direction: what a rank certificate speaks of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from operator import add, mul
from typing import Any

from .check import refuse
from .rank_spec import (
    MAX_PARAMETERS,
    MAX_TOKENS,
    Spec,
    bucket,
    independent_angles,
    keeps_factor,
    rank_shapes,
    rotation_pairs,
)

__all__ = ["Level", "Rows", "residues"]

Dual = tuple[int, int]  # a residue and its derivative
Duals = tuple[list[int], list[int]]
Rows = list[list[int]]


def residues(text: str, size: int, p: int) -> list[int]:
    """SHA-256 digests of text|0, text|1, ... modulo p."""
    return [
        int.from_bytes(hashlib.sha256(f"{text}|{k}".encode("ascii")).digest(), "big") % p for k in range(size)
    ]


class Level:
    """A layer with parameters and tokens drawn modulo a prime. exp(x) is 4 to the power x taken modulo the
    next prime of the chain, in the layer drawn there. Vectors carry a derivative along one direction."""

    def __init__(
        self, s: Spec, seed: int, primes: list[int], sizes: list[tuple[int, int]], versions: list[list[int]]
    ) -> None:
        self.s, self.p, self.sizes = s, primes[0], sizes
        self.text = f"exactattn rank 1|{seed}|{self.p}|"
        self.shapes = rank_shapes(s)
        self.total = sum(rows * columns for rows, columns in self.shapes.values())
        if self.total > MAX_PARAMETERS or sum(n + m for n, m in sizes) > MAX_TOKENS:
            refuse("spec", "the layer or its sequences are too large for this checker")
        self.values = self.cut(residues(f"{self.text}parameter", self.total, self.p))
        self.slopes = self.cut([0] * self.total)
        self.tokens = self.drawn_tokens(versions[0])
        self.pairs = rotation_pairs(s)
        self.turns = self.rotations()
        self.offsets = self.alibi()
        self.factor = self.root(self.constant(s["square"])) if keeps_factor(s) else 1
        self.next = Level(s, seed, primes[1:], sizes, versions[1:]) if len(primes) > 1 else None
        self.powers: dict[tuple[int, int, str], Rows] = {}
        self.seen: dict[int, Any] = {}

    # numbers

    def constant(self, x: Fraction) -> int:
        if x.denominator % self.p == 0:
            refuse("spec", "a denominator vanishes modulo a prime")
        return x.numerator * pow(x.denominator, -1, self.p) % self.p

    def root(self, x: int) -> int:
        r = pow(x, (self.p + 1) // 4, self.p)
        return r if r and r * r % self.p == x else refuse("versions", "a norm has no root at this point")

    def inverse(self, x: int) -> int:
        return pow(x, -1, self.p) if x else refuse("seed", "a denominator vanishes at this point")

    def cut(self, flat: list[int]) -> dict[str, Rows]:
        arrays, start = {}, 0
        for name, (rows, columns) in self.shapes.items():
            arrays[name] = [flat[start + k * columns : start + (k + 1) * columns] for k in range(rows)]
            start += rows * columns
        return arrays

    def drawn_tokens(self, versions: list[int]) -> list[list[Duals]]:
        """The tokens of each sequence, then those of the other one; a version is added to the first entry."""
        found, k = [], 0
        for n, m in self.sizes:
            tokens = []
            for width in [self.s["width"]] * n + [self.s["key_width"]] * m:
                entries = residues(f"{self.text}token {k}", width, self.p)
                entries[0] = (entries[0] + versions[k]) % self.p
                tokens.append((entries, [0] * width))
                k += 1
            found.append(tokens)
        return found

    def rotations(self) -> list[list[Dual]]:
        """Cosine and sine of each plane at each position."""
        if not self.s["rotary"]:
            return []
        base, planes, p = self.s["rotary"]["base"], self.s["R"] // 2, self.p
        steps = []
        for t in residues(f"{self.text}angle", planes, p):
            inverse = pow(1 + t * t, -1, p)
            steps.append(((1 - t * t) * inverse % p, 2 * t * inverse % p))
        if base is not None:
            apart, ratio = independent_angles(base, planes)
            ends = [(planes - 1 - k % apart) // apart for k in range(planes)]
            powers = [
                ratio.numerator ** (end - k // apart) * ratio.denominator ** (k // apart)
                for k, end in enumerate(ends)
            ]
            steps = [self.turned(steps[k % apart], power % (p + 1)) for k, power in enumerate(powers)]
        turns = [[(1, 0)] * planes]
        while len(turns) < max(n for n, _ in self.sizes):
            turns.append([self.composed(x, y) for x, y in zip(turns[-1], steps, strict=True)])
        return turns

    def composed(self, x: Dual, y: Dual) -> Dual:
        return (x[0] * y[0] - x[1] * y[1]) % self.p, (x[0] * y[1] + x[1] * y[0]) % self.p

    def turned(self, x: Dual, times: int) -> Dual:
        result = (1, 0)
        for bit in bin(times)[2:]:
            result = self.composed(result, result)
            result = self.composed(result, x) if bit == "1" else result
        return result

    def alibi(self) -> list[int]:
        """The published slopes: powers k of 2^(-4/P), P the largest power of 2 up to H."""
        H = self.s["heads"]
        if not self.s["alibi"]:
            return [0] * H
        P = 1 << (H.bit_length() - 1)
        steps = [2 * (h + 1) for h in range(P)] + [2 * h + 1 for h in range(H - P)]
        apart = max(P // 4, 1)
        steps = steps if P >= 4 else [k * 4 // P for k in steps]
        drawn_ = residues(f"{self.text}slope", apart, self.p)
        half = pow(2, -1, self.p)
        return [drawn_[k % apart] * pow(half, k // apart, self.p) % self.p for k in steps]

    # vectors with a derivative

    def dot(self, x: Duals, y: Duals) -> Dual:
        (a, da), (b, db) = x, y
        return sum(map(mul, a, b)) % self.p, (sum(map(mul, a, db)) + sum(map(mul, da, b))) % self.p

    def column(self, name: str, start: int, length: int) -> Duals:
        """Part of an array with one column."""
        values, slopes = self.values[name], self.slopes[name]
        part = slice(start, start + length)
        return [row[0] for row in values[part]], [row[0] for row in slopes[part]]

    def times(self, x: Duals, c: Dual) -> Duals:
        p = self.p
        return [v * c[0] % p for v in x[0]], [(v * c[1] + d * c[0]) % p for v, d in zip(*x, strict=True)]

    def plus(self, x: Duals, y: Duals) -> Duals:
        values, slopes = (map(add, a, b) for a, b in zip(x, y, strict=True))
        return [v % self.p for v in values], [d % self.p for d in slopes]

    def linear(self, name: str, x: Duals) -> Duals:
        rows = zip(self.values[name], self.slopes[name], strict=True)
        values, slopes = zip(*(self.dot(row, x) for row in rows), strict=True)
        y = (list(values), list(slopes))
        return (
            self.plus(y, self.column(f"{name} bias", 0, len(values))) if f"{name} bias" in self.values else y
        )

    def norm(self, name: str, norm: dict[str, Any], x: Duals, start: int = 0) -> Duals:
        p, length = self.p, len(x[0])
        part = pow(length, -1, p)
        if norm["kind"] == "layer":
            mean = sum(x[0]) * part % p, sum(x[1]) * part % p
            x = [v - mean[0] for v in x[0]], [d - mean[1] for d in x[1]]
        square, slope = self.dot(x, x)
        square = (square * part + self.constant(norm["eps"])) % p
        inverse = pow(self.root(square), -1, p)
        x = self.times(x, (inverse, -slope * part * inverse**3 * ((p + 1) // 2) % p))
        if norm["scale"]:
            scale = self.column(f"{name} scale", start, length)
            products = [v * c % p for v, c in zip(x[0], scale[0], strict=True)]
            x = products, [(v * dc + d * c) % p for v, d, c, dc in zip(*x, *scale, strict=True)]
        return self.plus(x, self.column(f"{name} shift", start, length)) if norm["shift"] else x

    # the layer

    def latent(self, name: str, latent: dict[str, Any] | None, x: Duals) -> Duals:
        if latent is None:
            return x
        x = self.linear(f"{name} down", x)
        return self.norm(f"{name} latent", latent["norm"], x) if latent["norm"] else x

    def heads(self, name: str, x: Duals, heads: int) -> list[Duals]:
        """The parts of the heads, normed."""
        norm, length = self.s["query_key_norm"], len(x[0]) // heads
        if norm and norm["scope"] == "width":
            x = self.norm(f"{name} norm", norm, x)
        parts = [(x[0][k : k + length], x[1][k : k + length]) for k in range(0, heads * length, length)]
        if not norm or norm["scope"] == "width":
            return parts
        apart = length if norm["scope"] == "separate" else 0
        return [self.norm(f"{name} norm", norm, part, k * apart) for k, part in enumerate(parts)]

    def rotated(self, x: Duals, position: int) -> Duals:
        if not self.pairs:
            return x
        found = (x[0][:], x[1][:])
        for old, new in zip(x, found, strict=True):
            for (i, j), (c, s) in zip(self.pairs, self.turns[position], strict=True):
                new[i], new[j] = (c * old[i] - s * old[j]) % self.p, (s * old[i] + c * old[j]) % self.p
        return found

    def query(self, x: Duals, position: int) -> list[Duals]:
        x = self.linear("query", self.latent("query", self.s["query_latent"], x))
        return [self.rotated(q, position) for q in self.heads("query", x, self.s["query_heads"])]

    def key_and_value(self, x: Duals, position: int) -> tuple[list[Duals], list[Duals]]:
        s, inner = self.s, self.latent("key/value", self.s["key_value_latent"], x)
        if s["shared"]:
            own = self.heads("key", self.linear("key", inner), s["groups"]) if "key" in self.shapes else []
            shared = self.linear("rotated key", x)
            keys = [(shared[0] + k[0], shared[1] + k[1]) for k in own] or [shared] * s["groups"]
        else:
            keys = self.heads("key", self.linear(s["key"], inner), s["groups"])
        values = self.linear(s["value"], inner)
        C = s["value_size"]
        parts = [(values[0][k : k + C], values[1][k : k + C]) for k in range(0, s["groups"] * C, C)]
        return [self.rotated(k, position) for k in keys], parts

    def read(self, sequence: int, positions: list[int]) -> Iterator[tuple[int, list[Duals], Any, Any]]:
        """Queries at positions of a sequence, with the keys and values of all tokens they may see."""
        own, other = (
            self.tokens[sequence][: self.sizes[sequence][0]],
            self.tokens[sequence][self.sizes[sequence][0] :],
        )
        if self.s["norm_before"]:
            own = [self.norm("before", self.s["norm_before"], x) for x in own]
        both = [self.key_and_value(x, j) for j, x in enumerate(other or own)]
        for i in positions:
            yield i, self.query(own[i], i), [k for k, _ in both], [v for _, v in both]

    def visible(self, i: int, keys: int) -> list[int]:
        first = 0 if self.s["window"] is None else max(0, i - self.s["window"] + 1)
        last = keys if self.s["window"] is None else min(keys, i + self.s["window"])
        return list(range(first, min(last, i + 1) if self.s["causal"] else last))

    def raw(self, i: int, queries: list[Duals], keys: list[list[Duals]]) -> list[list[Dual]]:
        """Scores of each head with each key seen from a position, before capping and offsets."""
        s, p, c = self.s, self.p, self.factor
        found = []
        for h in range(s["heads"]):
            query, group = queries[h * s["query_heads"] // s["heads"]], h * s["groups"] // s["heads"]
            row = [self.dot(query, keys[j][group]) for j in self.visible(i, len(keys))]
            found.append([(x * c % p, d * c % p) for x, d in row] if c != 1 else row)
        return found

    def scores(self, at: tuple[int, int], queries: list[Duals], keys: list[list[Duals]]) -> list[list[Dual]]:
        """What stands in the exponentials."""
        s, p, i = self.s, self.p, at[1]
        rows = self.raw(i, queries, keys)
        distances = [j - i for j in self.visible(i, len(keys))]
        if s["soft_cap"] is not None:
            rows = [self.capped(row, powers) for row, powers in zip(rows, self.power(at, "cap"), strict=True)]
        if s["alibi"]:
            for h, row in enumerate(rows):
                rows[h] = [(x + self.offsets[h] * t, d) for (x, d), t in zip(row, distances, strict=True)]
        if s["relative_bias"]:
            places = [bucket(s["relative_bias"], t) for t in distances]
            for h, row in enumerate(rows):
                table, slopes = self.values["relative bias"][h], self.slopes["relative bias"][h]
                rows[h] = [(x + table[b], d + slopes[b]) for (x, d), b in zip(row, places, strict=True)]
        return [[(x % p, d % p) for x, d in row] for row in rows]

    def capped(self, row: list[Dual], powers: list[int]) -> list[Dual]:
        """c tanh(s/c) = c - 2c/(e^(2s/c) + 1), from the values of e^(2s/c)."""
        c, found = self.constant(self.s["soft_cap"]), []
        for (_, d), power in zip(row, powers, strict=True):
            inverse = self.inverse((power + 1) % self.p)
            found.append((c - 2 * c * inverse, 4 * power * inverse * inverse * d))
        return found

    def power(self, at: tuple[int, int], place: str) -> list[list[int]]:
        """The values of exp at a position, head by head, from the exponents modulo the next prime."""
        if self.next is None:
            refuse("primes", "one is missing")
        if (*at, place) not in self.powers:
            exponents = self.next.exponents(at, place)
            self.powers[*at, place] = [[pow(4, x, self.p) for x in row] for row in exponents]
        return self.powers[*at, place]

    def exponents(self, at: tuple[int, int], place: str) -> list[list[int]]:
        """What stands in an exponential at a position, head by head, modulo this prime."""
        if place == "sink":
            return self.values["sinks"]
        sequence, i = at
        if sequence not in self.seen:
            everywhere = list(range(self.sizes[sequence][0]))
            self.seen = {sequence: {k: (q, keys) for k, q, keys, _ in self.read(sequence, everywhere)}}
        queries, keys = self.seen[sequence][i]
        if place == "score":
            return [[x for x, _ in row] for row in self.scores(at, queries, keys)]
        twice = self.constant(2 / self.s["soft_cap"])
        return [[x * twice % self.p for x, _ in row] for row in self.raw(i, queries, keys)]

    def output(self, at: tuple[int, int], queries: list[Duals], keys: Any, values: Any) -> Duals:
        s, p = self.s, self.p
        seen = self.visible(at[1], len(keys))
        mixed: Duals = ([], [])
        powers = self.power(at, "score")
        for h, row in enumerate(self.scores(at, queries, keys)):
            weights = powers[h], [w * d % p for w, (_, d) in zip(powers[h], row, strict=True)]
            below = sum(weights[0]), sum(weights[1])
            if s["sinks"] == "learned":
                sink = self.power(at, "sink")[h][0]
                below = below[0] + sink, below[1] + sink * self.slopes["sinks"][h][0]
            elif s["sinks"] == "one":
                below = below[0] + 1, below[1]
            inverse = self.inverse(below[0] % p)
            group = h * s["groups"] // s["heads"]
            read = [values[j][group] for j in seen]
            for k in range(s["value_size"]):
                total = self.dot(weights, ([v[0][k] for v in read], [v[1][k] for v in read]))
                mixed[0].append(total[0] * inverse % p)
                mixed[1].append((total[1] - mixed[0][-1] * below[1]) * inverse % p)
        y = self.linear("output", mixed)
        return self.norm("after", s["norm_after"], y) if s["norm_after"] else y

    def derivatives(self, direction: list[int], positions: list[int]) -> dict[int, list[int]]:
        """The derivatives of the outputs at positions, counted over all sequences, along a direction."""
        self.slopes = self.cut(direction)
        found, start = {}, 0
        for sequence, (n, _) in enumerate(self.sizes):
            here = [k - start for k in positions if start <= k < start + n]
            for i, queries, keys, values in self.read(sequence, here) if here else ():
                found[start + i] = self.output((sequence, i), queries, keys, values)[1]
            start += n
        return found
