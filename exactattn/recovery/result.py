"""The result of a recovery: heads, counts, and what is known about their completeness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from exactattn.model.affine import AffineAttention
from exactattn.model.heads import Attention, Head
from exactattn.model.latex import heads_latex
from exactattn.model.query import Query
from exactattn.numbers import Balls, LogLattice, PrimeNumbers, rational_text
from exactattn.recovery.compare import float64_arrays, matches_layer
from exactattn.recovery.counts import identified_count, published_count
from exactattn.recovery.method import Plan
from exactattn.recovery.methods.staged_plan import StagedPlan
from exactattn.recovery.solution import RecoveredHead

__all__ = ["Recovery"]


@dataclass(frozen=True)
class Recovery:
    """Canonical heads recovered from answers, with everything that was asked.

    ``heads``: recovered heads, exact and sorted on the log-lattice, enclosures over balls. ``plan`` is the
    draw that was solved, ``draws`` all draws that were asked, ``redraw_reasons`` names the probes that made
    each redraw necessary. ``queries`` (distinct queries answered) and
    ``longest`` come from the transcript, ``verifying`` counts further queries that only checked the heads;
    ``refinements`` counts answers that were read again to more digits, ``resent`` queries whose answer an
    interruption lost. ``constant`` is the constant output of a layer with biases; ``notes`` say where another
    method took over. ``others`` are the queries beside those of ``plan``, with their answers, of a run on the
    lattice.
    """

    heads: tuple[RecoveredHead, ...]
    plan: Plan
    draws: tuple[Plan, ...]
    redraw_reasons: tuple[str, ...]
    answers: list[Any]
    system: LogLattice | PrimeNumbers | Balls
    rank_proved: bool
    queries: int
    longest: int
    refinements: int
    resent: int
    seconds: float
    constant: Any = None
    verifying: int = 0
    notes: tuple[str, ...] = ()
    others: tuple[tuple[Query, Any], ...] = ()

    @property
    def formula(self) -> int:
        """The number of queries of the plan, by its formula: 4Hd² − 2H + 1 for the published one."""
        return self.plan.count

    @property
    def published(self) -> int:
        """The number of queries of the published method for the same sizes."""
        return published_count(self.plan.heads, self.plan.dim, bias=self.plan.bias)

    @property
    def identified(self) -> int:
        """The number of identified parameters of the recovered layer (of the plan's rank, if it has one)."""
        rank = self.plan.rank if isinstance(self.plan, StagedPlan) else None
        return identified_count(len(self.heads), self.plan.dim, rank, bias=self.plan.bias)

    @property
    def longest_allowed(self) -> int:
        """2H + 1."""
        return self.plan.longest

    @property
    def redraws(self) -> int:
        """How often query vectors had to be drawn again."""
        return len(self.draws) - 1

    @property
    def completeness(self) -> str:
        """What is known about there being no further heads."""
        if len(self.heads) == self.plan.heads:
            return "proved: as many heads as the bound allows"
        if self.rank_proved:
            return "with probability one over the queries: every probe shows exactly this many poles"
        return "unknown: at least this many heads; no ball computation proves that a residue is zero"

    @property
    def layer(self) -> Attention:
        """The recovered layer with exact parameters. Raises TypeError for a run over balls."""
        if isinstance(self.system, Balls):
            raise TypeError("a run over balls has enclosures, not exact parameters; see float64()")
        return Attention.of([Head(h.W, h.v) for h in self.heads], self.plan.dim)

    def matches(self, layer: Attention | AffineAttention) -> bool:
        """Whether the heads (and the constant) are the canonical form of a known layer, up to permutation."""
        return matches_layer(self.heads, layer, self.constant)

    def float64(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Arrays W (H, d, d), v (H, d) of the unique binary64 number in each enclosure (else CannotTell)."""
        return float64_arrays(self.heads)

    def widest_radius(self) -> arb:
        """The largest radius of an enclosure; 0 for an exact run."""
        radii = [x.rad() for head in self.heads for x in head.entries if isinstance(x, arb)]
        return max(radii, key=lambda r: r.fmpq(), default=arb(0))

    @property
    def digits_lost(self) -> float:
        """Decimal digits between the answers (working precision) and the widest enclosure; 0 for an exact
        run. For reports only."""
        if not isinstance(self.system, Balls):
            return 0.0
        widest = self.widest_radius()
        kept = float(-widest.log() / arb(10).log()) if widest > 0 else float("inf")
        return self.system.precision * math.log10(2) - kept

    def facts(self) -> list[tuple[str, str]]:
        """Names and values of the summary, as the command line and the notebooks show them."""
        lines = [
            ("heads recovered", f"{len(self.heads)} (bound {self.plan.heads})"),
            ("completeness", self.completeness),
            ("queries asked", f"{self.queries:,}"),
            (self.plan.formula, f"{self.formula:,}"),
            *self._comparison(),
            ("longest sequence", f"{self.longest} tokens"),
            ("2H + 1", f"{self.longest_allowed} tokens"),
            ("redraws", str(self.redraws)),
            *((f"  redraw {n}, because of", reason) for n, reason in enumerate(self.redraw_reasons, 1)),
        ]
        if isinstance(self.system, Balls):
            lines += [
                ("precision", f"{self.system.precision} bits"),
                ("widest radius", self.widest_radius().str(3, radius=False)),
                ("answers refined", f"{self.refinements:,}"),
            ]
        else:
            power = f"^({self.system.denominator}·s)"
            base = f"2{power}"
            if isinstance(self.system, PrimeNumbers):
                base = f"{self.system.field.generator}{power} modulo {self.system.prime}"
            lines.append(("numbers", f"exact, exp(s) = {base}"))
        if self.resent:
            lines.append(("queries resent", f"{self.resent:,} (answers lost in an interruption)"))
        return [*lines, ("seconds", f"{self.seconds:.2f}")]

    def _comparison(self) -> list[tuple[str, str]]:
        """Asked queries beside the published count and the identified parameters."""
        lines = [("verifying queries", str(self.verifying))] if self.verifying else []
        lines += [("note", note) for note in self.notes]
        if self.constant is not None:
            lines.append(("constant output", _text(self.constant)))
        if self.plan.method != "published":
            lines.append(("published count", f"{self.published:,}"))
        each = f" ({self.queries / self.identified:.2f} queries each)" if self.identified else ""
        return [*lines, ("identified parameters", f"{self.identified:,}{each}")]

    def _repr_latex_(self) -> str:
        return heads_latex([(h.W, h.v) for h in self.heads])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.facts()
        )
        return f"<table>{rows}</table>"

    def constant_text(self) -> str | None:
        """The constant output as text; None for a layer without biases."""
        return None if self.constant is None else _text(self.constant)

    def heads_json(self) -> list[dict[str, Any]]:
        """Heads as text: "p/q" for exact entries, 40 digits with a radius for balls."""

        return [
            {"W": [[_text(x) for x in row] for row in h.W], "v": [_text(x) for x in h.v]} for h in self.heads
        ]


def _text(x: Any) -> str:
    """ "p/q" for exact numbers, 40 digits with a radius for balls."""
    return rational_text(x) if isinstance(x, fmpq) else str(x.str(40))
