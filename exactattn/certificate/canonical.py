"""Certificates as files: canonical JSON, the digest over it, atomic writing.

Canonical JSON has sorted keys, no spaces and ASCII characters only; there is no time in it, so the same run
gives the same bytes. The checker has its own few lines for this: it shares no code with what it checks.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any

from exactattn.checker.check import MAX_FILE_BYTES, Refused, Unreadable, check_data, load
from exactattn.exceptions import CertificateError, InputError
from exactattn.model.files import write_file

__all__ = ["canonical_json", "digest", "read_certificate", "write_certificate"]


def canonical_json(content: Any) -> str:
    """The one text of a JSON value without floats.

    >>> canonical_json({"b": [1, "1/2"], "a": None})
    '{"a":null,"b":[1,"1/2"]}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(content: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON of everything but the key "digest" itself.

    >>> digest({}) == digest({"digest": "anything"})
    True
    """
    rest = {key: x for key, x in content.items() if key != "digest"}
    return "sha256:" + sha256(canonical_json(rest).encode("ascii")).hexdigest()


def write_certificate(certificate: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a certificate as canonical JSON; the file is replaced whole or not at all.

    Raises InputError if the file cannot be written (a full disk, for instance), CertificateError if it would
    be larger than what the checker reads.
    """
    text = canonical_json(certificate) + "\n"
    if len(text) > MAX_FILE_BYTES:
        raise CertificateError(
            f"the certificate would have {len(text)} bytes, more than the {MAX_FILE_BYTES} that the checker "
            "reads; recover with smaller tokens, fewer heads or a smaller token size"
        )
    write_file(text, path)


def read_certificate(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a valid certificate. Raises InputError, with the reason, if the checker does not accept
    the file."""
    try:
        content: dict[str, Any] = load(path)
    except (Refused, Unreadable) as error:
        raise InputError(f"is not a certificate: {error}", file=path) from None
    verdict = check_data(content)
    if verdict.code != 0:
        raise InputError(f"is not a valid certificate: {verdict.reason}", file=path)
    return content
