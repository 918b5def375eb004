"""Everything a report shows, gathered before anything is drawn or written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from exactattn.certificate.report.allocation_file import AllocationFile
from exactattn.certificate.report.certificates import CheckedFile, check_files
from exactattn.certificate.report.graph import Layout, Node, layered
from exactattn.certificate.report.training_file import TrainingFile
from exactattn.identify import ModelCount
from exactattn.ledger import Decided, Paper, Verdict

__all__ = ["Report", "anchor"]


def anchor(kind: str, name: object) -> str:
    """An identifier of the page.

    >>> anchor("claim", "I-4.1")
    'claim-I-4.1'
    """
    return f"{kind}-{name}"


def style_name(verdict: Verdict) -> str:
    """A verdict as the name of a style: "proved-for"."""
    return verdict.value.replace(" ", "-")


@dataclass(frozen=True)
class Report:
    """Decided claims, checked certificate files, counted models, allocations and training figures, and what
    made it all.

    ``facts``: names and values of the last section (command, versions, digests).
    """

    decided: tuple[Decided, ...] = ()
    files: tuple[CheckedFile, ...] = ()
    models: tuple[ModelCount, ...] = ()
    allocations: tuple[AllocationFile, ...] = ()
    facts: tuple[tuple[str, str], ...] = field(default=())
    trainings: tuple[TrainingFile, ...] = ()

    @classmethod
    def of(
        cls,
        decided: Iterable[Decided] = (),
        certificates: Sequence[str | os.PathLike[str]] = (),
        models: Iterable[ModelCount] = (),
        allocations: Iterable[AllocationFile] = (),
        facts: Iterable[tuple[str, str]] = (),
        trainings: Iterable[TrainingFile] = (),
    ) -> Report:
        """Checks the certificate files, and notes which of them are evidence of which claim."""
        claims = tuple(decided)
        evidence: dict[str, list[str]] = {}
        for each in claims:
            for certificate in each.outcome.certificates:
                evidence.setdefault(certificate["digest"], []).append(each.claim.id)
        files = tuple(check_files(certificates, evidence))
        return cls(claims, files, tuple(models), tuple(allocations), tuple(facts), tuple(trainings))

    @cached_property
    def papers(self) -> list[Paper]:
        """Papers of the claims, in order."""
        return list(dict.fromkeys(each.claim.paper for each in self.decided))

    @cached_property
    def verdict_counts(self) -> list[tuple[Verdict, int]]:
        """How many claims have each verdict."""
        return [(v, sum(each.outcome.verdict is v for each in self.decided)) for v in Verdict]

    @cached_property
    def paper_counts(self) -> dict[Paper, int]:
        """How many claims are of each paper."""
        return {paper: sum(each.claim.paper is paper for each in self.decided) for paper in self.papers}

    @cached_property
    def empty_pairs(self) -> list[tuple[Verdict, Paper]]:
        """Verdicts and papers that no claim has together, though each is shown."""
        present = {(each.outcome.verdict, each.claim.paper) for each in self.decided}
        shown = [verdict for verdict, count in self.verdict_counts if count]
        return [(v, p) for v in shown for p in self.papers if (v, p) not in present]

    @cached_property
    def surprising(self) -> list[str]:
        """Ids of claims whose verdict is not the one in their file."""
        return [each.claim.id for each in self.decided if not each.as_expected]

    @cached_property
    def shown_ids(self) -> frozenset[str]:
        """Ids of the claims on the page."""
        return frozenset(each.claim.id for each in self.decided)

    def used_by(self, id_: str) -> list[str]:
        """Ids of the shown claims that rest on a claim."""
        return [each.claim.id for each in self.decided if id_ in each.claim.depends_on]

    @cached_property
    def worst_code(self) -> int:
        """The exit code: the worst of the files, and 1 if a verdict surprises."""
        return max([file.verdict.code for file in self.files] + [int(bool(self.surprising))])

    @cached_property
    def graph(self) -> Layout:
        """Claims, and the certificates they rest on: one node for all of a claim that are of one kind, and
        one for each valid file."""
        nodes = [
            Node(
                each.claim.id,
                each.claim.id,
                f"{each.claim.id}, {each.outcome.verdict.value}: {each.claim.says}",
                style_name(each.outcome.verdict),
                anchor("claim", each.claim.id),
            )
            for each in self.decided
        ]
        edges = [
            (needed, each.claim.id)
            for each in self.decided
            for needed in dict.fromkeys(each.claim.depends_on)
            if needed in self.shown_ids
        ]
        for each in self.decided:
            for kind, count in _kinds(each.outcome.certificates).items():
                name = f"{kind} of {each.claim.id}"
                label = f"{count} {kind} certificate{'s' if count > 1 else ''}"
                target = anchor("claim", each.claim.id)
                nodes.append(
                    Node(name, label, f"{label}: evidence of {each.claim.id}", "certificate", target)
                )
                edges.append((name, each.claim.id))
        for number, file in enumerate(self.files, 1):
            if file.valid:
                name = f"file {number}"
                label = f"file {number}: {file.kind}"
                title = f"{file.name}: {file.verdict.reason}"
                nodes.append(Node(name, label, title, "certificate", anchor("file", number)))
                edges += [(name, id_) for id_ in file.supports]
        return layered(nodes, edges)


def _kinds(certificates: Sequence[dict[str, Any]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for certificate in certificates:
        counts[str(certificate["kind"])] = counts.get(str(certificate["kind"]), 0) + 1
    return counts
