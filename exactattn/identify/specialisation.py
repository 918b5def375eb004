"""A layer at a point modulo a prime: what the rank of its Jacobian there says about real layers.

**Claim.** Let J be the Jacobian of the outputs of a layer by its parameters, over real parameters θ and
inputs X (and, where stated, generic angles). Its rank modulo p at a point as below is at most the rank at
almost all real (θ, X).

*Setting.* Take θ, X (and half-angle tangents of generic angles) as indeterminates. Let A be the ring
generated over Z by them, by the inverses of the denominators that occur, and by one root y of each norm's
radicand n, y² = n. Scores and learned sinks lie in A; they span an additive group M. Outputs and their
derivatives lie in B = A[e^M] with denominators inverted, because the derivative of e^s is e^s ds: no
logarithm of a base comes in.

*B is a group ring.* Exponentials of functions that differ by more than constants are linearly independent
over algebraic functions, those of distinct algebraic numbers over algebraic numbers (Lindemann–Weierstrass);
M contains no non-zero constants but sums of ALiBi slopes, which are algebraic. So B = A[M] with formal
exponentials: every ring homomorphism A → F_p together with every group homomorphism M → F_p^× extends to B.

*Both are made by drawing points.* Values of indeterminates modulo p, drawn at will, give A → F_p once a root
of each radicand is chosen. Any choice of roots will do: in the order of computation, each radicand vanishes
simply on some hypersurface (one each for a token and a head, or for a position that is read), so going round
it changes the sign of its root and of none before it, and the roots generate an extension of full degree. For
M, draw a second point modulo a prime q with p = 2q + 1 and send e^s to 4^(s modulo q): 4 has order q, and
s ↦ s modulo q is additive on M. The two points, and the roots chosen in them, have nothing to do with each
other.

*Rank.* The homomorphism sends the entries of J to what differentiation modulo p computes, so minors go to
minors, and a minor that is not 0 modulo p is not the zero function.

*Capped scores* c·tanh(s/c) = c − 2c/(e^(2s/c) + 1) are made from B in the same way once more: near the points
where e^(2s/c) = −1 their combinations have poles, so their exponentials have essential singularities there
and satisfy no relation over B. The value of e^(2s/c) modulo q is 4^(2s/c modulo l), q = 2l + 1.

*True rotary angles* b^(−2i/R), b rational, are algebraic; e^(i·angle) are algebraically independent as far as
the angles are linearly independent over Q, and β = b^(−2/R) has degree d, the least with β^d rational. So
z_0, …, z_{d−1} are drawn from the circle modulo p and the other planes are their powers. ALiBi slopes, powers
of 2^(−4/H'), likewise.

*The factor on scores* is absorbed by the query projection, or by the scales of the query norm. Where neither
exists its square must have a root modulo the primes, which is one more element of A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from exactattn.exceptions import CertificateError
from exactattn.identify.array_numbers import ResidueArrays
from exactattn.identify.layer import Constants, LayerRun
from exactattn.identify.parameters import Array, Parameters, parameter_count, parameter_shapes, split
from exactattn.identify.relations import alibi_steps, independent_powers
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.tape import Node

__all__ = ["CHAINS", "Point", "Sizes", "draw", "prime_chain"]

Sizes = tuple[tuple[int, int], ...]
"""Lengths of sequences: of the layer's own one, and of the other one (0 without cross-attention)."""

CHAINS = (
    (2147438927, 1073719463, 536859731),
    (2147438687, 1073719343, 536859671),
    (2147424047, 1073712023, 536856011),
    (2147365919, 1073682959, 536841479),
    (2147335679, 1073667839, 536833919),
    (2147325647, 1073662823, 536831411),
    (2147311919, 1073655959, 536827979),
    (2147289359, 1073644679, 536822339),
)
"""Primes p = 2q + 1, q = 2l + 1 and l, all 3 modulo 4."""

MOST_VERSIONS = 1 << 16


def draw(seed: int, prime: int, name: str, count: int) -> Array:
    """``count`` residues: SHA-256 digests of "exactattn rank 1|seed|prime|name|k" modulo the prime.

    >>> draw(1, 2147454839, "parameter", 2).tolist() == draw(1, 2147454839, "parameter", 3).tolist()[:2]
    True
    """
    head = f"exactattn rank 1|{seed}|{prime}|{name}|"
    digests = (sha256(f"{head}{k}".encode("ascii")).digest() for k in range(count))
    return np.array([int.from_bytes(digest, "big") % prime for digest in digests], dtype=np.int64)


def keeps_factor(spec: AttentionSpec) -> bool:
    """Whether no parameter absorbs the factor on the scores."""
    return spec.query_key_norm is not None and not spec.query_key_norm.norm.scale


def prime_chain(spec: AttentionSpec) -> tuple[int, ...]:
    """The primes for a layer: p and q, and l where scores are capped."""
    depth = 2 if spec.soft_cap is None else 3
    square = spec.score_scale_squared
    for chain in CHAINS:
        primes = chain[:depth]
        images = [int(square.p) * pow(int(square.q), -1, p) % p for p in primes]
        if not keeps_factor(spec) or all(
            pow(x, (p - 1) // 2, p) == 1 for x, p in zip(images, primes, strict=True)
        ):
            return primes
    raise CertificateError(f"the factor on scores, of square {square}, has no root modulo any known primes")


@dataclass(frozen=True)
class Point:
    """A layer and input sequences at a point modulo p, with what gives exponentials their values.

    ``versions``: for each prime and token, how much is added to the first entry of the drawn token, so that
    every norm has a root. Raises NoRoot or ZeroDivisionError on evaluation if it is not such a point.
    """

    spec: AttentionSpec
    seed: int
    primes: tuple[int, ...]
    sizes: Sizes
    versions: tuple[tuple[int, ...], ...]

    @classmethod
    def draw(cls, spec: AttentionSpec, seed: int, sizes: Sizes) -> Point:
        """A point of the seed; versions of tokens are searched for."""
        primes = prime_chain(spec)
        blank = cls(spec, seed, primes, sizes, ())
        levels = [_Level(spec, seed, prime) for prime in primes]
        found = tuple(tuple(level.version(k, own) for k, own in blank.tokens()) for level in levels)
        return cls(spec, seed, primes, sizes, found)

    def tokens(self) -> list[tuple[int, bool]]:
        """Number of each token, and whether it belongs to the layer's own sequence."""
        own = [kind for n, m in self.sizes for kind in [True] * n + [False] * m]
        return list(enumerate(own))

    @cached_property
    def levels(self) -> tuple[_Level, ...]:
        """The point modulo each prime."""
        return tuple(_Level(self.spec, self.seed, prime) for prime in self.primes)

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters modulo p."""
        return self.levels[0].parameters

    @property
    def numbers(self) -> ResidueArrays:
        """Residues modulo p."""
        return self.levels[0].numbers

    def _sequence(self, level: int, index: int) -> tuple[Array, Array | None]:
        start = sum(n + m for n, m in self.sizes[:index])
        n, m = self.sizes[index]
        made = [
            self.levels[level].token(k, own, self.versions[level][k])
            for k, own in self.tokens()[start : start + n + m]
        ]
        return np.stack(made[:n]), (np.stack(made[n:]) if m else None)

    def _run(self, level: int, index: int, read: Sequence[int]) -> LayerRun:
        deeper = self._exponents(level + 1, index, read) if level + 1 < len(self.primes) else {}
        here = self.levels[level]
        longest = max(self.sizes[index])
        power = lambda place, _: here.numbers.power(np.full_like(deeper[place], 4), deeper[place])  # noqa: E731
        return LayerRun(self.spec, here.numbers, here.parameters, here.constants(longest), power)

    def _exponents(self, level: int, index: int, read: Sequence[int]) -> dict[str, Array]:
        """What stands in each exponential, modulo a prime of the chain."""
        run = self._run(level, index, read)
        queries, keys, _ = run.project(*self._sequence(level, index), read)
        exponents = run.score_exponents(queries, keys)
        found = {}
        if self.spec.soft_cap is not None:
            found["cap"] = exponents.value
            if level + 1 == len(self.primes):
                return found
            exponents = run.capped(exponents)
        found["score"] = run.with_offsets(exponents, read).value
        if "sinks" in run.leaves:
            found["sink"] = run.leaves["sinks"].value
        return found

    def outputs(self, index: int, read: Sequence[int]) -> tuple[LayerRun, Node, list[int]]:
        """Outputs of one sequence modulo p, at the positions where a norm after the layer has a root."""
        run = self._run(0, index, read)
        outputs = run.outputs(*self._sequence(0, index), read)
        kept = list(range(len(read)))
        if self.spec.norm_after is not None:
            trial = LayerRun(
                self.spec,
                ResidueArrays(self.primes[0], lenient=True),
                self.parameters,
                self.levels[0].constants(1),
                lambda _, x: x,
            )
            trial.normed(trial.tape.leaf(outputs.value))
            square = self.numbers.is_square(trial.radicands[0][1])[:, 0]
            kept = [k for k in kept if square[k]]
            outputs = run.normed(run.tape.take(outputs, kept)) if kept else outputs
        return run, outputs, [read[k] for k in kept]


@dataclass(frozen=True)
class _Level:
    """Parameters, tokens and constants modulo one prime of the chain."""

    spec: AttentionSpec
    seed: int
    prime: int

    @cached_property
    def numbers(self) -> ResidueArrays:
        return ResidueArrays(self.prime)

    def _draw(self, name: str, count: int) -> Array:
        return draw(self.seed, self.prime, name, count)

    @cached_property
    def parameters(self) -> Parameters:
        return split(self._draw("parameter", parameter_count(self.spec)), parameter_shapes(self.spec))

    def token(self, k: int, own: bool, version: int) -> Array:
        entries = self._draw(f"token {k}", self.spec.width if own else self.spec.key_width)
        entries[0] = (entries[0] + version) % self.prime
        return entries

    def version(self, k: int, own: bool) -> int:
        """The least version of a token whose norms all have roots."""
        spec = self.spec
        norms = (spec.norm_before, spec.query_key_norm, spec.query_latent, spec.key_value_latent)
        if all(norm is None for norm in norms):
            return 0
        tried, batch = 0, 64
        while tried < MOST_VERSIONS:
            candidates = np.repeat(self.token(k, own, 0)[None], batch, axis=0)
            candidates[:, 0] = (candidates[:, 0] + tried + np.arange(batch)) % self.prime
            good = self._rooted(candidates, own)
            if good.any():
                return tried + int(np.argmax(good))
            tried, batch = tried + batch, min(4 * batch, 4096)
        raise CertificateError("no input token was found at which all norms have roots; use fewer heads")

    def _rooted(self, candidates: Array, own: bool) -> Array:
        """Which tokens have roots for all their norms."""
        spec, numbers = self.spec, ResidueArrays(self.prime, lenient=True)
        run = LayerRun(spec, numbers, self.parameters, self.constants(len(candidates)), lambda _, x: x)
        other = self.token(0, not own, 1)[None] if spec.cross else None
        tokens, source = (candidates, other) if own else (other, candidates)
        assert tokens is not None
        run.project(tokens, source, range(len(tokens)))
        good = np.ones(len(candidates), dtype=bool)
        for name, radicand in run.radicands:
            if not spec.cross or own is (name not in ("key norm", "key/value latent")):
                good &= numbers.is_square(radicand).reshape(len(candidates), -1).all(axis=1)
        return good

    @cached_property
    def _planes(self) -> list[tuple[int, int]]:
        """Cosine and sine of one step of position, for each rotation plane."""
        rotary = self.spec.rotary
        if rotary is None:
            return []
        drawn = [self._circle(int(tangent)) for tangent in self._draw("angle", rotary.planes)]
        if rotary.base is None or rotary.rule is not None:
            return drawn
        independent, ratio = independent_powers(rotary.base, rotary.planes)
        planes = []
        for k in range(rotary.planes):
            j, steps = k % independent, k // independent
            last = (rotary.planes - 1 - j) // independent
            exponent = int(ratio.p) ** (last - steps) * int(ratio.q) ** steps
            planes.append(self._turn(drawn[j], exponent))
        return planes

    def _circle(self, tangent: int) -> tuple[int, int]:
        inverse = pow(1 + tangent * tangent, -1, self.prime)
        return (1 - tangent * tangent) * inverse % self.prime, 2 * tangent * inverse % self.prime

    def _turn(self, plane: tuple[int, int], times: int) -> tuple[int, int]:
        """Cosine and sine of a multiple of an angle; the circle has p + 1 points."""
        result, times = (1, 0), times % (self.prime + 1)
        while times:
            if times & 1:
                result = self._compose(result, plane)
            plane, times = self._compose(plane, plane), times >> 1
        return result

    def _compose(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] * b[0] - a[1] * b[1]) % self.prime, (a[0] * b[1] + a[1] * b[0]) % self.prime

    def constants(self, longest: int) -> Constants:
        """Rotations up to a position, slopes and the factor."""
        rows = [[(1, 0)] * len(self._planes)]
        while len(rows) < longest:
            rows.append([self._compose(a, b) for a, b in zip(rows[-1], self._planes, strict=True)])
        turned = np.array(rows, dtype=np.int64).reshape(len(rows), len(self._planes), 2)
        factor = self.numbers.constant(self.spec.score_scale_squared) if keeps_factor(self.spec) else 1
        root = int(self.numbers.root(np.array([factor], dtype=np.int64))[0])
        return Constants(turned[:, :, 0], turned[:, :, 1], self._slopes(), root)

    def _slopes(self) -> Array:
        """Residues for the published ALiBi slopes, keeping their linear relations over Q."""
        heads = self.spec.heads
        if not self.spec.alibi:
            return np.zeros(heads, dtype=np.int64)
        steps, independent = alibi_steps(heads)
        drawn = self._draw("slope", independent)
        half = pow(2, -1, self.prime)
        values = [int(drawn[k % independent]) * pow(half, k // independent, self.prime) for k in steps]
        return np.array([x % self.prime for x in values], dtype=np.int64)
