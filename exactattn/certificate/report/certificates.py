"""Certificate files, each checked by the independent checker; only what was verified is shown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exactattn.checker.check import Refused, Verdict, load
from exactattn.checker.check import verdict as verdict_on

__all__ = ["CheckedFile", "check_files"]

# keys with a place of their own on the page
_ELSEWHERE = frozenset(("format", "digest", "made_by", "statement", "hypotheses", "does_not_establish"))


@dataclass(frozen=True)
class CheckedFile:
    """A file, the checker's verdict on it, and its content if it is valid (else nothing).

    ``supports``: ids of the claims whose evidence holds the same certificate.
    """

    name: str
    verdict: Verdict
    content: dict[str, Any] = field(default_factory=dict, repr=False)
    supports: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the checker accepts the file."""
        return self.verdict.code == 0

    @property
    def kind(self) -> str:
        """The kind of certificate; empty if nothing is known."""
        return str(self.content.get("kind", ""))

    @property
    def digest(self) -> str:
        """The digest the certificate carries; empty if nothing is known."""
        return str(self.content.get("digest", ""))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and values of the content that fit in a line."""
        found = []
        for key, value in sorted(self.content.items()):
            if key not in _ELSEWHERE and isinstance(value, str | int) and not isinstance(value, bool):
                found.append((key.replace("_", " "), str(value)))
        plan = self.content.get("plan")
        if isinstance(plan, dict) and isinstance(plan.get("seed"), int):
            found.append(("seed", str(plan["seed"])))
        return found


def check_files(
    paths: Sequence[str | os.PathLike[str]], evidence: dict[str, list[str]] | None = None
) -> list[CheckedFile]:
    """The files in order. ``evidence``: digest → ids of the claims that rest on it."""
    return [_checked(Path(path), evidence or {}) for path in paths]


def _checked(path: Path, evidence: dict[str, list[str]]) -> CheckedFile:
    try:
        content = load(path)
    except Refused as error:
        return CheckedFile(str(path), Verdict(error.code, str(error)))
    verdict = verdict_on(lambda: content, path)  # the path leads to a companion file
    if verdict.code != 0:
        return CheckedFile(str(path), verdict)
    return CheckedFile(str(path), verdict, content, tuple(evidence.get(content["digest"], ())))
