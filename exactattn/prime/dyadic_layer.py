"""A layer of a trained model as the black box of the prime-field engine.

Stored weights are binary floats, so W_QᵀW_K and its bias row are integers N_h times one power of 2, and so
are v_h, one row of W_O W_V or a combination of rows, and the constant. Scores are N_h-forms times a unit
2^−f · √(scale²), a non-zero algebraic number; t = exp(unit) is transcendental (Lindemann and Weierstrass), so
that t ↦ g mod p is a specialisation and what does not vanish there does not vanish for the trained layer
(theory, section 2). A factor 1/√D stays a symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from flint import fmpq, fmpz_mat
from numpy.typing import NDArray

from exactattn.checkpoint import AttentionWeights, Dyadic
from exactattn.exceptions import InputError
from exactattn.prime.field import PrimeField
from exactattn.prime.layer import PrimeLayer

__all__ = ["DyadicLayer", "trained_layer"]

Integers = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class DyadicLayer:
    """H heads of integers: ``W`` (H, rows, d), the query bias first if there is one, ``v`` (H, d) and a
    ``constant``. Scores are those of W times 2^``score_exponent`` times the square root of
    ``scale_squared``; outputs are those of v and the constant times 2^``value_exponent``.

    >>> layer = DyadicLayer(np.array([[[3]]], object), np.array([[-1]], object), 0, -1, 0, fmpq(1))
    >>> layer.modulo(PrimeField()).W.tolist(), layer.score_bits, layer.value_bits
    ([[[3]]], 2, 1)
    """

    W: Integers
    v: Integers
    constant: int
    score_exponent: int
    value_exponent: int
    scale_squared: fmpq

    def modulo(self, field: PrimeField) -> PrimeLayer:
        """The specialised layer: N_h modulo p − 1, v and the constant modulo p."""
        W = (self.W % field.order).astype(np.int64)
        v = (self.v % field.prime).astype(np.int64)
        return PrimeLayer(field, W, v, self.constant % field.prime)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the integers, the units and the factor on scores."""
        numbers = [*self.W.ravel(), *self.v.ravel(), self.constant]
        facts = (self.W.shape, self.score_exponent, self.value_exponent, self.scale_squared)
        text = f"{facts} " + " ".join(f"{int(x):x}" for x in numbers)
        return sha256(text.encode("ascii")).hexdigest()

    @property
    def bias(self) -> bool:
        """Whether there is a query bias or a constant."""
        return bool(self.W.shape[1] > self.W.shape[2])

    @property
    def score_bits(self) -> int:
        """Bits of the largest |entry| of W."""
        return _bits(self.W)

    @property
    def value_bits(self) -> int:
        """Bits of the largest of |v| and |constant|."""
        return max(_bits(self.v), abs(self.constant).bit_length())


def _bits(numbers: Integers) -> int:
    return int(np.abs(numbers).max(initial=0)).bit_length()


def trained_layer(weights: AttentionWeights, readout: Sequence[int]) -> DyadicLayer:
    """The attention layer of a checkpoint with one output: the combination ``readout`` (E integers) of its
    coordinates; a unit vector for one of them.

    Raises InputError where scores are no bilinear form of two tokens alone (rotations, query/key norms,
    relative positions) or softmax has sinks or soft caps.
    """
    spec = weights.spec
    obstacles = {
        "rotations": spec.rotated,
        "query or key norms": spec.query_key_norm is not None,
        "attention sinks": spec.sinks is not None,
        "soft-capped scores": spec.soft_cap is not None,
        "position biases": spec.alibi or spec.relative_bias is not None,
        "latents": spec.query_latent is not None or spec.key_value_latent is not None,
        "another source of keys": spec.source_width is not None,
    }
    found = [name for name, present in obstacles.items() if present]
    if found:
        raise InputError(
            f"layer {weights.layer} has {' and '.join(found)}; value queries recover layers whose scores are "
            "a bilinear form of two tokens",
            field=weights.name,
        )
    if len(readout) != spec.width:
        raise InputError(
            f"has {len(readout)} entries, but the layer has {spec.width} outputs", field="readout"
        )
    row = fmpz_mat(1, spec.width, list(readout))
    forms, values, shifts = [], [], []
    for h in range(spec.heads):
        head = weights.head(h)
        query, key = Dyadic.of(head.query), Dyadic.of(head.key)
        form = query.T @ key
        if spec.query_bias and head.query_bias is not None:
            bias = Dyadic.of(head.query_bias).T @ key
        else:
            bias = Dyadic(fmpz_mat(1, spec.width), 0)
        forms.append((bias, form))
        out = Dyadic(row, 0) @ Dyadic.of(head.output)
        values.append(out @ Dyadic.of(head.value))
        if head.value_bias is not None:
            shifts.append(out @ Dyadic.of(head.value_bias))
    if "output bias" in weights.parameters:
        shifts.append(Dyadic(row, 0) @ Dyadic.of(weights.parameters["output bias"]))
    biased = spec.query_bias or bool(shifts)
    parts = [part for pair in forms for part in pair if not _is_zero(part)]
    score_exponent = min((part.exponent for part in parts), default=0)
    value_exponent = min((x.exponent for x in [*values, *shifts] if not _is_zero(x)), default=0)
    W = [np.concatenate([_integers(x, score_exponent) for x in pair[0 if biased else 1 :]]) for pair in forms]
    v = [_integers(x, value_exponent)[0] for x in values]
    constant = sum(int(_integers(x, value_exponent)[0, 0]) for x in shifts)
    scale = spec.score_scale_squared
    return DyadicLayer(np.array(W), np.array(v), constant, score_exponent, value_exponent, scale)


def _is_zero(x: Dyadic) -> bool:
    return not any(x.integers.entries())


def _integers(x: Dyadic, exponent: int) -> Integers:
    """The matrix in units of 2^exponent."""
    factor = 1 << (x.exponent - exponent) if not _is_zero(x) else 1
    entries = [int(e) * factor for e in x.integers.entries()]
    return np.array(entries, dtype=object).reshape(x.shape)
