"""Number systems: one interface, one file each, one conformance suite (theory, section 2)."""

from exactattn.numbers.balls import Balls, encloses
from exactattn.numbers.decision import Decision
from exactattn.numbers.lattice import LogLattice
from exactattn.numbers.prime import PrimeNumbers
from exactattn.numbers.rational import (
    Matrix,
    Vector,
    common_denominator,
    dot,
    rational,
    rational_text,
    rational_vector,
    to_matrix,
)
from exactattn.numbers.system import NumberSystem

__all__ = [
    "Balls",
    "Decision",
    "LogLattice",
    "Matrix",
    "NumberSystem",
    "PrimeNumbers",
    "Vector",
    "common_denominator",
    "dot",
    "encloses",
    "rational",
    "rational_text",
    "rational_vector",
    "to_matrix",
]
