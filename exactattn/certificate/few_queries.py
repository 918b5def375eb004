"""The older kind of certificate of the optimal and the consistency method, at full rank and without biases.

The checker still accepts it; new ones are of :mod:`exactattn.certificate.general`.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

__all__ = ["few_queries_schema"]


def few_queries_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of these certificates, version 1.

    >>> few_queries_schema()["title"]
    'exactattn few-queries certificate, version 1'
    """
    schema = resources.files("exactattn.certificate") / "schema" / "few-queries.v1.json"
    content: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))
    return content
