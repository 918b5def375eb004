"""What the readers of all families share: sizes, norms, rotation, and folding equal layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.identify.config_fields import Fields
from exactattn.identify.features import Norm, NormKind, Pairing, Rotary
from exactattn.identify.spec import AttentionSpec, Layers

__all__ = [
    "Sizes",
    "all_biases",
    "depth",
    "fold",
    "layer_norm",
    "partial_rotation",
    "rms_norm",
    "rotation",
    "sliding_windows",
]

MAX_LAYERS = 100_000
# rules that change the angles of a rotation (and scores by a common factor), and no plane
ANGLE_RULES = frozenset({"default", "linear", "dynamic", "yarn", "longrope", "su", "llama3"})
SLIDES = {"sliding_attention": True, "full_attention": False}


@dataclass(frozen=True)
class Sizes:
    """Width, heads, groups and head size of a decoder or encoder."""

    width: int
    heads: int
    groups: int
    head_size: int

    @classmethod
    def read(
        cls,
        fields: Fields,
        *,
        groups: int | str,
        width: Sequence[str] = ("hidden_size",),
        heads: Sequence[str] = ("num_attention_heads",),
        default_heads: int | None = None,
        head_size: int | None = None,
        has_head_size: bool = True,
    ) -> Sizes:
        """Sizes from a config; ``head_size`` is the family's default, None for width/heads.

        ``groups``: their number, or "given" (required), or "heads" (as many as heads unless given). Raises
        InputError with the config's field.
        """
        E = fields.size(*width)
        H = fields.size(*heads, default=default_heads)
        if isinstance(groups, int):
            G = groups
        else:
            G = fields.size("num_key_value_heads", default=H if groups == "heads" else None)
        if H % G:
            raise InputError(
                f"{G} key/value heads do not divide {H} query heads; change one of the two",
                field=fields.name("num_key_value_heads"),
            )
        D = (fields.optional_size("head_dim") if has_head_size else None) or head_size
        if D is None:
            if E % H:
                mend = "change one of the two" + (", or give head_dim" if has_head_size else "")
                raise InputError(
                    f"{H} heads do not divide the width {E} ({width[0]}); {mend}", field=fields.name(heads[0])
                )
            D = E // H
        return cls(E, H, G, D)

    def spec(self, **features: Any) -> AttentionSpec:
        """A layer of these sizes."""
        return AttentionSpec.of(self.width, self.heads, self.groups, self.head_size, **features)


def all_biases(present: bool) -> dict[str, bool]:
    """Biases in queries, keys, values and output, all or none."""
    return dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), present)


def _eps(fields: Fields, name: str | None, default: fmpq) -> fmpq:
    given = fields.number(name) if name else None
    if given is not None and given < 0:
        raise InputError(f"must be at least 0, not {given}", field=fields.name(name or "eps"))
    return default if given is None else given


def rms_norm(fields: Fields, name: str | None, default: fmpq) -> Norm:
    """An RMS norm with scales; ε from the field, else the family's default."""
    return Norm(kind=NormKind.RMS, eps=_eps(fields, name, default))


def layer_norm(fields: Fields, name: str | None, default: fmpq, *, shift: bool = True) -> Norm:
    """A layer norm with scales, and shifts or none; ε from the field, else the family's default."""
    return Norm(kind=NormKind.LAYER, eps=_eps(fields, name, default), shift=shift)


def rotation(
    fields: Fields,
    size: int,
    pairing: Pairing,
    *,
    size_field: str = "head_dim",
    base_fields: Sequence[str] = ("rope_theta",),
    base: int = 10_000,
    angles: Fields | None = None,
    shared_key: bool = False,
) -> Rotary:
    """Rotation of ``size`` dimensions; base and angle rule from the config, old style or new.

    ``angles``: the object that holds them, where it is not rope_scaling or rope_parameters itself.
    """
    if size % 2 or size < 2:
        raise InputError(
            f"{size} rotated dimensions do not form pairs; make the number even",
            field=fields.name(size_field),
        )
    given = fields.positive(*base_fields, default=fmpq(base))
    rule = None
    section = fields.section("rope_scaling") or angles or fields.section("rope_parameters")
    if section is not None:
        rule = section.text("rope_type") or section.text("type", "default")
        if rule not in ANGLE_RULES:
            raise InputError(f"{rule!r} is not a known rule for angles", field=section.name("rope_type"))
        given = section.positive("rope_theta", default=given)
    if given <= 1:
        raise InputError(f"must exceed 1, not {given}", field=fields.name(base_fields[0]))
    return Rotary(
        size=size,
        pairing=pairing,
        base=given,
        rule=None if rule == "default" else rule,
        shared_key=shared_key,
    )


def partial_rotation(
    fields: Fields,
    head_size: int,
    field: str,
    default: fmpq,
    *,
    base_fields: Sequence[str] = ("rope_theta",),
) -> Rotary:
    """Half-split rotation of a stated part of each head."""
    section = fields.section("rope_parameters")
    part = fields.number(field)
    if part is None and section is not None:
        part = section.number("partial_rotary_factor")
    size = head_size * (default if part is None else part)
    if size.q != 1 or not 0 < size <= head_size:
        raise InputError(
            f"a part {part} of heads of size {head_size} is not a number of dimensions; change it",
            field=fields.name(field),
        )
    return rotation(fields, int(size.p), Pairing.HALF_SPLIT, size_field=field, base_fields=base_fields)


def depth(fields: Fields, *names: str) -> int:
    """The number of layers, at most 100 000."""
    layers = fields.size(*(names or ("num_hidden_layers",)))
    if layers > MAX_LAYERS:
        raise InputError(
            f"{layers} layers exceed the limit of {MAX_LAYERS}; lower it",
            field=fields.name(names[0] if names else "num_hidden_layers"),
        )
    return layers


def sliding_windows(fields: Fields, layers: int, slides: Sequence[bool]) -> list[bool]:
    """Which layers slide: from layer_types where given, else as the family does (``slides``)."""
    types = fields.texts("layer_types", layers)
    if types is None:
        return list(slides)
    unknown = sorted(set(types) - set(SLIDES))
    if unknown:
        raise InputError(
            f"{unknown[0]!r} is not a known type of attention layer; use one of {sorted(SLIDES)}",
            field=fields.name("layer_types"),
        )
    return [SLIDES[kind] for kind in types]


def fold(specs: Sequence[AttentionSpec], prefix: str = "layers") -> tuple[Layers, ...]:
    """Equal layers as one group, in order of first appearance, named by their numbers.

    >>> a, b = AttentionSpec.of(8, 2), AttentionSpec.of(8, 4)
    >>> [(group.name, group.repeat) for group in fold([a, b, a, b, a])]
    [('layers 0, 2, 4', 3), ('layers 1, 3', 2)]
    """
    numbers: dict[AttentionSpec, list[int]] = {}
    for number, spec in enumerate(specs):
        numbers.setdefault(spec, []).append(number)
    return tuple(
        Layers(
            name=f"{prefix} {_numbers_text(found)}",
            attention=spec,
            repeat=len(found),
            stack=prefix,
            numbers=tuple(found),
        )
        for spec, found in numbers.items()
    )


def _numbers_text(numbers: Sequence[int]) -> str:
    """Ranges of consecutive numbers, or the first two and the last of an arithmetic progression."""
    steps = {b - a for a, b in pairwise(numbers)}
    if len(numbers) > 3 and len(steps) == 1 and steps != {1}:
        return f"{numbers[0]}, {numbers[1]}, …, {numbers[-1]}"
    ranges: list[tuple[int, int]] = []
    for n in numbers:
        if ranges and ranges[-1][1] == n - 1:
            ranges[-1] = (ranges[-1][0], n)
        else:
            ranges.append((n, n))
    shown = [str(a) if a == b else f"{a}–{b}" for a, b in ranges]
    return ", ".join([*shown[:2], "…", shown[-1]] if len(shown) > 4 else shown)
