"""Certified truncation of a head: how far its output can move when singular values are dropped.

Up to one constant a row of scores, a head's scores are x̂ᵀ M y with x̂ = (x, c), c fixed, and
M = √scale² · [W_Q, b_Q/c]ᵀ W_K: the key bias, and everything else that is the same for all keys, vanishes in
the softmax. Where tokens come out of a layer norm, x = γ ⊙ n + β with |n| ≤ √E and Σ n = 0, and γ, β and
the mean are folded into the matrices. For |x̂| ≤ X and |y| ≤ Y dropping all singular values beyond the first
r moves scores by at most ε = σ_{r+1} X Y, attention by at most tanh(ε/2), and the output by at most that
times the diameter of the values (theory, section 10).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import NDArray

from exactattn.allocate.saturation import attention_bound
from exactattn.allocate.singular_values import PRECISION, SingularValues, singular_values, to_balls
from exactattn.exceptions import InputError

__all__ = ["HeadWeights", "LayerNorm", "TruncatedHead"]

Array = NDArray[Any]


@dataclass(frozen=True)
class LayerNorm:
    """Learned scale γ and shift β (E numbers each) of the layer norm that makes the tokens."""

    scale: Array
    shift: Array


@dataclass(frozen=True)
class HeadWeights:
    """One head, as floats that are exact dyadic rationals: ``query`` and ``key`` (D×E), ``query_bias`` (D),
    ``value`` (C×E), ``output`` (E×C), and the square of the factor on scores.
    """

    query: Array
    query_bias: Array
    key: Array
    value: Array
    output: Array
    scale_squared: fmpq

    @property
    def size(self) -> int:
        """D, the head size."""
        return int(self.query.shape[0])

    @property
    def width(self) -> int:
        """E, the token size."""
        return int(self.query.shape[1])


class TruncatedHead:
    """Bounds for every rank of one head, on tokens out of ``norm``, or of norm at most ``token_norm``.

    >>> import numpy as np
    >>> one, zero = np.eye(2), np.zeros(2)
    >>> head = HeadWeights(np.diag([1.0, 0.25]), zero, one, one, one, fmpq(1))
    >>> bounds = TruncatedHead(head, token_norm=fmpq(1))
    >>> [bounds.smallest_rank(fmpq(t, 100)) for t in (90, 20, 1)]
    [0, 1, 2]

    Raises InputError unless exactly one of ``norm`` and ``token_norm`` is given, and that is positive.
    """

    def __init__(
        self, weights: HeadWeights, norm: LayerNorm | None = None, token_norm: fmpq | None = None
    ) -> None:
        if (norm is None) == (token_norm is None):
            raise InputError("give the layer norm that makes the tokens, or a bound on their norm")
        if token_norm is not None and token_norm <= 0:
            raise InputError(f"must be positive, not {token_norm}", field="token norm")
        self.weights = weights
        self.norm = norm
        self.token_norm = token_norm

    @cached_property
    def key_norm(self) -> arb:
        """Y: the bound on the norm of a (normalised) token."""
        with ctx.workprec(PRECISION):
            if self.token_norm is not None:
                return arb(self.token_norm)
            return arb(self.weights.width).sqrt()

    @cached_property
    def constant(self) -> fmpq:
        """c, the last coordinate of x̂: a power of 2 near Y/4. Any c would do; this one makes X little more
        than Y and weighs the query bias by how large it can be beside a token."""
        two, quarter = fmpq(2), self.key_norm / 4
        exponent = 0
        while quarter >= two ** (exponent + 1):
            exponent += 1
        while quarter <= two**exponent:
            exponent -= 1
        return two**exponent

    @cached_property
    def query_norm(self) -> arb:
        """X, the bound on |x̂|."""
        with ctx.workprec(PRECISION):
            return (self.key_norm**2 + arb(self.constant) ** 2).sqrt()

    @cached_property
    def spectrum(self) -> SingularValues:
        """Singular values of M, and the truncations of M, whose columns act on x̂ and y."""
        head = self.weights
        with ctx.workprec(PRECISION):
            bias = arb_mat([[arb(float(x))] for x in head.query_bias.tolist()])
            if self.norm is not None:
                bias += to_balls(head.query) * arb_mat([[arb(float(x))] for x in self.norm.shift.tolist()])
            query = self._folded(head.query).tolist()
            with_bias = [[*row, b / arb(self.constant)] for row, b in zip(query, bias.entries(), strict=True)]
            return singular_values(arb_mat(with_bias), self._folded(head.key), head.scale_squared)

    @cached_property
    def diameter(self) -> arb:
        """An upper bound on the distance of two values, as seen in the layer's output."""
        with ctx.workprec(PRECISION):
            largest = singular_values(
                to_balls(self.weights.output.T), self._folded(self.weights.value), fmpq(1)
            ).tail(0)
            return (2 * largest * self.key_norm).upper()

    def score_change(self, rank: int) -> arb:
        """ε: scores move by at most this, up to a common shift; 0 for the full rank (the head as it is)."""
        with ctx.workprec(PRECISION):
            return (self.spectrum.tail(rank) * self.query_norm * self.key_norm).upper()

    def attention_change(self, rank: int) -> arb:
        """tanh(ε/2): an upper bound on the total variation between rows of attention."""
        with ctx.workprec(PRECISION):
            return attention_bound(self.score_change(rank)).upper()

    def output_change(self, rank: int) -> arb:
        """An upper bound on the Euclidean distance that the head's part of the layer's output moves."""
        with ctx.workprec(PRECISION):
            return (self.attention_change(rank) * self.diameter).upper()

    def smallest_rank(self, tolerance: fmpq, *, absolute: bool = False) -> int:
        """The smallest rank whose certified bound is at most the tolerance: a share of the diameter of the
        values, or a distance in the output if ``absolute``."""
        bound = self.output_change if absolute else self.attention_change
        return next(r for r in range(self.weights.size + 1) if bound(r) <= tolerance)

    def _folded(self, matrix: Array) -> arb_mat:
        """The matrix acting on normalised tokens: matrix · diag(γ), and rows made orthogonal to (1, …, 1),
        which changes nothing on tokens without mean."""
        balls = to_balls(matrix)
        if self.norm is None:
            return balls
        scale = [arb(float(x)) for x in self.norm.scale.tolist()]
        rows = [[x * g for x, g in zip(row, scale, strict=True)] for row in balls.tolist()]
        means = [sum(row, arb(0)) / len(row) for row in rows]
        return arb_mat([[x - mean for x in row] for row, mean in zip(rows, means, strict=True)])
