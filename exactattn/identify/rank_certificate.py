"""Certificates of an identification count, and sizes at which a large layer's formula can be certified.

The certificate holds the architecture, the point (by its seed), which rows of the Jacobian and which tangents
are independent, and, beyond small sizes, vectors w with S w = b where S is the square matrix of rows and
tangents modulo p and b is derived from the statement by SHA-256: a singular S reaches a random b with
probability at most 1/p, so four vectors leave less than 2^-120 (theory, section 8). The checker multiplies S
with a vector as a directional derivative of the layer, and eliminates nothing. Without such vectors, for
small sizes, it eliminates S itself and nothing is left to chance.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from exactattn.certificate.canonical import digest, write_certificate
from exactattn.certificate.content import made_by, published_schema
from exactattn.checker.rank import RANK_STATEMENT_KEYS, RANK_VECTORS, rank_texts
from exactattn.exceptions import CertificateError
from exactattn.identify.parameters import parameter_count
from exactattn.identify.rank_witness import RankWitness, rank_witness
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.spec_json import spec_data

__all__ = ["DETERMINISTIC_LIMIT", "RankCertificate", "certify_count", "rank_schema"]

DETERMINISTIC_LIMIT = 600
"""Up to so many parameters certificates need no probability, unless asked otherwise."""


@dataclass(frozen=True)
class RankCertificate:
    """A proved enclosure of the number of identified parameters, and its certificate."""

    spec: AttentionSpec
    content: dict[str, Any]

    @property
    def parameters(self) -> int:
        """All learned numbers of the layer, with the norms around it if the architecture has them."""
        return int(self.content["parameters"])

    @property
    def at_least(self) -> int:
        """The lower bound: independent rows of the Jacobian."""
        return int(self.content["rank"])

    @property
    def at_most(self) -> int:
        """The upper bound: parameters minus independent tangents of symmetries."""
        return self.at_least + len(self.content["open"])

    @property
    def verdict(self) -> str:
        """``proved`` when the bounds meet, else ``unknown``."""
        return "proved" if self.at_least == self.at_most else "unknown"

    @property
    def symmetries(self) -> dict[str, int]:
        """Independent tangents by symmetry, each after those before it."""
        return {entry["name"]: entry["dimension"] for entry in self.content["symmetries"]}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the certificate as canonical JSON. Raises InputError if the file cannot be written."""
        write_certificate(self.content, path)


def certify_count(
    spec: AttentionSpec, *, seed: int = 1, deterministic: bool | None = None
) -> RankCertificate:
    """Certifies how many parameters of a layer are identified; with ``spec.bare()``, without norms around it.

    ``deterministic``: whether the checker shall eliminate the matrix itself; by default up to
    :data:`DETERMINISTIC_LIMIT` parameters. Raises CertificateError where the method does not apply.

    >>> certificate = certify_count(AttentionSpec.of(width=4, heads=2, key_bias=True))
    >>> certificate.verdict, certificate.parameters, certificate.at_least
    ('proved', 68, 48)
    >>> certificate.symmetries
    {'basis of queries and keys': 8, 'basis of values': 8, 'key bias': 4}
    """
    if deterministic is None:
        deterministic = parameter_count(spec) <= DETERMINISTIC_LIMIT
    content = (
        _content(rank_witness(spec, seed)) | {"solutions": None} if deterministic else _solved(spec, seed)
    )
    content |= rank_texts(content)
    return RankCertificate(spec, {**content, "digest": digest(content)})


def _solved(spec: AttentionSpec, seed: int) -> dict[str, Any]:
    """The content with solutions; rows are chosen with care only if the first choice is singular."""
    for careful in (False, True):
        witness = rank_witness(spec, seed, careful=careful)
        content = _content(witness)
        statement = digest({key: content[key] for key in RANK_STATEMENT_KEYS.split()})
        try:
            return content | {"solutions": witness.solutions(statement, RANK_VECTORS)}
        except ZeroDivisionError:
            continue
    raise CertificateError("the matrix of rows and tangents is singular modulo p; use another seed")


def rank_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of rank certificates, version 1.

    >>> rank_schema()["title"]
    'exactattn rank certificate, version 1'
    """
    return published_schema("rank.v1")


def _content(witness: RankWitness) -> dict[str, Any]:
    """Everything but the solutions, the sentences and the digest."""
    point = witness.point
    return {
        "format": "exactattn-certificate",
        "version": 1,
        "kind": "rank",
        "spec": spec_data(point.spec),
        "parameters": witness.parameters,
        "rank": witness.at_least,
        "symmetries": [{"name": name, "dimension": n} for name, n in witness.symmetries.items()],
        "seed": point.seed,
        "primes": list(point.primes),
        "sizes": [list(pair) for pair in point.sizes],
        "versions": [list(level) for level in point.versions],
        "rows": list(witness.rows),
        "left_out": list(witness.left_out),
        "open": list(witness.open),
        "made_by": made_by(),
    }
