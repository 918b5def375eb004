"""What an attention layer and a model are made of: the architecture, without weights (theory, section 8).

Conventions, column vectors: queries W_Q x + b_Q (H heads of size D), keys and values in G groups (sizes D
and C), head h reads group ⌊h G / H⌋, outputs Σ_h W_O^h (…) + b_O of size E. Rows of scores are one query
against all keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.identify.features import (
    Latent,
    Norm,
    QueryKeyNorm,
    RelativeBias,
    Rotary,
    Sinks,
    Tie,
    require_size,
)

__all__ = ["AttentionSpec", "Layers", "ModelSpec"]


@dataclass(frozen=True, kw_only=True)
class AttentionSpec:
    """One attention layer. Sizes: width E, heads H, groups G, head_size D (rotated part included),
    value_size C.

    ``source_width``: width of the other sequence that keys and values come from (cross-attention); None for
    self-attention. ``scale_squared``: square of the factor on the scores, None for 1/D. ``soft_cap``:
    scores s become c·tanh(s/c). ``window``: each query sees only its last ``window`` tokens (or that far
    either way). ``norm_before`` and ``norm_after`` belong to the block, not to the bare layer. Raises
    InputError, naming the field and the mend, where fields contradict each other.

    >>> spec = AttentionSpec.of(width=768, heads=12, query_bias=True)
    >>> spec.head_size, spec.groups
    (64, 12)
    """

    width: int
    heads: int
    groups: int
    head_size: int
    value_size: int
    source_width: int | None = None
    query_bias: bool = False
    key_bias: bool = False
    value_bias: bool = False
    output_bias: bool = False
    query_latent: Latent | None = None
    key_value_latent: Latent | None = None
    rotary: Rotary | None = None
    query_key_norm: QueryKeyNorm | None = None
    sinks: Sinks | None = None
    soft_cap: fmpq | None = None
    alibi: bool = False
    relative_bias: RelativeBias | None = None
    scale_squared: fmpq | None = None
    causal: bool = True
    window: int | None = None
    norm_before: Norm | None = None
    norm_after: Norm | None = None
    ties: frozenset[Tie] = frozenset()

    @classmethod
    def of(
        cls,
        width: int,
        heads: int,
        groups: int | None = None,
        head_size: int | None = None,
        value_size: int | None = None,
        **features: Any,
    ) -> AttentionSpec:
        """A layer with groups = heads, head_size = width/heads and value_size = head_size unless given."""
        require_size(width, "width")
        require_size(heads, "heads")
        if head_size is None:
            if width % heads:
                raise InputError(
                    f"{heads} heads do not divide the width {width}; give the head size", field="heads"
                )
            head_size = width // heads
        return cls(
            width=width,
            heads=heads,
            groups=heads if groups is None else groups,
            head_size=head_size,
            value_size=head_size if value_size is None else value_size,
            **features,
        )

    def __post_init__(self) -> None:
        for field in ("width", "heads", "groups", "head_size", "value_size"):
            require_size(getattr(self, field), field)
        if self.source_width is not None:
            require_size(self.source_width, "source_width")
        if self.heads % self.groups:
            raise InputError(
                f"{self.groups} key/value groups do not divide {self.heads} heads; change one", field="groups"
            )
        if self.window is not None:
            require_size(self.window, "window")
        for field in ("soft_cap", "scale_squared"):
            number = getattr(self, field)
            if number is not None and number <= 0:
                raise InputError(f"must be positive, not {number}", field=field)
        self._check_scores()
        self._check_cross()
        self._check_ties()

    def _check_scores(self) -> None:
        if self.rotary is not None:
            if self.rotary.size > self.head_size:
                raise InputError(
                    f"{self.rotary.size} rotated dimensions do not fit in a head of size {self.head_size}",
                    field="rotary size",
                )
            if self.rotary.shared_key and self.key_value_latent is None:
                raise InputError("a decoupled rotary key needs a key/value latent", field="shared_key")
        if self.soft_cap is not None and (self.alibi or self.relative_bias is not None):
            raise InputError(
                "soft-capping together with ALiBi or a relative bias is not supported", field="soft_cap"
            )
        latents = self.query_latent is not None or self.key_value_latent is not None
        if self.key_value_latent is not None and self.groups != self.heads:
            raise InputError(
                f"latent attention has one key head a query head; set groups to {self.heads}", field="groups"
            )
        if latents and self.query_key_norm is not None:
            raise InputError(
                "query/key norms together with latents are not supported", field="query_key_norm"
            )

    def _check_cross(self) -> None:
        if self.source_width is None:
            return
        for field in ("rotary", "alibi", "relative_bias", "causal", "window"):
            if getattr(self, field):
                raise InputError("cross-attention has no positions; drop this field", field=field)

    def _check_ties(self) -> None:
        if not self.ties:
            return
        if self.query_latent or self.key_value_latent or self.query_key_norm:
            raise InputError(
                "tied projections with latents or query/key norms are not supported", field="ties"
            )
        if Tie.QUERY_KEY in self.ties and (
            self.groups != self.heads or self.query_bias != self.key_bias or self.key_width != self.width
        ):
            raise InputError(
                "query=key needs as many groups as heads, one width, and both biases or neither", field="ties"
            )
        if Tie.KEY_VALUE in self.ties and (
            self.head_size != self.value_size or self.key_bias != self.value_bias
        ):
            raise InputError(
                "key=value needs equal head and value sizes, and both biases or neither", field="ties"
            )

    @property
    def cross(self) -> bool:
        """Whether keys and values come from another sequence."""
        return self.source_width is not None

    @property
    def key_width(self) -> int:
        """The width of what keys and values are projected from."""
        return self.width if self.source_width is None else self.source_width

    @property
    def heads_per_group(self) -> int:
        """H/G."""
        return self.heads // self.groups

    @property
    def rotated(self) -> int:
        """R, the number of rotated dimensions of a head."""
        return 0 if self.rotary is None else self.rotary.size

    @property
    def unrotated(self) -> int:
        """D − R."""
        return self.head_size - self.rotated

    @property
    def score_scale_squared(self) -> fmpq:
        """The square of the factor on the scores."""
        return fmpq(1, self.head_size) if self.scale_squared is None else self.scale_squared

    def bare(self) -> AttentionSpec:
        """The layer without the norms around it."""
        return replace(self, norm_before=None, norm_after=None)


@dataclass(frozen=True, kw_only=True)
class Layers:
    """Equal attention layers of a model: a name such as "layers 0–11", the architecture, and how many there
    are.

    ``stack`` and ``numbers``: the stack they are in and their numbers there, where a config was read.
    """

    name: str
    attention: AttentionSpec
    repeat: int = 1
    stack: str = "layers"
    numbers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_size(self.repeat, "repeat")


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """The attention part of a model: its layers, and which of them share one relative-bias table.

    ``shared_relative_bias`` lists sets of names of layers; all layers of a set read the same table. A layer
    with a relative bias in no set has its own.

    >>> layer = AttentionSpec.of(width=8, heads=2)
    >>> ModelSpec(name="toy", family="gpt2", layers=(Layers(name="layers", attention=layer, repeat=3),)).depth
    3
    """

    name: str
    family: str
    layers: tuple[Layers, ...]
    shared_relative_bias: tuple[frozenset[str], ...] = ()

    def __post_init__(self) -> None:
        if not self.layers:
            raise InputError("a model has at least one attention layer", field="layers")
        names = [group.name for group in self.layers]
        if len(set(names)) != len(names):
            raise InputError(f"two groups of layers have one name in {names}", field="layers")
        shared = [name for names_ in self.shared_relative_bias for name in names_]
        if len(set(shared)) != len(shared):
            raise InputError("a layer reads two relative-bias tables", field="shared_relative_bias")
        for names_ in self.shared_relative_bias:
            members = [group.attention for group in self.layers if group.name in names_]
            tables = {(spec.relative_bias, spec.heads) for spec in members}
            if len(members) != len(names_) or len(tables) != 1 or None in {table for table, _ in tables}:
                raise InputError(
                    "layers that share a relative-bias table must exist and have the same table and heads",
                    field="shared_relative_bias",
                )

    @property
    def depth(self) -> int:
        """The number of attention layers."""
        return sum(group.repeat for group in self.layers)
