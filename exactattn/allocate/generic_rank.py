"""The rank of a matrix of linear forms Σ_k x_k A_k at x_k = log of a generator.

It is at most the rank for generic x, and equal to it

- for one generator (integers times one number);
- for two generators g, g': log g'/log g is transcendental (Gelfond–Schneider), so no minor that is a
  non-zero polynomial vanishes there;
- for more, once one minor of that size is enclosed away from 0 by a ball. Schanuel's conjecture says that
  this always happens; where it does not up to the allowed precision, the rank stays between two bounds.

For generic x the rank is that of one integer matrix: powers of a large integer in place of the unknowns
(Kronecker), so large that no minor that is a non-zero polynomial can vanish.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, arb_mat, ctx, fmpq, fmpz, fmpz_mat, nmod_mat

from exactattn.exceptions import CannotTell

__all__ = ["RankBounds", "rank_at_logarithms"]

MAX_BITS = 1 << 24
PRIME = (1 << 61) - 1
FIRST_PRECISION = 64


@dataclass(frozen=True)
class RankBounds:
    """lower ≤ rank ≤ upper, the argument for each, and rows and columns of a non-zero minor of size lower."""

    lower: int
    upper: int
    lower_by: str
    upper_by: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def value(self) -> int:
        """The rank. Raises CannotTell if the bounds differ."""
        if self.lower != self.upper:
            raise CannotTell(f"cannot tell the rank: it is between {self.lower} and {self.upper}")
        return self.lower


def rank_at_logarithms(
    forms: Sequence[fmpz_mat], generators: Sequence[fmpq], max_precision: int = 1 << 14
) -> RankBounds:
    """Bounds on the rank over the real numbers of Σ_k log(generators[k]) · forms[k].

    The generators are multiplicatively independent positive rationals.

    >>> skew = [fmpz_mat([[0, 1, 0], [-1, 0, 0], [0, 0, 0]]), fmpz_mat([[0, 0, 1], [0, 0, 0], [-1, 0, 0]]),
    ...         fmpz_mat([[0, 0, 0], [0, 0, 1], [0, -1, 0]])]
    >>> rank_at_logarithms(skew, [fmpq(2), fmpq(3), fmpq(5)]).value
    2
    """
    if not forms:
        return RankBounds(0, 0, "all entries are 0", "all entries are 0", (), ())
    # rational relations between rows, or between columns, hold at every x
    kept_rows = _pivots(_stacked([form.transpose() for form in forms]))
    kept_columns = _pivots(_stacked(forms))
    reduced = [_submatrix(form, kept_rows, kept_columns) for form in forms]
    rows, columns = _generic_pivots(reduced)
    upper, upper_by = min(len(kept_rows), len(kept_columns)), "rational relations between rows or columns"
    if upper > len(rows) and (image := _kronecker_image(reduced)) is not None:
        upper, upper_by = image.rank(), "all larger minors are the polynomial 0"
    lower, lower_by = len(rows), "a minor is not 0"
    if len(forms) == 2:
        lower_by = "a minor is not the polynomial 0, and the ratio of the two logs is transcendental"
    elif len(forms) > 2:
        lower, lower_by = _nonzero_minor(reduced, generators, rows, columns, max_precision)
    return RankBounds(
        lower,
        upper,
        lower_by,
        upper_by,
        tuple(kept_rows[i] for i in rows[:lower]),
        tuple(kept_columns[j] for j in columns[:lower]),
    )


def _stacked(matrices: Sequence[fmpz_mat]) -> fmpz_mat:
    """The matrices below one another."""
    return fmpz_mat([row for matrix in matrices for row in matrix.tolist()])


def _submatrix(matrix: fmpz_mat, rows: Sequence[int], columns: Sequence[int]) -> fmpz_mat:
    return fmpz_mat(len(rows), len(columns), [matrix[i, j] for i in rows for j in columns])


def _pivots(matrix: fmpz_mat) -> list[int]:
    """The columns that are no combination of those before them."""
    reduced, _, rank = matrix.rref()
    return [next(j for j in range(matrix.ncols()) if reduced[i, j] != 0) for i in range(rank)]


def _generic_pivots(forms: Sequence[fmpz_mat]) -> tuple[list[int], list[int]]:
    """Rows and columns of a minor that is not the polynomial 0: not even modulo a prime at one point."""
    rng = random.Random(0)
    rows, columns = forms[0].nrows(), forms[0].ncols()
    image = nmod_mat(rows, columns, [0] * (rows * columns), PRIME)
    for form in forms:
        image += nmod_mat(form, PRIME) * rng.randrange(1, PRIME)
    chosen_columns = _modular_pivots(image)
    chosen_rows = _modular_pivots(image.transpose())
    return chosen_rows, chosen_columns


def _modular_pivots(matrix: nmod_mat) -> list[int]:
    reduced, rank = matrix.rref()
    return [next(j for j in range(matrix.ncols()) if int(reduced[i, j]) != 0) for i in range(rank)]


def _kronecker_image(forms: Sequence[fmpz_mat]) -> fmpz_mat | None:
    """An integer matrix with the generic rank, or None if its entries would be too long.

    A minor of size r is homogeneous of degree r, so the first unknown may be 1; the others become
    B^1, B^(r+1), B^((r+1)²), …, which separates all monomials, and B exceeds twice the sum of the absolute
    coefficients of any minor.
    """
    size = min(forms[0].nrows(), forms[0].ncols())
    bound = fmpz(2)
    for i in range(forms[0].nrows()):
        bound *= max(1, sum(abs(form[i, j]) for form in forms for j in range(form.ncols())))
    exponents = [(size + 1) ** k for k in range(len(forms) - 1)]
    if exponents and exponents[-1] * bound.bit_length() * size * size > MAX_BITS:
        return None
    image = forms[0]
    for form, exponent in zip(forms[1:], exponents, strict=True):
        image = image + form * (bound + 1) ** exponent
    return image


def _nonzero_minor(
    forms: Sequence[fmpz_mat],
    generators: Sequence[fmpq],
    rows: Sequence[int],
    columns: Sequence[int],
    max_precision: int,
) -> tuple[int, str]:
    """The largest leading size for which the minor is enclosed away from 0, precision being raised."""
    precision = FIRST_PRECISION
    while precision <= max_precision:
        with ctx.workprec(precision):
            logs = [arb(g).log() for g in generators]
            entries = [[_form(forms, logs, i, j) for j in columns] for i in rows]
            if arb_mat(entries).det() != 0:
                return len(rows), f"a minor is enclosed away from 0 at {precision} bits"
        precision *= 2
    if len(rows) <= 1:  # one form that is not 0: logs of generators are linearly independent over Q
        return len(rows), "an entry is not 0"
    return _nonzero_minor(forms, generators, rows[:-1], columns[:-1], max_precision)


def _form(forms: Sequence[fmpz_mat], logs: Sequence[arb], i: int, j: int) -> arb:
    total = arb(0)
    for form, log in zip(forms, logs, strict=True):
        total += log * form[i, j]
    return total
