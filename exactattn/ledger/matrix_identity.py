"""Identities between matrix expressions with symbolic sizes, checked for all sizes at once.

Matrices become non-commuting letters (transposes their own letters, products reversed by transposition), the
difference of both sides is expanded, and relations such as Qᵀ Q = 1 are applied until nothing changes. What
is left must be 0. Shapes are compared on the way, so that only products that exist are formed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import sympy
from sympy.matrices.expressions import (
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixExpr,
    MatrixSymbol,
    Transpose,
    ZeroMatrix,
)

from exactattn.exceptions import InputError
from exactattn.ledger.exact import require_exact
from exactattn.ledger.step import Step

__all__ = ["matrix_equal", "trace_equal"]

MAX_ROUNDS = 10


def matrix_equal(
    says: str,
    left: MatrixExpr,
    right: MatrixExpr,
    using: Mapping[MatrixExpr, MatrixExpr] | None = None,
    symmetric: Collection[MatrixSymbol] = (),
) -> Step:
    """Both sides are equal for all sizes, given the relations ``using`` (a product equals an expression; the
    transposed relations are added) and the ``symmetric`` matrices.

    >>> n = sympy.Symbol("n", integer=True, positive=True)
    >>> S, A = MatrixSymbol("S", n, n), MatrixSymbol("A", n, n)
    >>> matrix_equal("a change of basis cancels", (S * A).T * (S.I.T * A), A.T * A).holds
    True
    """
    algebra = _Algebra(using or {}, symmetric)
    if not _same(left.shape, right.shape):
        raise InputError(f"the sides have shapes {left.shape} and {right.shape}", field=says)
    remainder = algebra.reduced(algebra.letters(left) - algebra.letters(right))
    return _step(says, remainder, f"{left} = {right}", algebra)


def trace_equal(
    says: str,
    left: Sequence[MatrixExpr] | MatrixExpr,
    right: Sequence[MatrixExpr] | MatrixExpr,
    using: Mapping[MatrixExpr, MatrixExpr] | None = None,
    symmetric: Collection[MatrixSymbol] = (),
) -> Step:
    """The traces of both sides are equal for all sizes; a list of expressions (of any square shapes) stands
    for the sum of their traces.

    >>> n, m = sympy.symbols("n m", integer=True, positive=True)
    >>> A, B = MatrixSymbol("A", n, m), MatrixSymbol("B", m, n)
    >>> trace_equal("cyclic", A * B, B * A).holds
    True
    """
    algebra = _Algebra(using or {}, symmetric)
    sides, texts = [], []
    for side in (left, right):
        parts = [side] if isinstance(side, MatrixExpr) else list(side)
        if any(not _same((part.rows,), (part.cols,)) for part in parts):
            raise InputError("a trace needs square matrices", field=says)
        traces = [algebra.cyclic(algebra.reduced(algebra.letters(part))) for part in parts]
        sides.append(sum(traces, sympy.S.Zero))
        texts.append(" + ".join(f"tr({part})" for part in parts))
    return _step(says, sympy.expand(sides[0] - sides[1]), f"{texts[0]} = {texts[1]}", algebra)


def _step(says: str, remainder: Any, detail: str, algebra: _Algebra) -> Step:
    zero = bool(remainder == 0)
    given = f", using {'; '.join(algebra.texts)}" if algebra.texts else ""
    left_over = "" if zero else f"; remainder {remainder}"
    return Step(says, zero, "matrix identity for all sizes", f"{detail}{given}{left_over}")


def _same(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return all(sympy.simplify(a - b) == 0 for a, b in zip(left, right, strict=True))


class _Algebra:
    """Letters, relations and rewriting of one identity."""

    def __init__(self, using: Mapping[MatrixExpr, MatrixExpr], symmetric: Collection[MatrixSymbol]) -> None:
        self.symmetric = {matrix.name for matrix in symmetric}
        self.texts = [f"{a} = {b}" for a, b in using.items()] + [
            f"{m}ᵀ = {m}" for m in sorted(self.symmetric)
        ]
        self.rules: list[tuple[Any, Any]] = []
        for a, b in using.items():
            if not _same(a.shape, b.shape):
                raise InputError(f"the relation {a} = {b} has shapes {a.shape} and {b.shape}")
            for x, y in ((a, b), (a.T, b.T)):
                rule = (self.letters(x), self.letters(y))
                if rule not in self.rules:
                    self.rules.append(rule)

    def letters(self, expression: MatrixExpr, transposed: bool = False) -> Any:
        """The expression (or its transpose) as a polynomial in non-commuting letters."""
        require_exact(expression)
        if isinstance(expression, MatrixSymbol):
            mark = "ᵀ" if transposed and expression.name not in self.symmetric else ""
            return sympy.Symbol(expression.name + mark, commutative=False)
        if isinstance(expression, Identity):
            return sympy.S.One
        if isinstance(expression, ZeroMatrix):
            return sympy.S.Zero
        if isinstance(expression, Transpose):
            return self.letters(expression.arg, not transposed)
        if isinstance(expression, Inverse):
            inner = self.letters(expression.arg, transposed)
            if not isinstance(inner, sympy.Symbol):
                raise InputError(f"name the inverse of {expression.arg} by a letter and a relation")
            return inner**-1
        if isinstance(expression, MatPow) and expression.exp.is_Integer and expression.exp > 0:
            return self.letters(expression.base, transposed) ** expression.exp
        if isinstance(expression, MatAdd):
            for part in expression.args:
                if not _same(part.shape, expression.shape):
                    raise InputError(f"{expression} adds shapes {part.shape} and {expression.shape}")
            return sum((self.letters(part, transposed) for part in expression.args), sympy.S.Zero)
        if isinstance(expression, MatMul):
            return self._product(expression, transposed)
        raise InputError(f"{type(expression).__name__} is not a product, sum, transpose or inverse")

    def _product(self, product: MatMul, transposed: bool) -> Any:
        scalar, factors = product.as_coeff_matrices()
        for a, b in pairwise(factors):
            if not _same((a.cols,), (b.rows,)):
                raise InputError(f"{product} multiplies {a} of {a.cols} columns with {b} of {b.rows} rows")
        result = scalar
        for factor in reversed(factors) if transposed else factors:
            result = result * self.letters(factor, transposed)
        return result

    def reduced(self, polynomial: Any) -> Any:
        """Expanded, with the relations applied until nothing changes."""
        current = sympy.expand(polynomial)
        for _ in range(MAX_ROUNDS):
            new = current
            for product, value in self.rules:
                new = sympy.expand(new.subs(product, value))
            if new == current:
                return current
            current = new
        raise InputError("the relations rewrite each other without end; turn one of them round")

    def cyclic(self, polynomial: Any) -> Any:
        """The trace: each product of letters by its first rotation, in it or its transpose."""
        total = sympy.S.Zero
        for term in sympy.Add.make_args(polynomial) if polynomial != 0 else ():
            scalars, letters = term.args_cnc()
            word = [letter for power in letters for letter in _repeated(power)]
            total += sympy.Mul(*scalars) * self._first_rotation(word)
        return total

    def _first_rotation(self, word: list[Any]) -> Any:
        if not word:
            raise InputError("the trace of a multiple of the identity depends on its size; subtract it first")
        names = [str(letter) for letter in word]
        turned = [self._transposed_name(name) for name in reversed(names)]
        rotations = [tuple(w[k:] + w[:k]) for w in (names, turned) for k in range(len(w))]
        # one commuting symbol stands for one class of rotations
        return sympy.Symbol("tr " + " ".join(min(rotations)))

    def _transposed_name(self, name: str) -> str:
        base, power, exponent = name.partition("**")
        plain = base.removesuffix("ᵀ")
        if plain == base and plain not in self.symmetric:
            plain = base + "ᵀ"
        return plain + power + exponent


def _repeated(power: Any) -> list[Any]:
    """The letters of a positive power one by one; an inverse stays one letter."""
    base, exponent = power.as_base_exp()
    return [base] * int(exponent) if exponent > 0 else [power]
