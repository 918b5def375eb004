"""The smallest certified rank of every head of a checkpoint, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from exactattn.allocate.truncation import TruncatedHead
from exactattn.allocate.weights import LayerWeights, ModelWeights, load_weights
from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, read_config

__all__ = ["HeadAllocation", "LayerAllocation", "allocate", "open_model", "upper_text"]

DIGITS = 10


@dataclass(frozen=True)
class HeadAllocation:
    """One head with the smallest rank whose certified bound meets the tolerance."""

    bounds: TruncatedHead
    rank: int

    @property
    def saved(self) -> int:
        """Query/key weights that a head of this rank does not need: 2E(D − r)."""
        return 2 * self.bounds.weights.width * (self.bounds.weights.size - self.rank)

    def data(self) -> dict[str, Any]:
        """JSON values; bounds are decimals rounded up."""
        return {
            "size": self.bounds.weights.size,
            "rank": self.rank,
            "score_bound": upper_text(self.bounds.score_change(self.rank)),
            "attention_bound": upper_text(self.bounds.attention_change(self.rank)),
            "output_bound": upper_text(self.bounds.output_change(self.rank)),
            "value_diameter": upper_text(self.bounds.diameter),
            "singular_values": [x.str(DIGITS, radius=False) for x in self.bounds.spectrum.values],
        }


@dataclass(frozen=True)
class LayerAllocation:
    """The heads of one layer."""

    index: int
    heads: tuple[HeadAllocation, ...]

    @property
    def parameters(self) -> int:
        """Query/key weights of the layer."""
        return sum(2 * h.bounds.weights.width * h.bounds.weights.size for h in self.heads)

    @property
    def saved(self) -> int:
        """Query/key weights that the smaller heads do not need."""
        return sum(h.saved for h in self.heads)

    def data(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "layer": self.index,
            "parameters": self.parameters,
            "saved": self.saved,
            "heads": [{"head": number, **head.data()} for number, head in enumerate(self.heads)],
        }


def open_model(path: Path, *, heads: int | None = None, config: Path | None = None) -> ModelWeights:
    """The attention layers in a file, with the number of heads from ``heads``, a config.json, or the
    config.json beside the file.

    Raises InputError if neither is there, or if the config describes attention to which the bounds do not
    apply: rotated or normed queries and keys, latents, soft-capped scores, shared key heads.
    """
    if heads is not None:
        if config is not None:
            raise InputError("give one of --heads and --config", field="--heads")
        return load_weights(path, heads)
    beside = path.parent / "config.json"
    if config is None and not beside.is_file():
        raise InputError("the number of heads is not known; give --heads or --config", file=path)
    model = read_config(config or beside)
    specs = {group.attention for group in model.layers}
    if len({(spec.heads, spec.score_scale_squared) for spec in specs}) > 1:
        raise InputError("has layers of different kinds; give --heads", file=config or beside)
    for spec in specs:
        _require_plain(spec, config or beside)
    spec = specs.pop()
    return load_weights(path, spec.heads, spec.score_scale_squared)


def _require_plain(spec: AttentionSpec, file: Path) -> None:
    reasons = {
        "rotated queries and keys": spec.rotary,
        "norms on queries and keys": spec.query_key_norm,
        "latents": spec.query_latent or spec.key_value_latent,
        "soft-capped scores": spec.soft_cap,
        "key heads shared by query heads": spec.groups != spec.heads,
        "cross-attention": spec.cross,
    }
    for reason, present in reasons.items():
        if present:
            raise InputError(f"describes {reason}, for which no bound is known here", file=file)


def allocate(
    model: ModelWeights,
    tolerance: fmpq,
    *,
    token_norm: fmpq | None = None,
    absolute: bool = False,
    layers: Sequence[int] | None = None,
) -> Iterator[LayerAllocation]:
    """The smallest rank of each head whose certified bound is at most the tolerance: a share of the diameter
    of the head's values, or (``absolute``) a distance in the layer's output.

    Tokens are what the layer norm before the layer gives, whatever enters it; with ``token_norm`` they are
    any vectors of at most that norm. Raises InputError for a negative tolerance, layers that do not exist,
    and layers without a norm in the file if no ``token_norm`` is given.
    """
    if tolerance < 0:
        raise InputError(f"must be at least 0, not {tolerance}", field="tolerance")
    chosen = list(range(model.depth)) if not layers else sorted(set(layers))
    for index in chosen:
        if not 0 <= index < model.depth:
            raise InputError(f"layers are 0 to {model.depth - 1}, not {index}", field="layer")
    for index in chosen:
        yield _allocated(model.layer(index), model, tolerance, token_norm, absolute)


def _allocated(
    layer: LayerWeights, model: ModelWeights, tolerance: fmpq, token_norm: fmpq | None, absolute: bool
) -> LayerAllocation:
    norm = None if token_norm is not None else layer.norm
    if norm is None and token_norm is None:
        raise InputError(
            f"has no layer norm that makes the tokens of layer {layer.index}; give --token-norm",
            file=model.file.path,
        )
    bounds = [TruncatedHead(head, norm, token_norm) for head in layer.heads]
    return LayerAllocation(
        layer.index,
        tuple(HeadAllocation(b, b.smallest_rank(tolerance, absolute=absolute)) for b in bounds),
    )


def upper_text(x: arb, decimals: int = 6) -> str:
    """A decimal that is not below the number, at most one unit of its last place above its upper end.

    >>> upper_text(arb(1) / 3)
    '0.333334'
    """
    scaled = x.upper().mid().fmpq() * fmpq(10) ** decimals
    number = int(scaled.ceil())
    sign, digits = ("-" if number < 0 else ""), str(abs(number)).rjust(decimals + 1, "0")
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"
