"""Numbers of queries of the methods, and of identified parameters, as polynomials in H, d and r.

A layer of H heads of rank r has H(2dr − r² + d) identified parameters: W_h of rank r depends on 2dr − r²
numbers, v_h on d. With a query bias W_h is (d+1)×d, and there is one constant output more (theory, sections 5
and 8).
"""

from __future__ import annotations

__all__ = [
    "consistency_count",
    "identified_count",
    "matrix_count",
    "published_count",
    "published_length",
]


def published_count(heads: int, dim: int, *, bias: bool = False) -> int:
    """4Hd² − 2H + 1, the published number of value queries; 4Hd² + 4Hd − 2H + 1 with a bias.

    >>> published_count(2, 4)
    125
    """
    return 2 * heads * (2 * dim * (dim + bias) - 1) + 1


def published_length(heads: int) -> int:
    """2H + 1, the published bound on the length of a query."""
    return 2 * heads + 1


def matrix_count(dim: int, rank: int, *, bias: bool = False) -> int:
    """2dr − r², the dimension of the d×d matrices of rank r; r(2d + 1 − r) for (d+1)×d.

    >>> matrix_count(4, 2), matrix_count(4, 4)
    (12, 16)
    """
    return rank * (2 * dim + bias - rank)


def identified_count(heads: int, dim: int, rank: int | None = None, *, bias: bool = False) -> int:
    """H(2dr − r² + d), at full rank H(d² + d); with a bias H(r(2d + 1 − r) + d) + 1.

    It is also the number of queries of the optimal method.

    >>> identified_count(2, 4), identified_count(2, 4, 2), identified_count(1, 3, bias=True)
    (40, 32, 16)
    """
    return heads * (matrix_count(dim, dim if rank is None else rank, bias=bias) + dim) + bias


def consistency_count(heads: int, dim: int, rank: int | None = None, *, bias: bool = False) -> int:
    """2H(2dr − r² + d − 1), at full rank 2H(d² + d − 1): the number of queries of the consistency method.

    >>> consistency_count(2, 2), consistency_count(5, 4)
    (20, 190)
    """
    numbers = matrix_count(dim, dim if rank is None else rank, bias=bias) + dim
    return 2 * heads * (numbers - 1) + bias
