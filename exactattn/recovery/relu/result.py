"""The result of recovering a Transformer, with all that was asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from flint import fmpq

from exactattn.model.relu_form import Blocks, ReluForm
from exactattn.model.transformer import Neuron, Transformer
from exactattn.model.transformer_files import form_json
from exactattn.numbers import LogLattice, Matrix, rational_text
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.relu.asking import Asked
from exactattn.recovery.relu.frozen import FrozenPath
from exactattn.recovery.relu.orientation import Orientation
from exactattn.recovery.relu.paths import TokenPath
from exactattn.recovery.relu.regions import Region
from exactattn.recovery.relu.walk import Walked

__all__ = ["UNKNOWN", "Jump", "TransformerRecovery"]

UNKNOWN = "unknown completeness"


@dataclass(frozen=True)
class Jump:
    """What changes from one region to the next: σ_k and ±D_k, by blocks."""

    sign: int
    direction: Blocks


@dataclass(frozen=True)
class TransformerRecovery:
    """A Transformer recovered from values of F.

    ``form`` is the canonical form F = ½(v·Z + Σ σ_k|D_k·Z|); ``neurons`` and ``bypass`` write it as a
    network. ``kinks`` or ``spacing`` is what was stated about the neurons. For a certificate: ``heads_plan``
    (the plan of the antisymmetric queries; None if heads were taken from regions alone), ``path``, ``walked``
    (pieces with their abscissae and values), ``regions`` with their queries, ``jumps`` between them,
    ``linear`` = v, ``matrices`` in the order of all blocks, ``orientation``, ``checks`` (further queries that
    the form answers), and ``asked``: every query with its answer, by step and in order.
    """

    form: ReluForm
    orientation: Orientation
    matrices: tuple[Matrix, ...]
    linear: Blocks
    path: TokenPath | FrozenPath
    walked: Walked
    regions: tuple[Region, ...]
    jumps: tuple[Jump, ...]
    checks: tuple[Asked, ...]
    asked: tuple[Asked, ...]
    bound: int
    kinks: int | None
    spacing: fmpq | None
    residual: bool
    heads_plan: PublishedPlan | None
    notes: tuple[str, ...]
    system: LogLattice
    seed: int
    seconds: float

    @property
    def heads(self) -> tuple[Matrix, ...]:
        """W_h of the live heads, sorted."""
        return self.form.matrices

    @property
    def neurons(self) -> tuple[Neuron, ...]:
        """K neurons, by blocks of the live heads (and the last token)."""
        return self.orientation.neurons

    @property
    def bypass(self) -> Blocks | None:
        """The linear path beside the neurons; None if the neurons are all."""
        return self.orientation.bypass

    @cached_property
    def model(self) -> Transformer:
        """The recovered Transformer."""
        return Transformer(self.form.matrices, self.neurons, self.form.dim, self.form.residual, self.bypass)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Numbers of queries by step: heads, walk, regions, checks."""
        counts = {"heads": 0, "walk": 0, "regions": 0, "checks": 0}
        for item in self.asked:
            counts[item.step] += 1
        return counts

    @property
    def queries(self) -> int:
        """The number of distinct queries of F."""
        return len(self.asked)

    @property
    def longest(self) -> int:
        """The length of the longest sequence."""
        return max(item.query.length for item in self.asked)

    @property
    def redraws(self) -> int:
        """How many paths were given up before the one that served."""
        return len(self.notes)

    @property
    def certified(self) -> bool:
        """Whether, given what was stated, there are provably no further neurons."""
        return self.walked.certified

    @property
    def completeness(self) -> str:
        """What is known about there being no further neurons."""
        if self.certified:
            return f"with probability one over the queries: {self.walked.reason}"
        return f"{UNKNOWN}: {self.walked.reason}"

    def matches(self, model: Transformer) -> bool:
        """Whether the recovered Transformer is the same function as a known one."""
        return self.form == model.canonical()

    def facts(self) -> list[tuple[str, str]]:
        """Names and values of the summary, as the command line and the notebooks show them."""
        stated = "nothing"
        if self.kinks is not None:
            stated = f"{self.kinks} neurons, parallel ones merged"
        elif self.spacing is not None:
            stated = f"kinks at least {rational_text(self.spacing)} apart"
        beside = "" if self.bypass is None else ", and a linear path beside them"
        return [
            ("heads recovered", f"{len(self.heads)} (bound {self.bound})"),
            ("neurons recovered", f"{len(self.neurons)}{beside}"),
            ("stated", stated),
            ("completeness", self.completeness),
            ("queries asked", f"{self.queries:,}"),
            *((f"  for the {step}", f"{count:,}") for step, count in self.counts.items()),
            ("longest sequence", f"{self.longest:,} tokens"),
            ("walk", "frozen weights" if isinstance(self.path, FrozenPath) else "single tokens"),
            ("orientations tried", str(self.orientation.tried)),
            *(("note", note) for note in self.notes),
            ("numbers", f"exact, exp(s) = 2^({self.system.denominator}·s)"),
            ("seconds", f"{self.seconds:.2f}"),
        ]

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {
            "form": form_json(self.form),
            "neurons": len(self.neurons),
            "bypass": self.bypass is not None,
            "certified": self.certified,
            "completeness": self.completeness,
            "queries": self.queries,
            "queries_by_step": self.counts,
            "longest": self.longest,
            "heads_bound": self.bound,
            "neurons_stated": self.kinks,
            "kink_spacing": None if self.spacing is None else rational_text(self.spacing),
            "notes": list(self.notes),
            "numbers": self.system.describe(),
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
        }

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.facts()
        )
        return f"<table>{rows}</table>"
