"""The parts an attention layer may have: norms, latents, rotation, relative biases, sinks, ties.

Each is a frozen value that checks itself. Which dimensions of a head are rotated is a matter of naming:
here the first ones. A scale stored as 1 + w (as Gemma does) is a scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from flint import fmpq

from exactattn.exceptions import InputError

__all__ = [
    "Latent",
    "Norm",
    "NormKind",
    "Pairing",
    "QueryKeyNorm",
    "RelativeBias",
    "Rotary",
    "Scope",
    "Sinks",
    "Tie",
    "require_size",
]

LARGEST_SIZE = 10**9


def require_size(value: object, field: str, least: int = 1) -> None:
    """Raise InputError unless ``value`` is an integer from ``least`` to 10⁹."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST_SIZE:
        shown = repr(value)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        raise InputError(
            f"must be an integer from {least} to {LARGEST_SIZE:,}, not {shown}".replace(",", " "), field=field
        )


class NormKind(Enum):
    """RMS norm divides by √(mean of squares + ε); layer norm subtracts the mean first."""

    RMS = "rms"
    LAYER = "layer"


class Scope(Enum):
    """What one query/key norm covers, and which heads share its scales.

    SHARED: each head alone, one scale vector for all query heads and one for all key groups. SEPARATE: each
    head alone, each with its own scales. WIDTH: all heads together, one scale a coordinate.
    """

    SHARED = "shared"
    SEPARATE = "separate"
    WIDTH = "width"


class Pairing(Enum):
    """Which dimensions rotate together: i with i + R/2 (half-split), or 2i with 2i + 1 (interleaved)."""

    HALF_SPLIT = "half-split"
    INTERLEAVED = "interleaved"


class Sinks(Enum):
    """A further term in each softmax denominator: exp of a learned number a head, or 1 ("+1" softmax)."""

    LEARNED = "learned"
    ONE = "one"


class Tie(Enum):
    """Projections, with their biases, that are one and the same within a layer.

    QUERY_KEY: W_Q = W_K in each head. KEY_VALUE: W_K = W_V in each group. QUERY_HEADS: all heads of a group
    use one query projection (and so one attention pattern).
    """

    QUERY_KEY = "query=key"
    KEY_VALUE = "key=value"
    QUERY_HEADS = "query heads"


@dataclass(frozen=True, kw_only=True)
class Norm:
    """A norm: its kind, the exact ε ≥ 0 inside its root, and whether it has learned scales and shifts.

    >>> Norm(kind=NormKind.RMS, eps=fmpq(1, 100000)).parameters(8)
    8
    """

    kind: NormKind
    eps: fmpq
    scale: bool = True
    shift: bool = False

    def __post_init__(self) -> None:
        if self.eps < 0:
            raise InputError(f"ε inside a norm is at least 0, not {self.eps}", field="eps")
        if self.shift and self.kind is NormKind.RMS:
            raise InputError("an RMS norm with a shift is not supported; use layer norm", field="shift")
        if self.shift and not self.scale:
            raise InputError("a norm with a shift and no scale is not supported", field="shift")

    def parameters(self, size: int) -> int:
        """The number of learned numbers of this norm on vectors of ``size``."""
        return size * (self.scale + self.shift)


@dataclass(frozen=True, kw_only=True)
class QueryKeyNorm:
    """A norm on queries and the same kind of norm, with its own scales, on keys, before any rotation."""

    norm: Norm
    scope: Scope


@dataclass(frozen=True, kw_only=True)
class Latent:
    """A down-projection to ``rank`` numbers (with a bias or not), then a norm or none, before the
    up-projections.
    """

    rank: int
    norm: Norm | None = None
    bias: bool = False

    def __post_init__(self) -> None:
        require_size(self.rank, "rank")


@dataclass(frozen=True, kw_only=True)
class Rotary:
    """Rotation of the first ``size`` dimensions of each query and key head by angles proportional to the
    position.

    ``base`` is that of the angles base^(−2i/size); None stands for generic distinct angles. ``rule`` names
    a fixed change of the angles (and of the scores by one common factor), such as "yarn"; it changes no
    rotation plane and keeps the angles distinct. ``shared_key``: the rotated part of the key is a
    projection of the layer's input of its own, one for all heads (decoupled, beside a key/value latent).

    >>> Rotary(size=64, pairing=Pairing.HALF_SPLIT).planes
    32
    """

    size: int
    pairing: Pairing
    base: fmpq | None = None
    rule: str | None = None
    shared_key: bool = False

    def __post_init__(self) -> None:
        require_size(self.size, "rotary size")
        if self.size % 2:
            raise InputError(f"{self.size} is odd; rotations need pairs of dimensions", field="rotary size")
        if self.base is not None and self.base <= 1:
            raise InputError(f"the base of the angles must exceed 1, not {self.base}", field="rotary base")

    @property
    def planes(self) -> int:
        """The number R/2 of rotation planes."""
        return self.size // 2


@dataclass(frozen=True, kw_only=True)
class RelativeBias:
    """A learned number a head and a bucket, added to scores; buckets of distances as in T5.

    ``bidirectional``: the lower half of the buckets is for keys at or before the query, the upper half for
    those after it; otherwise all later keys fall in bucket 0. Half of the buckets of a direction hold one
    distance each, the rest are logarithmic up to ``max_distance``; all larger distances share the last.

    >>> table = RelativeBias(buckets=32, max_distance=128, bidirectional=True)
    >>> [table.bucket(offset) for offset in (0, -7, -200, 1, 5)]
    [0, 7, 15, 17, 21]
    >>> len(table.reached(causal=False))     # bucket 16 would be "0 tokens after"
    31
    """

    buckets: int
    max_distance: int
    bidirectional: bool

    def __post_init__(self) -> None:
        require_size(self.buckets, "buckets", 2)
        require_size(self.max_distance, "max_distance")
        if self.buckets > 10_000 or self.max_distance > 100_000:
            raise InputError("more than 10 000 buckets or a distance over 100 000", field="buckets")
        if self.bidirectional and (self.buckets % 2 or self.buckets < 4):
            raise InputError(
                f"{self.buckets} buckets for two directions; use an even number from 4", field="buckets"
            )
        if self.max_distance <= self._exact:
            raise InputError(
                f"must exceed {self._exact}, the distances with a bucket each", field="max_distance"
            )

    @property
    def _one_way(self) -> int:
        return self.buckets // 2 if self.bidirectional else self.buckets

    @property
    def _exact(self) -> int:
        return self._one_way // 2

    def bucket(self, offset: int) -> int:
        """The bucket of a key ``offset`` tokens after the query (negative: before it); exact, without
        logarithms.
        """
        start = self._one_way if self.bidirectional and offset > 0 else 0
        distance = abs(offset) if self.bidirectional else max(-offset, 0)
        if distance < self._exact or self._exact == 0:
            return start + min(distance, self._one_way - 1)
        steps = self._one_way - self._exact
        step = 0
        # the largest step with (distance/exact)^steps ≥ (max_distance/exact)^step
        while step < steps - 1 and (
            distance**steps * self._exact ** (step + 1)
            >= self.max_distance ** (step + 1) * self._exact**steps
        ):
            step += 1
        return start + self._exact + step

    def reached(self, *, causal: bool) -> frozenset[int]:
        """The buckets that some pair of positions falls in; the others never act."""
        past = {self.bucket(-d) for d in range(self.max_distance + 1)}
        future = set() if causal else {self.bucket(d) for d in range(1, self.max_distance + 1)}
        return frozenset(past | future)
