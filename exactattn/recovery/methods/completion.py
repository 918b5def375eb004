"""A matrix from its rows, and a matrix of rank r from r rows and the first r columns of the others.

With rows w_i = W^T b_i for i ≤ r, the row of b_i for i > r is Σ_k λ_k w_k where Σ_k λ_k w_k·u_j is the known
b_i^T W u_j for j ≤ r. That is W = (W U_r)(B_r^T W U_r)^{-1}(B_r^T W), row by row (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exactattn.numbers import Decision, NumberSystem
from exactattn.recovery.genericity import NonGeneric
from exactattn.recovery.methods.staged_plan import StagedPlan

__all__ = ["assemble_rows", "leading_rank"]

Table = Mapping[tuple[int, int], Any]


def leading_rank(table: Table, size: int, system: NumberSystem[Any, Any]) -> int:
    """The largest k ≤ size with an invertible block of rows 1 … k and columns 1 … k; over balls, the largest
    for which that is proved.

    >>> from flint import fmpq
    >>> from exactattn.numbers import LogLattice
    >>> leading_rank({(1, 1): fmpq(1), (1, 2): fmpq(2), (2, 1): fmpq(2), (2, 2): fmpq(4)}, 2, LogLattice())
    1
    """
    for k in range(size, 0, -1):
        indices = range(1, k + 1)
        block = [[table[i, j] for j in indices] for i in indices]
        try:
            system.solve(block, [[block[0][0]]] * k)
        except ZeroDivisionError:
            continue
        return k
    return 0


def assemble_rows(
    plan: StagedPlan, table: Table, system: NumberSystem[Any, Any]
) -> tuple[tuple[tuple[Any, ...], ...], bool]:
    """W with b_i^T W u_j = table[i, j] for i ≤ r or j ≤ r, and whether its rank is certain: it is not when,
    over balls, a head shows less than the plan's rank.

    Raises NonGeneric if a leading block is singular though the head's rank is higher.
    """
    r, columns = plan.full_rank, range(1, plan.dim + 1)
    whole = r if r < plan.dim else plan.rows  # at full rank every row is asked whole
    short = range(whole + 1, plan.rows + 1)
    k = leading_rank(table, r, system) if short else r
    rows: list[list[Any]] = [[table[i, j] for j in columns] for i in range(1, whole + 1)]
    for i in short:
        row = [x - x for x in rows[0]]
        if k > 0:
            block = [[rows[n][m] for n in range(k)] for m in range(k)]
            weights = [x for (x,) in system.solve(block, [[table[i, j]] for j in range(1, k + 1)])]
            row = [_combination(weights, [known[m] for known in rows[:k]]) for m in range(plan.dim)]
        if any(system.equal_scores(row[j - 1], table[i, j]) is Decision.NO for j in range(k + 1, r + 1)):
            reason = f"the leading {k + 1}×{k + 1} block of scores is singular"
            probe = next(probe for task, probe in plan.row_probes if i in task.rows)
            vectors = {("b", k + 1)} if system.exact else {("b", k + 1), ("u", k + 1)}
            raise NonGeneric([(probe, reason)], system.exact, vectors=frozenset(vectors))
        rows.append(row)
    transposed = [list(column) for column in zip(*rows, strict=True)]
    images = system.solve_scores(plan.u, transposed)  # column i is W^T b_i
    W = system.solve_scores([plan.lifted(b) for b in plan.b], list(zip(*images, strict=True)))
    return tuple(tuple(row) for row in W), k == r or system.exact


def _combination(weights: list[Any], entries: list[Any]) -> Any:
    total: Any = weights[0] * entries[0]
    for w, x in zip(weights[1:], entries[1:], strict=True):
        total = total + w * x
    return total
