"""Whether two sets of attention parameters are the same function: layer by layer, head by head.

Verdicts rest on exact arithmetic. "equal modulo gauge": all forms are equal, up to the order of heads
(theory, section 1). "equal within": every form differs by at most a certified, small share of the size of its
factors. "different": an input is shown at which the outputs certainly differ. Else "unknown".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from flint import arb, fmpq, fmpq_mat

from exactattn.checkpoint.compare_forms import Form, HeadForms, LayerForms
from exactattn.checkpoint.compare_match import proposed_matches
from exactattn.checkpoint.compare_reading import architecture, common_factors, layer_forms
from exactattn.checkpoint.compare_separate import SeparatingInput, separating_input
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.gauge_element import change_of_basis
from exactattn.identify.parameters import Array
from exactattn.identify.spec import AttentionSpec

__all__ = [
    "HeadComparison",
    "LayerComparison",
    "Part",
    "Sameness",
    "compare_layers",
    "rounding_share",
]


EXACTLY = fmpq(0)
LARGEST_BASIS = 16


class Sameness(Enum):
    """The four verdicts."""

    EQUAL = "equal modulo gauge"
    WITHIN = "equal within"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Part:
    """One form or vector of both layers: the exact square of the distance, and that of its size.

    The size of a form is |L||R|, which rounding of its factors is measured against; that of a vector is its
    norm; the larger of both layers counts.
    """

    name: str
    distance_squared: fmpq
    size_squared: fmpq

    @property
    def equal(self) -> bool:
        """Whether there is no distance at all."""
        return bool(self.distance_squared == 0)

    def within(self, share: fmpq) -> bool:
        """Whether the distance is at most this share of the size; exact."""
        return bool(self.distance_squared <= share * share * self.size_squared)

    @property
    def share(self) -> arb:
        """Distance over size."""
        if self.equal:
            return arb(0)
        return arb("inf") if self.size_squared == 0 else arb(self.distance_squared / self.size_squared).sqrt()


@dataclass(frozen=True)
class HeadComparison:
    """Two heads taken to be the same (numbers within their layers; several where heads have equal scores),
    with all their parts. ``bases``: for heads that are equal, the change of basis of each form that has
    exactly one, if it is not larger than 16×16; queries become S W_Q and keys S⁻ᵀ W_K, and likewise W_Oᵀ
    becomes S W_Oᵀ and W_V becomes S⁻ᵀ W_V.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    parts: tuple[Part, ...]
    bases: Mapping[str, fmpq_mat] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Whether all parts are equal."""
        return all(part.equal for part in self.parts)

    @property
    def share(self) -> arb:
        """The largest distance as a share of the size, over all parts."""
        return _largest_share(self.parts)


@dataclass(frozen=True)
class LayerComparison:
    """The comparison of two layers, with the verdict.

    ``within`` is the share that distances may have to count as rounding. ``unmatched``: heads of the first
    and of the second layer that have no partner. ``separating``: an input at which the outputs differ.
    ``reason``: why nothing could be said.
    """

    within: fmpq
    heads: tuple[HeadComparison, ...] = ()
    parts: tuple[Part, ...] = ()
    unmatched: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    separating: SeparatingInput | None = None
    reason: str = ""

    @cached_property
    def every_part(self) -> tuple[Part, ...]:
        """The parts of all heads, and those of the layer."""
        return (*(part for head in self.heads for part in head.parts), *self.parts)

    @property
    def verdict(self) -> Sameness:
        """What is proved."""
        if self.separating is not None:
            return Sameness.DIFFERENT
        if self.reason or any(self.unmatched):
            return Sameness.UNKNOWN
        if all(part.equal for part in self.every_part):
            return Sameness.EQUAL
        close = all(part.within(self.within) for part in self.every_part)
        return Sameness.WITHIN if close else Sameness.UNKNOWN

    @property
    def share(self) -> arb:
        """The largest distance as a share of the size, over all parts."""
        return _largest_share(self.every_part)


def _upper(x: arb) -> float:
    return float(x.upper())


def _largest_share(parts: Iterable[Part]) -> arb:
    return max((part.share for part in parts), key=_upper, default=arb(0))


def rounding_share(unit: fmpq) -> fmpq:
    """How far, as a share of |L||R|, a form LᵀR may move when both layers' factors were rounded with this
    unit (2⁻²⁴ for float32): 2((1 + u)² − 1).

    >>> rounding_share(fmpq(1, 2))
    5/2
    """
    return 2 * ((1 + unit) ** 2 - 1)


def compare_layers(
    first: tuple[AttentionSpec, Mapping[str, Array]],
    second: tuple[AttentionSpec, Mapping[str, Array]],
    within: fmpq = EXACTLY,
) -> LayerComparison:
    """Compares two layers, each an architecture and its parameters (floats that hold exact numbers, by the
    names of ``exactattn.identify.parameters``).

    Norms before the layers are folded in. ``within``: the share of its size that a form may be off.

    >>> import numpy as np
    >>> spec = AttentionSpec.of(width=2, heads=1)
    >>> one, two = np.eye(2), 2 * np.eye(2)
    >>> a = {"query": one, "key": one, "value": one, "output": one}
    >>> b = {"query": two, "key": one / 2, "value": one, "output": one}
    >>> compare_layers((spec, a), (spec, b)).verdict.value
    'equal modulo gauge'
    >>> compare_layers((spec, a), (spec, {**b, "key": one})).verdict.value
    'different'
    """
    (spec_a, _), (spec_b, _) = first, second
    kinds = architecture(spec_a), architecture(spec_b)
    unlike = [name for name in kinds[0] if kinds[0][name] != kinds[1][name]]
    if spec_a.width != spec_b.width or spec_a.key_width != spec_b.key_width:
        return LayerComparison(within, reason="the layers have different widths")
    factors = common_factors(spec_a, spec_b)
    if unlike or factors is None:
        separating = separating_input(first, second)
        what = ", ".join(unlike) or "factors on scores"
        reason = (
            "" if separating else f"no forms in common ({what}), and no input found that shows a difference"
        )
        return LayerComparison(within, separating=separating, reason=reason)
    forms = layer_forms(*first, factor=factors[0]), layer_forms(*second, factor=factors[1])
    pairs = proposed_matches(*forms)
    heads = tuple(_heads(forms[0].heads[i], forms[1].heads[j]) for i, j in pairs)
    found = LayerComparison(within, heads, tuple(_layer_parts(*forms)), _unmatched(forms, pairs))
    if found.verdict is Sameness.UNKNOWN:
        by_share = sorted(zip(heads, pairs, strict=True), key=lambda pair: -_upper(pair[0].share))
        farthest = [pair for head, pair in by_share if not head.equal][:2]
        separating = separating_input(first, second, forms, farthest)
        reason = "" if separating else f"the forms differ, and no input {_why_not((spec_a, spec_b))}"
        return LayerComparison(within, heads, found.parts, found.unmatched, separating, reason)
    return found


def _heads(a: HeadForms, b: HeadForms) -> HeadComparison:
    parts = [_form_part(name, form, b.scores[name]) for name, form in a.scores.items()]
    parts += [_vector_part(name, x, b.vectors[name]) for name, x in a.vectors.items()]
    parts.append(_form_part("outputs", a.output, b.output))
    equal = all(part.equal for part in parts)
    return HeadComparison(a.members, b.members, tuple(parts), _bases(a, b) if equal else {})


def _bases(a: HeadForms, b: HeadForms) -> dict[str, fmpq_mat]:
    pairs = {name: (form, b.scores[name]) for name, form in a.scores.items()} | {
        "outputs": (a.output, b.output)
    }
    found = {}
    for name, (one, other) in pairs.items():
        basis = change_of_basis(one, other) if one.left.shape[0] <= LARGEST_BASIS else None
        if basis is not None:
            found[name] = basis
    return found


def _why_not(specs: tuple[AttentionSpec, AttentionSpec]) -> str:
    rules = {spec.rotary.rule for spec in specs if spec.rotary is not None} - {None}
    if rules:
        return f"can be run that shows it: the rule {min(map(str, rules))} for angles is known by name only"
    return "was found that shows it"


def _form_part(name: str, a: Form, b: Form) -> Part:
    return Part(name, a.distance_squared(b), max(a.factors_squared, b.factors_squared))


def _vector_part(name: str, x: Dyadic, y: Dyadic) -> Part:
    return Part(name, (x - y).frobenius_squared(), max(x.frobenius_squared(), y.frobenius_squared()))


def _layer_parts(a: LayerForms, b: LayerForms) -> list[Part]:
    constant = Part(
        "constant",
        (a.constant - b.constant).frobenius_squared(),
        max(a.constant_squared, b.constant_squared),
    )
    return [constant, *(_vector_part(name, x, b.vectors[name]) for name, x in a.vectors.items())]


def _unmatched(
    forms: tuple[LayerForms, LayerForms], pairs: list[tuple[int, int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    left = {i for i, _ in pairs}, {j for _, j in pairs}
    missing = [
        tuple(h for k, head in enumerate(layer.heads) if k not in taken for h in head.members)
        for layer, taken in zip(forms, left, strict=True)
    ]
    return missing[0], missing[1]
