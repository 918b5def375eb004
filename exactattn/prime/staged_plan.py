"""The consistency and the optimal method over a prime field, as blocks of rows (theory, section 5).

Stage 1, last token b_1 and filler 0: no further token, or one of a_j = e_j + t_j b_1, j = 2 … d; the
consistency method asks −a_j too. Stage 2, last tokens b_i, for the columns j that a matrix of rank r needs
(all for i ≤ r, the first r otherwise):

    consistent   filler b_i − u_1, alone and with b_i − u_1 + u_j       one new number a probe
    optimal      filler b_i − u_k with b_i − u_k + u_j                  two; a column left over is asked alone

B = I + x y^T has y_1 = 0, so that b_1 begins with 1 and (b_1, a_2, …, a_d) is unimodular as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InputError
from exactattn.prime.layer import ProbeGroup, Tokens
from exactattn.prime.tokens import RADIUS, UnimodularPlan, orthogonal
from exactattn.recovery.draw import draw_vector

__all__ = ["StagedBlockPlan"]

SHORT_SCORE = 1 << 13  # below full rank scores must fit in the group, so d radius^4 is kept below this
PROBES = 1 << 14


@dataclass(frozen=True)
class StagedBlockPlan(UnimodularPlan):
    """The plan for ``heads`` heads (or a bound), token size ``dim`` and matrices of rank at most ``rank``
    (None: d).

    >>> plan = StagedBlockPlan("optimal", 2, 4, rank=2)
    >>> plan.count, StagedBlockPlan("consistent", 2, 4).count      # H(2dr − r² + d), 2H(d² + d − 1)
    (32, 76)
    """

    method: Literal["consistent", "optimal"]
    heads: int
    dim: int
    seed: int = 0
    bias: bool = False
    rank: int | None = None

    def __post_init__(self) -> None:
        self.require_sizes()
        if self.rank is not None and not 1 <= self.rank <= self.dim:
            raise InputError(f"must be 1 to {self.dim}, the token size, not {self.rank}", field="rank")

    @property
    def full_rank(self) -> int:
        """r."""
        return self.dim if self.rank is None else self.rank

    @property
    def copies(self) -> tuple[int, ...]:
        """m = 0, …, 2H − 1."""
        return tuple(range(2 * self.heads))

    @property
    def whole_rows(self) -> int:
        """Rows whose columns are all needed: r, and every row at full rank."""
        return self.full_rank if self.full_rank < self.dim else self.rows

    def columns(self, row: int) -> int:
        """How many columns are needed in a row after the first."""
        return self.dim if row < self.whole_rows else self.full_rank

    def probes(self, row: int) -> int:
        """The number of probes of a row after the first."""
        needed = self.columns(row)
        return needed if self.method == "consistent" else -(-needed // 2)

    @cached_property
    def count(self) -> int:
        """The number of queries. The optimal method has as many as there are identified parameters, and H
        more for every row with an odd number of columns."""
        first = 2 * self.dim - 1 if self.method == "consistent" else self.dim
        later = sum(self.probes(i) for i in range(1, self.rows))
        return 2 * self.heads * (first + later) + self.bias

    @cached_property
    def blocks(self) -> tuple[range, ...]:
        """Rows by block, with one number of columns in each; the first row is a block of its own, which the
        others need."""
        ends = (1, self.whole_rows, self.rows)
        later = []
        for begin, end in pairwise(ends):
            if begin < end:
                size = max(1, PROBES // self.probes(begin))
                later += [range(i, min(i + size, end)) for i in range(begin, end, size)]
        return (range(1), *later)

    @cached_property
    def u_factors(self) -> tuple[Tokens, Tokens]:
        """x' and y'."""
        x = self._drawn("u", 0)
        return x, orthogonal(x)

    @cached_property
    def b_factors(self) -> tuple[Tokens, Tokens]:
        """x and y, with y_1 = 0."""
        x = self._drawn("b", 0)
        return x, np.concatenate([np.zeros(1, dtype=np.int64), orthogonal(x[1:])])

    def first_token(self) -> Tokens:
        """b_1, which begins with 1."""
        first = self._drawn("first", 0)
        first[0] = 1
        return first

    def _drawn(self, name: str, version: int) -> Tokens:
        full = self.full_rank == self.dim
        short = [k for k in range(1, RADIUS) if k**4 * self.dim <= SHORT_SCORE]
        radius = RADIUS if full else max(short, default=1)
        drawn = [int(c.p) for c in draw_vector(self.seed, name, 0, 0, self.dim, radius * (version + 1))]
        return np.array([c or radius + 1 for c in drawn], dtype=np.int64)

    def factors(self, version: int) -> Tokens:
        """t_2, …, t_d; another ``version`` replaces tokens whose probes are exceptional."""
        return self._drawn("a" * (version + 1), version)[1:]

    def tokens(self, columns: Tokens, factors: Tokens) -> Tokens:
        """a_j = e_j + t_j b_1 for columns j (counted from 0)."""
        units = np.eye(self.dim, dtype=np.int64)[columns]
        combined: Tokens = units + factors[:, None] * self.b[:1]
        return combined

    def pairs(self, row: int) -> tuple[Tokens, Tokens]:
        """Optimal: columns (j, k) that share a probe; k = −1 for one left over."""
        columns = np.arange(self.columns(row) + self.columns(row) % 2)
        columns[columns >= self.columns(row)] = -1
        return columns[::2], columns[1::2]

    @cached_property
    def _directions(self) -> NDArray[np.float64]:
        """u in binary64, in which products with tokens are taken."""
        return self.u.astype(np.float64)

    def groups(self, block: range) -> Iterator[ProbeGroup]:
        """The probes of a block of later rows, row by row, those without a further token first."""
        for i in block:
            last = self.b[i]
            if self.method == "consistent":
                filler = last - self._directions[:1]
                further = filler + self._directions[1 : self.columns(i)]
                yield ProbeGroup(last, filler)
                if len(further):
                    yield ProbeGroup(last, filler, further)
                continue
            j, k = self.pairs(i)
            alone = k < 0
            if alone.any():
                yield ProbeGroup(last, last - self._directions[j[alone]])
            if not alone.all():
                filler = last - self._directions[k[~alone]]
                yield ProbeGroup(last, filler, filler + self._directions[j[~alone]])
