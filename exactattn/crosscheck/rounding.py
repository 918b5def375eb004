"""What floating-point numbers can do to a result, derived and not guessed: enclosures of all of them.

The standard model: an operation on floats gives the exact result times 1 + δ, |δ| ≤ u, or, where numbers get
too small, the exact result ± the smallest normal number. k roundings in any order multiply by at most
1 ± γ_k, γ_k = k u / (1 − k u), so a sum of products of n terms, added in any order and with or without fused
operations, is within γ_n Σ |x_i y_i| of the truth. Four roundings more are allowed for in every operation,
for factors, casts and copies wherever an implementation puts them. Assumed of the library: elementary
functions are within eight units in the last place.

>>> from flint import arb
>>> x = np.array([arb(1)], dtype=object)
>>> found = Rounding.of("float32").sum(x, x)[0]
>>> bool(found.contains(2)), bool(abs(found - 2).upper() < arb(2) ** -19)
(True, True)
>>> Rounding.exact().sum(x, x)[0]
2.00000000000000
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, fmpq

from exactattn.exceptions import CannotTell, InputError
from exactattn.identify.parameters import Array

__all__ = ["FORMATS", "WIDER", "Rounding", "each"]

SLACK = 4
FUNCTION = 8
WIDER = "roundings of this format can give anything here; use a wider one"

FORMATS = {"float64": (53, -1022), "float32": (24, -126), "bfloat16": (8, -126), "float16": (11, -14)}
"""Bits of a significand, and the exponent of the smallest normal number."""


def each(function: Callable[..., Any], *arrays: Array) -> Array:
    """A function of every entry, as an array of objects; shapes broadcast."""
    arrays = tuple(np.broadcast_arrays(*arrays)) if len(arrays) > 1 else arrays
    out = np.empty(arrays[0].shape, dtype=object)
    for index in np.ndindex(out.shape):
        out[index] = function(*(a[index] for a in arrays))
    return out


def _whole(x: arb) -> int:
    """An integer of at least |x|."""
    return int(x.abs_upper().ceil().fmpq().p)


def _size(x: arb) -> arb:
    return x.abs_upper()


@dataclass(frozen=True)
class Rounding:
    """Operations on arrays of balls; each result holds everything that floats of one format can give for
    numbers in the balls. With unit 0 it is exact arithmetic.

    Balls follow the precision of the context of python-flint.
    """

    unit: fmpq
    smallest: fmpq

    @classmethod
    def exact(cls) -> Rounding:
        """No rounding at all."""
        return cls(fmpq(0), fmpq(0))

    @classmethod
    def of(cls, name: str) -> Rounding:
        """A format by name. Raises InputError for an unknown one."""
        if name not in FORMATS:
            raise InputError(f"{name[:40]!r} is not a known format; use {', '.join(FORMATS)}", field="format")
        bits, exponent = FORMATS[name]
        return cls(fmpq(1, 2**bits), fmpq(1, 2**-exponent))

    def _gamma(self, roundings: int) -> arb:
        below = 1 - roundings * self.unit
        if below <= 0:
            raise CannotTell(WIDER)
        return arb(roundings * self.unit / below)

    def widened(self, x: Array, size: Array, roundings: int) -> Array:
        """x ± (γ size + a few smallest numbers), γ that of ``roundings`` and four more."""
        if self.unit == 0:
            return x
        gamma, least = self._gamma(roundings + SLACK), arb((2 * roundings + SLACK) * self.smallest)
        return each(lambda a, s: a + arb(0, (gamma * s + least).abs_upper()), x, size)

    def relative(self, x: Array, roundings: int) -> Array:
        """x times 1 ± γ."""
        return self.widened(x, each(_size, x), roundings)

    # ---- sums and products ----

    def sum(self, a: Array, b: Array) -> Array:
        """a + b."""
        return self.widened(a + b, each(lambda x, y: _size(x) + _size(y), a, b), 1)

    def product(self, a: Array, b: Array) -> Array:
        """a · b, entry by entry."""
        return self.relative(a * b, 1)

    def quotient(self, a: Array, b: Array) -> Array:
        """a / b, entry by entry."""
        return self.relative(a / b, 1)

    def matrix_product(self, a: Array, b: Array) -> Array:
        """Products of (stacks of) matrices."""
        exact = np.asarray(np.matmul(a, b), dtype=object)
        if self.unit == 0:
            return exact
        size = np.asarray(np.matmul(each(_size, a), each(_size, b)), dtype=object)
        return self.widened(exact, size, a.shape[-1])

    def total(self, a: Array, axes: tuple[int, ...], keep: bool = False) -> Array:
        """Sums over axes."""
        terms = int(np.prod([a.shape[k] for k in axes]))
        exact = np.asarray(a.sum(axis=axes, keepdims=keep), dtype=object)
        return self.widened(exact, np.asarray(each(_size, a).sum(axis=axes, keepdims=keep)), terms)

    def mean(self, a: Array, axes: tuple[int, ...], keep: bool = False) -> Array:
        """Means over axes."""
        terms = int(np.prod([a.shape[k] for k in axes]))
        return self.relative(self.total(a, axes, keep) / arb(terms), 1)

    def power(self, a: Array, exponent: float) -> Array:
        """A whole power of every entry, from 1."""
        if exponent != int(exponent) or exponent < 1:
            raise InputError(f"powers with the exponent {exponent} are not supported", field="pow")
        return self.relative(each(lambda x: x ** int(exponent), a), FUNCTION + int(exponent))

    # ---- functions ----

    def function(self, name: str, a: Array) -> Array:
        """An elementary function of every entry: exp, tanh, sqrt, rsqrt, sigmoid, silu, relu, erf."""
        if name == "relu":
            return each(lambda x: (x + abs(x)) / 2, a)
        value = each(_FUNCTIONS[name], a)
        if name in ("sigmoid", "silu", "exp"):  # the argument of exp may have been rounded
            most = max((_whole(x) for x in a.flat if x.is_finite()), default=0) if self.unit else 0
            return self.relative(value, 2 * FUNCTION + most)
        return self.relative(value, FUNCTION)

    def gelu(self, a: Array, tanh: bool) -> Array:
        """x Φ(x), or its approximation by tanh. 1 + erf and 1 + tanh cancel, so errors are relative to x."""
        return self.widened(each(_gelu_tanh if tanh else _gelu, a), each(_size, a), 4 * FUNCTION)

    def softmax(self, a: Array) -> Array:
        """Softmax over the last axis, as 1 / Σ_j exp(x_j − x_i)."""
        out = np.empty(a.shape, dtype=object)
        for index in np.ndindex(a.shape[:-1]):
            out[index] = self._softmax_row(a[index])
        return out

    def _softmax_row(self, row: Array) -> Array:
        if not all(x.is_finite() for x in row):
            return self.relative(each(lambda _: arb(1, 1) / 2, row), 2 * len(row))
        top = max((x.mid() for x in row), key=lambda x: x.fmpq())
        negligible = arb(fmpq(1, 2**1200))
        weights = [(x - top).exp() for x in row]
        seen = [j for j, w in enumerate(weights) if not w < negligible]
        shares = np.empty(len(row), dtype=object)
        for i, w in enumerate(weights):
            if i in seen:
                rest = sum(((row[j] - row[i]).exp() for j in seen if j != i), arb(1))
                # what was left out is below 2^-1100 of the sum, for rows shorter than 2^99
                shares[i] = 1 / (rest + arb(0, 1) * arb(2) ** -1100 * rest)
            else:
                shares[i] = arb(0, w.abs_upper() + negligible)
        if self.unit == 0:
            return shares
        # exp of a difference that was rounded, both for the share and for the sum
        large = [j for j in seen if not weights[j] < arb(self.smallest)]
        spread = max(_whole(row[j] - top) for j in large)
        return self.relative(shares, 2 * (spread + FUNCTION) + len(row) + 1)

    def layer_norm(self, x: Array, scale: Array | None, shift: Array | None, eps: float) -> Array:
        """Layer norm over the last axis, whichever way mean and variance are added up.

        Variances by one pass are within γ Σ x²/n of the truth, and scale and shift may be applied to x and
        to the mean separately.
        """
        n = x.shape[-1]
        mean = self.mean(x, (x.ndim - 1,), keep=True)
        exact = Rounding.exact()
        squares = exact.mean(each(lambda a: _size(a) ** 2, x), (x.ndim - 1,), keep=True)
        variance = self.widened(exact.mean((x - mean) ** 2, (x.ndim - 1,), keep=True), squares, 4 * n)
        inverse = self.function("rsqrt", self.sum(variance, np.array(arb(eps), dtype=object)))
        factor = inverse if scale is None else inverse * scale
        value = (x - mean) * factor
        size = each(lambda a, m, f: (_size(a) + _size(m)) * _size(f), x, mean, factor)
        if shift is not None:
            value, size = value + shift, size + each(_size, shift)
        return self.widened(value, size, FUNCTION)

    def attention(self, query: Array, key: Array, value: Array, factor: Any, mask: Array | None) -> Array:
        """softmax(factor · query keyᵀ + mask) value, over stacks of heads."""
        scores = self.relative(self.matrix_product(query, np.swapaxes(key, -1, -2)) * factor, 1)
        if mask is not None:
            scores = self.sum(scores, mask)
        return self.matrix_product(self.softmax(scores), value)


def _gelu(x: arb) -> arb:
    return x / 2 * (1 + (x / arb(2).sqrt()).erf())


def _gelu_tanh(x: arb) -> arb:
    inner = (arb(2) / arb.pi()).sqrt() * (x + arb(fmpq(44715, 1000000)) * x**3)
    return x / 2 * (1 + inner.tanh())


_FUNCTIONS: dict[str, Callable[[arb], arb]] = {
    "exp": lambda x: x.exp(),
    "tanh": lambda x: x.tanh(),
    "erf": lambda x: x.erf(),
    "sqrt": lambda x: x.sqrt(),
    "rsqrt": lambda x: x.rsqrt(),
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "silu": lambda x: x / (1 + (-x).exp()),
}
