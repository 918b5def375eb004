"""A layer at a real point, in balls: true exponentials, roots, caps and angles.

An engine of its own beside the primes: it shares the evaluation of the layer with them, but no homomorphism.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from exactattn.exceptions import PrecisionExhausted
from exactattn.identify.array_numbers import BallArrays
from exactattn.identify.jacobian import read_positions
from exactattn.identify.layer import Constants, LayerRun
from exactattn.identify.parameters import Array, Parameters, join, parameter_shapes
from exactattn.identify.rank_witness import RankWitness
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.specialisation import Sizes, keeps_factor
from exactattn.identify.symmetries import gauge_tangents
from exactattn.identify.tape import Node

__all__ = ["RealPoint", "confirmed_in_balls"]

MOST_BITS = 4096
FINE = 1 << 16


@dataclass(frozen=True)
class RealPoint:
    """Rational parameters and tokens of a layer, drawn from a seed, and its value and derivatives there.

    Values hold at the precision of the context of python-flint. Angles without a base are drawn too. The
    factor on scores counts as absorbed where queries can absorb it.
    """

    spec: AttentionSpec
    sizes: Sizes
    seed: int = 1

    @cached_property
    def parameters(self) -> Parameters:
        """Rationals up to 3/2; scales are positive."""
        source = random.Random(f"parameters {self.seed}")
        return {
            name: _drawn(source, shape, positive=name.endswith("scale"))
            for name, shape in parameter_shapes(self.spec).items()
        }

    @cached_property
    def tokens(self) -> list[tuple[Array, Array | None]]:
        """The sequences, and the other ones of cross-attention."""
        source = random.Random(f"tokens {self.seed}")
        width, other = self.spec.width, self.spec.key_width
        return [
            (_drawn(source, (n, width)), _drawn(source, (m, other)) if m else None) for n, m in self.sizes
        ]

    def constants(self, longest: int) -> Constants:
        """Cosines and sines of true angles, published ALiBi slopes, the factor on scores."""
        spec, planes = self.spec, self.spec.rotated // 2
        base = spec.rotary.base if spec.rotary is not None and spec.rotary.rule is None else None
        source = random.Random(f"angles {self.seed}")
        drawn = [fmpq(source.randrange(1, 1 << 20), 1 << 19) for _ in range(planes)]
        steps = [
            arb(base) ** arb(fmpq(-k, planes)) if base is not None else arb(drawn[k]) for k in range(planes)
        ]
        turns = [[arb(i) * step for step in steps] for i in range(longest)]
        power = 1 << (spec.heads.bit_length() - 1)
        exponents = [fmpq(-8 * (h + 1), power) for h in range(power)]
        exponents += [fmpq(-4 * (2 * h + 1), power) for h in range(spec.heads - power)]
        shape = (longest, planes)
        return Constants(
            _objects([x.cos() for row in turns for x in row], shape),
            _objects([x.sin() for row in turns for x in row], shape),
            _objects([arb(2) ** arb(x) if spec.alibi else arb(0) for x in exponents], (spec.heads,)),
            arb(spec.score_scale_squared).sqrt() if keeps_factor(spec) else arb(1),
        )

    def outputs(
        self, index: int, read: Sequence[int], parameters: Parameters | None = None
    ) -> tuple[LayerRun, Node]:
        """The outputs of one sequence at some positions, with these or the drawn parameters."""
        tokens, source = self.tokens[index]
        values = {name: _balls(x) for name, x in (parameters or self.parameters).items()}
        run = LayerRun(self.spec, BallArrays(), values, self.constants(max(self.sizes[index])), _exp)
        outputs = run.outputs(_balls(tokens), None if source is None else _balls(source), read)
        return run, run.normed(outputs)

    def jacobian(self, numbers: Sequence[int]) -> Array:
        """The rows of these numbers (as in :class:`~exactattn.identify.jacobian.JacobianRows`)."""
        width, rows, before = self.spec.width, [], 0
        for index, (n, _) in enumerate(self.sizes):
            here = [k for k in numbers if before * width <= k < (before + n) * width]
            if here:
                read = read_positions(n)
                run, outputs = self.outputs(index, read)
                cotangents = BallArrays().zeros((len(here), len(read), width))
                for k, number in enumerate(here):
                    position, coordinate = divmod(number - before * width, width)
                    cotangents[k, read.index(position), coordinate] = arb(1)
                parts = run.tape.pull_back(outputs, cotangents, list(run.leaves.values()))
                named = dict(zip(run.leaves, parts, strict=True))
                rows.append(join(named, parameter_shapes(self.spec), lead=1))
            before += n
        return np.concatenate(rows)

    def tangents(self) -> Array:
        """All tangents of symmetries, one a row, exact."""
        found = list(gauge_tangents(self.spec, self.parameters))
        total = sum(x.size for x in self.parameters.values())
        dense = np.full((len(found), total), fmpq(0), dtype=object)
        for k, tangent in enumerate(found):
            for at, x in tangent.entries.items():
                dense[k, at] = x
        return dense


def confirmed_in_balls(witness: RankWitness, *, seed: int = 1, bits: int = 128) -> bool:
    """Whether rows and tangents of a witness are independent at a real point too: interval elimination.

    That proves the same bounds without any prime. Precision doubles until it suffices; raises
    PrecisionExhausted beyond 4096 bits.

    >>> from exactattn.identify.rank_witness import rank_witness
    >>> confirmed_in_balls(rank_witness(AttentionSpec.of(width=2, heads=1)))
    True
    """
    kept = [k for k in range(len(witness.tangents)) if k not in set(witness.left_out)]
    while bits <= MOST_BITS:
        with ctx.workprec(bits):
            point = RealPoint(witness.point.spec, witness.point.sizes, seed)
            unit = np.array(
                [[arb(j == k) for j in range(witness.parameters)] for k in witness.open], dtype=object
            )
            rows = [*point.jacobian(witness.rows), *_balls(point.tangents()[kept]), *unit]
            if invertible(arb_mat([list(row) for row in rows])):
                return True
        bits *= 2
    raise PrecisionExhausted(f"{MOST_BITS} bits do not show that rows and tangents are independent")


def invertible(matrix: arb_mat) -> bool:
    """Whether every matrix in a matrix of balls is certainly invertible; False if it cannot be told."""
    try:
        matrix.inv()
    except ZeroDivisionError:
        return False
    return True


def _drawn(source: random.Random, shape: tuple[int, ...], positive: bool = False) -> Array:
    count = int(np.prod(shape))
    # fine enough that products of scales do not coincide: equal ones would be a symmetry of this point alone
    low = FINE // 2 if positive else -3 * FINE // 2
    return _objects([fmpq(source.randint(low, 3 * FINE // 2), FINE) for _ in range(count)], shape)


def _objects(entries: list[fmpq] | list[arb], shape: tuple[int, ...]) -> Array:
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made.reshape(shape)


def _balls(x: Array) -> Array:
    return _objects([arb(entry) for entry in x.flat], x.shape)


def _exp(_: str, exponents: Array) -> Array:
    return _objects([x.exp() for x in exponents.flat], exponents.shape)
