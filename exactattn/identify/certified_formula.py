"""A count's formula certified: at the sizes of the layer if that is feasible, else at small ones like them.

Sizes are alike when the formula is the same expression, and the same divisibilities hold: heads divide the
width or not, heads fill the width, exceed it or do not, all of a head is rotated or only a part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import sympy

from exactattn.exceptions import CertificateError, InputError
from exactattn.identify.counts import count_block
from exactattn.identify.features import Latent, NormKind, RelativeBias, Rotary
from exactattn.identify.parameters import parameter_count
from exactattn.identify.rank_certificate import RankCertificate, certify_count
from exactattn.identify.spec import AttentionSpec

__all__ = ["CertifiedFormula", "certify_formula", "like_sizes"]

FEASIBLE = 1500
"""Up to so many parameters the sizes given are certified: some seconds."""

SIZES_WANTED = 3
SMALL_ENOUGH, WIDEST = 800, 24


@dataclass(frozen=True)
class CertifiedFormula:
    """Certificates of one formula; ``given``: at the sizes asked for, else at smaller ones like them."""

    spec: AttentionSpec
    certificates: tuple[RankCertificate, ...]
    given: bool

    @property
    def proved(self) -> bool:
        """Whether every certificate proves the number that the formula gives."""
        return all(
            each.verdict == "proved" and each.at_least == count_block(each.spec).identified
            for each in self.certificates
        )


def certify_formula(spec: AttentionSpec, *, limit: int = FEASIBLE) -> CertifiedFormula:
    """Certifies the count of a layer, norms around it included, up to ``limit`` parameters; else its formula
    at three smaller sizes like it. Raises CertificateError if there are no such sizes.

    >>> found = certify_formula(AttentionSpec.of(width=768, heads=12))
    >>> found.given, found.proved, [each.spec.width for each in found.certificates]
    (False, True, [2, 4, 6])
    """
    if parameter_count(spec) <= limit:
        return CertifiedFormula(spec, (certify_count(spec),), True)
    return CertifiedFormula(spec, tuple(certify_count(each) for each in like_sizes(spec)), False)


def like_sizes(spec: AttentionSpec) -> list[AttentionSpec]:
    """Three small architectures with the formula and the divisibilities of a large one, smallest first."""
    formula = count_block(spec).unidentified_formula
    candidates = [
        each for each in _smaller(spec) if _alike(each, spec) and parameter_count(each) <= SMALL_ENOUGH
    ]
    found: list[AttentionSpec] = []
    # first one of each head size, then others
    for again in (False, True):
        for each in sorted(candidates, key=parameter_count):
            fresh = again or each.head_size not in [other.head_size for other in found]
            if len(found) < SIZES_WANTED and fresh and each not in found and _has_formula(each, formula):
                found.append(each)
    if len(found) < SIZES_WANTED:
        raise CertificateError(
            "no small sizes have the formula of this layer; certify smaller ones by --variant"
        )
    return sorted(found, key=parameter_count)


def _has_formula(spec: AttentionSpec, formula: sympy.Expr) -> bool:
    """Whether a count is derived for these sizes, and is this expression."""
    try:
        return bool(count_block(spec).unidentified_formula == formula)
    except InputError:
        return False


def _alike(small: AttentionSpec, large: AttentionSpec) -> bool:
    """Whether the same divisibilities and relations between sizes hold."""

    def relations(spec: AttentionSpec) -> tuple[bool | int, ...]:
        filled = [spec.heads * size - spec.width for size in (spec.head_size, spec.value_size)]
        return (
            spec.width % spec.heads == 0,
            *((x > 0) - (x < 0) for x in filled),
            spec.head_size == spec.value_size,
            spec.key_width == spec.width,
        )

    return relations(small) == relations(large)


def _smaller(spec: AttentionSpec) -> Iterator[AttentionSpec]:
    """Small architectures with the features of a large one."""
    shared = spec.heads // spec.groups
    groups = (2, 3) if spec.groups > 1 else (1,)
    norm = spec.query_key_norm
    least = 1 if norm is None else 2 + 2 * (norm.norm.kind is NormKind.LAYER)
    rotated = sorted({2, 4} if spec.rotated else {0})
    unrotated = [0] if spec.rotated and not spec.unrotated else range(int(spec.rotated > 0), 6)
    for count, per, turned, rest in product(groups, (2, 3) if shared > 1 else (1,), rotated, unrotated):
        size = turned + rest
        heads = count * per
        if size < least:
            continue
        values = [size] if spec.value_size == spec.head_size else range(1, 4)
        for value, width in product(values, range(1, 3 * heads * size + 4)):
            if width <= WIDEST:
                yield from _with_latents(spec, width, heads, count, size, value, turned)


def _with_latents(
    spec: AttentionSpec, width: int, heads: int, groups: int, size: int, value: int, turned: int
) -> Iterator[AttentionSpec]:
    rotary = None if spec.rotary is None else replace_rotary(spec.rotary, turned)
    ranks = [range(2, 5) if latent else [0] for latent in (spec.query_latent, spec.key_value_latent)]
    table = spec.relative_bias
    if table is not None:
        table = RelativeBias(
            buckets=8 if table.bidirectional else 4, max_distance=5, bidirectional=table.bidirectional
        )
    for query, key in product(*ranks):
        try:
            yield replace(
                spec,
                width=width,
                heads=heads,
                groups=groups,
                head_size=size,
                value_size=value,
                source_width=None if spec.source_width is None else _source(spec, width),
                query_latent=_ranked(spec.query_latent, query),
                key_value_latent=_ranked(spec.key_value_latent, key),
                rotary=rotary,
                relative_bias=table,
            )
        except InputError:
            continue  # sizes that contradict each other


def replace_rotary(rotary: Rotary, size: int) -> Rotary:
    """The rotation of another number of dimensions."""
    return replace(rotary, size=size)


def _ranked(latent: Latent | None, rank: int) -> Latent | None:
    return None if latent is None else replace(latent, rank=rank)


def _source(spec: AttentionSpec, width: int) -> int:
    return width if spec.key_width == spec.width else width + 1
