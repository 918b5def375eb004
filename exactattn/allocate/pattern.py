"""The least head size with which a head can show a given attention pattern.

A positive row-stochastic n×n matrix P is softmax(Q Kᵀ), row by row, with Q and K of d columns if and only if
the matrix log P, up to one constant a row, has rank at most d: softmax(S) = P says S = log P + shifts of
rows, and S = Q Kᵀ says rank S ≤ d (theory, section 10). Here the constant is fixed by making the last column
0. So d = n − 1 always suffices. Scores carry no 1/√d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from flint import fmpq, fmpz_mat
from sympy.polys.matrices import DomainMatrix

from exactattn.allocate.generic_rank import RankBounds, rank_at_logarithms
from exactattn.allocate.logarithms import log_vectors
from exactattn.exceptions import InputError
from exactattn.numbers import Matrix, rational_vector

__all__ = ["AttentionPattern", "HeadFactors"]

MAX_TOKENS = 256


@dataclass(frozen=True)
class HeadFactors:
    """Q (n×d) and K (n×d) with softmax(Q Kᵀ) = P: sympy expressions in logarithms of rationals."""

    query: sympy.Matrix
    key: sympy.Matrix

    @property
    def size(self) -> int:
        """d, the head size."""
        return int(self.query.cols)


@dataclass(frozen=True)
class AttentionPattern:
    """A positive row-stochastic matrix of exact rationals.

    >>> pattern = AttentionPattern.of([["2/3", "1/3"], ["1/3", "2/3"]])
    >>> pattern.head_size
    1
    >>> pattern.factors().query.T, pattern.factors().key.T
    (Matrix([[log(2), -log(2)]]), Matrix([[1, 0]]))
    """

    rows: Matrix

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> AttentionPattern:
        """From anything that :func:`~exactattn.numbers.rational` reads.

        Raises InputError for a matrix that is not square, has an entry that is not positive, or a row whose
        sum is not 1.
        """
        return cls(tuple(rational_vector(row) for row in rows))

    @classmethod
    def normalised(cls, rows: Sequence[Sequence[Any]]) -> AttentionPattern:
        """From positive weights, each row divided by its sum. Raises InputError as :meth:`of` does.

        >>> AttentionPattern.normalised([[2, 1], ["1/2", "1/2"]]).rows
        ((2/3, 1/3), (1/2, 1/2))
        """
        exact = [rational_vector(row) for row in rows]
        for i, row in enumerate(exact):
            if any(x <= 0 for x in row):
                raise InputError("has a weight that is not positive", field=f"pattern[{i}]")
        return cls(tuple(tuple(x / sum(row, fmpq(0)) for x in row) for row in exact))

    @classmethod
    def softmax(cls, exponents: Sequence[Sequence[int]], base: Any = 2) -> AttentionPattern:
        """The pattern of scores log(base) · exponents, exact: exponentials are powers of the base.

        >>> AttentionPattern.softmax([[1, 0], [0, 0]]).rows
        ((2/3, 1/3), (1/2, 1/2))
        """
        (b,) = rational_vector([base])
        return cls.normalised([[b ** int(x) for x in row] for row in exponents])

    def __post_init__(self) -> None:
        n = len(self.rows)
        if not 1 <= n <= MAX_TOKENS:
            raise InputError(f"has {n} rows; give 1 to {MAX_TOKENS}", field="pattern")
        for i, row in enumerate(self.rows):
            if len(row) != n:
                raise InputError(f"has {len(row)} entries, but there are {n} rows", field=f"pattern[{i}]")
            for j, x in enumerate(row):
                if x <= 0:
                    raise InputError(
                        f"is {x}; softmax gives positive weights only", field=f"pattern[{i}][{j}]"
                    )
            total = sum(row, fmpq(0))
            if total != 1:
                raise InputError(f"has the sum {total}, not 1; divide it by its sum", field=f"pattern[{i}]")

    @cached_property
    def _forms(self) -> tuple[tuple[fmpq, ...], list[fmpz_mat]]:
        """Generators g_k and integer matrices A_k (n×(n−1)) with log P[i,j]/P[i,n] = Σ_k A_k[i,j] log g_k."""
        n = len(self.rows)
        vectors = log_vectors([x / row[-1] for row in self.rows for x in row[:-1]])
        forms = [
            fmpz_mat(n, n - 1, [exponents[k] for exponents in vectors.exponents])
            for k in range(len(vectors.generators))
        ]
        return vectors.generators, forms

    @property
    def generators(self) -> tuple[fmpq, ...]:
        """Multiplicatively independent rationals of whose powers all ratios within rows are products."""
        return self._forms[0]

    @cached_property
    def rank(self) -> RankBounds:
        """Bounds on the least head size, with the argument for each; they meet in all known cases."""
        generators, forms = self._forms
        return rank_at_logarithms(forms, generators)

    @property
    def head_size(self) -> int:
        """The least head size. Raises CannotTell if only bounds are known (see :attr:`rank`)."""
        return self.rank.value

    def factors(self) -> HeadFactors:
        """Q and K of the least head size. Raises CannotTell if that is not known.

        With L the matrix of log ratios and L[I, J] an invertible block of full rank, Q = L[:, J] and
        K = (L[I, J]⁻¹ L[I, :])ᵀ.
        """
        generators, forms = self._forms
        d, n = self.head_size, len(self.rows)
        if d == 0:
            return HeadFactors(sympy.zeros(n, 0), sympy.zeros(n, 0))
        symbols = sympy.symbols(f"x:{len(generators)}", positive=True)
        field = sympy.QQ.frac_field(*symbols)

        def block(rows: Sequence[int], columns: Sequence[int]) -> Any:
            entries = [[_form(forms, symbols, i, j) for j in columns] for i in rows]
            return DomainMatrix.from_list_sympy(len(rows), len(columns), entries).convert_to(field)

        query = block(range(n), self.rank.columns)
        key = block(self.rank.rows, self.rank.columns).lu_solve(block(self.rank.rows, range(n - 1)))
        logs = {x: sympy.log(_sympy(g)) for x, g in zip(symbols, generators, strict=True)}
        return HeadFactors(
            query.to_Matrix().subs(logs), key.to_Matrix().T.col_join(sympy.zeros(1, d)).subs(logs)
        )


def _form(forms: Sequence[fmpz_mat], symbols: Sequence[sympy.Symbol], i: int, j: int) -> sympy.Expr:
    """One entry of the matrix of log ratios, with symbols for the logs of the generators."""
    return sympy.Add(*(int(form[i, j]) * x for form, x in zip(forms, symbols, strict=True)))


def _sympy(q: fmpq) -> sympy.Rational:
    return sympy.Rational(int(q.p), int(q.q))
