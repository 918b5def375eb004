"""What every kind of certificate is written with: numbers as text, what made it, sentences and digest, and
the checker's consent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from importlib.metadata import version
from typing import Any

import flint

from exactattn.certificate.canonical import digest
from exactattn.checker import check_data
from exactattn.exceptions import CertificateError
from exactattn.numbers import rational_text

__all__ = ["accepted", "made_by", "published_schema", "rows_of_texts", "sealed", "texts"]


def texts(numbers: Iterable[Any]) -> list[str]:
    """Rationals as canonical texts.

    >>> texts([flint.fmpq(1, 2), flint.fmpq(3)])
    ['1/2', '3']
    """
    return [rational_text(x) for x in numbers]


def rows_of_texts(rows: Iterable[Iterable[Any]]) -> list[list[str]]:
    """A matrix of rationals, by rows."""
    return [texts(row) for row in rows]


def made_by() -> dict[str, str]:
    """The versions that a certificate discloses."""
    return {
        "exactattn": version("exactattn"),
        "python-flint": version("python-flint"),
        "flint": flint.__FLINT_VERSION__,
    }


def sealed(content: dict[str, Any], sentences: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences that belong to it, and the digest."""
    complete = {**content, **sentences}
    return {**complete, "digest": digest(complete)}


def accepted(certificate: dict[str, Any]) -> dict[str, Any]:
    """The certificate, once the checker has accepted it. Raises CertificateError if it does not."""
    verdict = check_data(certificate)
    if verdict.code != 0:
        raise CertificateError(f"the checker does not accept what this run would state: {verdict.reason}")
    return certificate


def published_schema(name: str) -> dict[str, Any]:
    """The published JSON Schema (2020-12) of one kind and version, such as "recovery.v1"."""
    schema = resources.files("exactattn.certificate") / "schema" / f"{name}.json"
    content: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))
    return content
