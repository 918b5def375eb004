"""Evidence for identification counts at listed sizes: certificates of the rank of a layer's Jacobian."""

from __future__ import annotations

from collections.abc import Sequence

from exactattn.identify import count_block, parse_variant
from exactattn.identify.rank_certificate import certify_count
from exactattn.ledger.checks import equal
from exactattn.ledger.outcome import Outcome, proved_for

__all__ = ["proved_counts"]


def proved_counts(variants: Sequence[str]) -> Outcome:
    """Proved for each variant (a line for :func:`exactattn.identify.parse_variant`): the two bounds on its
    identified parameters meet, and are the number that the counting formula gives; by certificates that
    leave nothing to chance.

    >>> proved_counts(["mha E=2 H=1"]).scope
    ('mha E=2 H=1: 8 of 16 identified',)
    """
    steps, certificates, scope = [], [], []
    for variant in variants:
        spec = parse_variant(variant).layers[0].attention
        found = certify_count(spec, deterministic=True)
        steps += [
            equal(f"{variant}: the bounds on the rank meet", found.at_least, found.at_most),
            equal(f"{variant}: the formula gives this number", count_block(spec).identified, found.at_least),
        ]
        certificates.append(found.content)
        scope.append(f"{variant}: {found.at_least} of {found.parameters} identified")
    return proved_for(
        scope,
        "rank of the Jacobian: independent rows modulo a prime bound it from below for almost all "
        "parameters, independent tangents of symmetries from above",
        steps,
        certificates,
    )
