"""The older kind of certificate of the optimal and the consistency method, at full rank and without biases.

The checker still accepts it; new ones are of :mod:`exactattn.certificate.general`.
"""

from __future__ import annotations

from typing import Any

from exactattn.certificate.content import published_schema

__all__ = ["few_queries_schema"]


def few_queries_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of these certificates, version 1.

    >>> few_queries_schema()["title"]
    'exactattn few-queries certificate, version 1'
    """
    return published_schema("few-queries.v1")
