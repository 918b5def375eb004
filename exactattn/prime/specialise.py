"""A layer with rational parameters, specialised to a prime field."""

from __future__ import annotations

import numpy as np

from exactattn.exceptions import InputError
from exactattn.model.affine import AffineAttention
from exactattn.model.heads import Attention
from exactattn.numbers import common_denominator
from exactattn.prime.field import PrimeField
from exactattn.prime.layer import PrimeLayer

__all__ = ["specialised"]


def specialised(layer: Attention | AffineAttention, field: PrimeField) -> tuple[PrimeLayer, int]:
    """D W_h modulo p − 1 and v_h modulo p, and D, the common denominator of all W (theory, section 2: t =
    e^{1/D} goes to g, so that exp(s) = g^{D s} for integral tokens).

    Raises InputError if a denominator of some v vanishes modulo p.

    >>> from exactattn.model import Head
    >>> found, D = specialised(Attention.of([Head.of([["1/2"]], [3])]), PrimeField())
    >>> found.W.tolist(), found.v.tolist(), D
    ([[[1]]], [[3]], 2)
    """
    if not layer.heads:
        raise InputError(
            "a layer without heads has no specialisation; give it a head with v = 0", field="heads"
        )
    D = common_denominator([x for head in layer.heads for row in head.W for x in row])
    n, p = field.order, field.prime

    def residue(numerator: int, denominator: int) -> int:
        if denominator % p == 0:
            raise InputError(f"a denominator vanishes modulo {p}; choose another prime", field="v")
        return numerator * pow(denominator, -1, p) % p

    W = [[[int((x * D).p) % n for x in row] for row in head.W] for head in layer.heads]
    v = [[residue(int(x.p), int(x.q)) for x in head.v] for head in layer.heads]
    constant = 0
    if isinstance(layer, AffineAttention):
        constant = residue(int(layer.constant.p), int(layer.constant.q))
    return PrimeLayer(field, np.array(W, dtype=np.int64), np.array(v, dtype=np.int64), constant), D
