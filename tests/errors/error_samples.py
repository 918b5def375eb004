"""Layers and designs for the tests of error bounds: small tokens, so that constants stay moderate."""

from __future__ import annotations

from random import Random

from flint import fmpq

from exactattn.errors import Centre, Design, Family, Node, centre_of_layer, quiet_design
from exactattn.model import Attention, random_layer
from exactattn.numbers import LogLattice
from exactattn.recovery import TokenRange

TOKENS = TokenRange(1, 1)
LATTICE = LogLattice()


def sample_layer(heads: int, dim: int, seed: int) -> Attention:
    """A random layer with exactly ``heads`` canonical heads and entries of size at most 3."""
    return random_layer(heads, dim, seed=seed, size=3)


def sample_design(layer: Attention, candidates: int = 6) -> Design:
    """The published design for the layer, at small query vectors that separate its heads."""
    return quiet_design(layer, LATTICE, tokens=TOKENS, candidates=candidates)


def sample_centre(heads: int, dim: int, seed: int) -> tuple[Attention, Centre]:
    """A layer, and its poles and residues at a generic published design."""
    layer = sample_layer(heads, dim, seed)
    return layer, centre_of_layer(sample_design(layer), layer, LATTICE)


def mixed_nodes(family: Family) -> tuple[Node, ...]:
    """Nodes of every sort: a alone, fractions, integers; two for each head."""
    number = len(family.nodes)
    return (Node(1, 0), *(Node(m, 1 + m % 2) for m in range(1, number)))


def variants(design: Design) -> list[Design]:
    """The published design, the direct one, and both with other nodes."""
    both = [design, design.direct()]
    return both + [each.with_nodes(mixed_nodes) for each in both]


def random_error(rng: Random, size: fmpq) -> fmpq:
    """A rational in −size … size; often an end, where bounds are met."""
    if rng.random() < 0.3:
        return rng.choice([-1, 1]) * size
    return size * fmpq(rng.randint(-1000, 1000), 1000)
