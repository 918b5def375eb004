"""Certificates: what a run proved, written so that the independent checker can prove it again."""

from exactattn.certificate.canonical import canonical_json, digest, read_certificate, write_certificate
from exactattn.certificate.enclosure import ball_certificate, enclosure_certificate
from exactattn.certificate.equivalence import equivalence_certificate, equivalence_schema
from exactattn.certificate.few_queries import few_queries_schema
from exactattn.certificate.general import general_certificate, lattice_certificate, recovery_v2_schema
from exactattn.certificate.prime import prime_schema, write_prime_certificate
from exactattn.certificate.recovery import RecoveryRun, recovery_certificate, recovery_schema
from exactattn.certificate.transformer import transformer_certificate, transformer_schema

__all__ = [
    "RecoveryRun",
    "ball_certificate",
    "canonical_json",
    "digest",
    "enclosure_certificate",
    "equivalence_certificate",
    "equivalence_schema",
    "few_queries_schema",
    "general_certificate",
    "lattice_certificate",
    "prime_schema",
    "read_certificate",
    "recovery_certificate",
    "recovery_schema",
    "recovery_v2_schema",
    "transformer_certificate",
    "transformer_schema",
    "write_certificate",
    "write_prime_certificate",
]
