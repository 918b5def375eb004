"""Which numbers b_i^T W u_j a plan asks for, and how they are grouped into probes.

A matrix of rank r is W = (W U_r)(B_r^T W U_r)^{-1}(B_r^T W), so b_i^T W u_j is needed for i ≤ r or j ≤ r
only; at full rank these are all. Row 1 comes from the first stage. One probe of the optimal method shows two
numbers of one row. Where a row needs an odd number of them (theory, section 5):

- two such rows, i leaving out its last column and i' its first one, share a probe at b_i + b_i' − b_1, which
  shows the sums in both columns;
- a row that is left over, or has a single column, asks its last number in a *half* probe: H queries, one
  number a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Task", "grouped", "needed_columns"]


@dataclass(frozen=True)
class Task:
    """One probe of the second stage: it shows b^T W u_j for the ``columns`` j, where b is the last token of
    one row, or b_i + b_i' − b_1 for two ``rows``. One row and one column is a half probe."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def kind(self) -> str:
        """Its name."""
        if len(self.rows) == 2:
            return "shared"
        return "pair" if len(self.columns) == 2 else "half"


def needed_columns(rows: int, dim: int, rank: int, checked: int = 0) -> dict[int, range]:
    """Columns 1 … d of rows 2 … r and 1 … r of the later ones; ``checked`` columns more in row r + 1 tell
    whether the rank is higher.

    >>> needed_columns(3, 3, 1)
    {2: range(1, 2), 3: range(1, 2)}
    """
    found = {}
    for i in range(2, rows + 1):
        last = dim if i <= rank else min(dim, rank + checked * (i == rank + 1))
        found[i] = range(1, last + 1)
    return found


def grouped(needed: dict[int, range], *, alone: bool = False) -> Iterator[Task]:
    """The probes that show the needed columns of every row; ``alone``: no row shares a probe with another.

    >>> [(t.rows, t.columns) for t in grouped({2: range(1, 4), 3: range(1, 4)})]
    [((2,), (1, 2)), ((3,), (2, 3)), ((2, 3), (3, 1))]
    >>> [(t.rows, t.columns) for t in grouped({2: range(1, 2)})]
    [((2,), (1,))]
    """
    waiting: dict[range, int] = {}
    for i, columns in needed.items():
        if len(columns) % 2 == 0:
            yield from _pairs(i, columns)
        elif alone or len(columns) == 1:
            yield from _with_half(i, columns)
        elif columns not in waiting:
            waiting[columns] = i
        else:
            first = waiting.pop(columns)
            yield from _pairs(first, columns[:-1])
            yield from _pairs(i, columns[1:])
            yield Task((first, i), (columns[-1], columns[0]))
    for columns, i in waiting.items():
        yield from _with_half(i, columns)


def _pairs(i: int, columns: Sequence[int]) -> Iterator[Task]:
    for j, k in zip(columns[::2], columns[1::2], strict=True):
        yield Task((i,), (j, k))


def _with_half(i: int, columns: Sequence[int]) -> Iterator[Task]:
    yield from _pairs(i, columns[:-1])
    yield Task((i,), (columns[-1],))
