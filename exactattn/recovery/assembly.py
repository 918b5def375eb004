"""Assembly of W_h and v_h from labelled scores and residues.

With rows b_i of B and u_j of U: W_h = B^{-1} L_h U^{-T}, L_h[i, j] = log r_h(b_i, u_j), and v_h = U^{-1} c_h
(theory, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactattn.numbers import NumberSystem, Vector

__all__ = ["assemble_matrix", "assemble_vector"]


def assemble_matrix(
    b: Sequence[Vector], u: Sequence[Vector], scores: Sequence[Sequence[Any]], system: NumberSystem[Any, Any]
) -> tuple[tuple[Any, ...], ...]:
    """W with b_i^T W u_j = scores[i][j]; d×d, in the system's scores.

    >>> from exactattn.numbers import LogLattice, rational_vector as vec
    >>> assemble_matrix([vec([1, 0]), vec([1, 1])], [vec([1, 0]), vec([0, 1])], [vec([1, 2]), vec([4, 6])],
    ...                 LogLattice())
    ((1, 2), (3, 4))
    """
    left = system.solve_scores(b, scores)
    transposed = [list(column) for column in zip(*left, strict=True)]
    return tuple(zip(*system.solve_scores(u, transposed), strict=True))


def assemble_vector(
    u: Sequence[Vector], residues: Sequence[Any], system: NumberSystem[Any, Any]
) -> tuple[Any, ...]:
    """v with v · u_j = residues[j]; d values."""
    rows = [[system.value(x) for x in row] for row in u]
    return tuple(row[0] for row in system.solve(rows, [[c] for c in residues]))
