"""Every claim of the ledger runs once; ids are permanent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exactattn.ledger import Claim, Verdict, decide, load_claim, load_claims, proofs_folder

CLAIMS = load_claims()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_the_evidence_gives_the_pinned_verdict(claim: Claim) -> None:
    """If it fails, a step of the evidence no longer holds or the verdict changed: the ledger would
    announce something that its evidence does not show."""
    (decided,) = decide([claim])
    assert not decided.outcome.failed, decided.outcome.failed
    assert decided.outcome.verdict is claim.expected


def test_ids_are_permanent() -> None:
    """Each folder lists the ids ever given with the file of each; a line is never changed or removed. If it
    fails, a citation of an id would point at nothing, or at another claim."""
    for folder in sorted(path for path in proofs_folder().iterdir() if path.is_dir()):
        files = {load_claim(file).id: file.stem for file in folder.glob("*.py")}
        lines = (folder / "ids.txt").read_text(encoding="utf-8").splitlines() if files else []
        listed = [tuple(line.split()) for line in lines]
        assert len({id_ for id_, _ in listed}) == len(listed), f"an id stands twice in {folder}/ids.txt"
        assert dict(listed) == files, f"add new claims to {folder}/ids.txt; never change a line"


@pytest.mark.parametrize("file", sorted(proofs_folder().glob("*/*.py")), ids=lambda file: file.stem)
def test_files_say_what_they_decide(file: Path) -> None:
    """If it fails, a claim file is named by a number instead of by what it says, or holds a float."""
    assert re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", file.stem)
    claim = load_claim(file)
    assert file.read_text(encoding="utf-8").startswith(f'"""{claim.id}: '), "the first line names the id"


def test_every_kind_of_verdict_is_reachable() -> None:
    """If it fails, the ledger has lost its refutations or its open questions."""
    assert {Verdict.PROVED, Verdict.PROVED_FOR, Verdict.REFUTED} <= {c.expected for c in CLAIMS.values()}
