"""The verdicts in the README are the ledger's."""

from __future__ import annotations

from pathlib import Path

from exactattn.ledger import load_claims

README = Path(__file__).parents[2] / "README.md"


def test_readme_shows_every_verdict() -> None:
    """Breaks: the README would claim other verdicts than the ledger (each is decided by a test of its own).

    Mend: exactattn claims --markdown, pasted between the two marks.
    """
    text = README.read_text(encoding="utf-8")
    table = text.split("<!-- verdicts -->")[1]
    shown = [
        tuple(cell.strip() for cell in line.replace("\\|", "\0").split("|")[1:-1])
        for line in table.splitlines()
        if line.startswith("| ")
    ][1:]
    expected = [(c.id, c.says, c.expected.value) for c in load_claims().values()]
    assert [tuple(cell.replace("\0", "|") for cell in row) for row in shown] == expected
