"""The symmetries of heads: changes of basis between queries and keys, and between values and outputs, and
what query/key norms leave of them (theory, section 8).

Why each leaves the function unchanged, in one line: scores are sums of products of a query and a key
coordinate (rotated plane by plane, by matrices that commute with the plane's scaled rotations), outputs are
W_O times values; a norm is blind to the size of what it norms (ε = 0), to rotations of it, and, with the mean
subtracted, to its mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exactattn.identify.features import NormKind, Scope, Tie
from exactattn.identify.gauge import LinearSymmetry, Move, Piece, PieceKind, Side
from exactattn.identify.layer import rotary_pairs
from exactattn.identify.parameters import parameter_shapes
from exactattn.identify.spec import AttentionSpec

__all__ = ["Places", "head_symmetries"]


@dataclass(frozen=True)
class Places:
    """Where the numbers of a head are in the arrays of parameters."""

    spec: AttentionSpec

    @property
    def query_heads(self) -> int:
        """Heads that have a query projection of their own."""
        return self.spec.groups if Tie.QUERY_HEADS in self.spec.ties else self.spec.heads

    @property
    def key_array(self) -> str:
        """The array of W_K."""
        return "query" if Tie.QUERY_KEY in self.spec.ties else "key"

    @property
    def value_array(self) -> str:
        """The array of W_V."""
        return self.key_array if Tie.KEY_VALUE in self.spec.ties else "value"

    @property
    def shared(self) -> int:
        """Dimensions of keys that all heads share."""
        rotary = self.spec.rotary
        return rotary.size if rotary is not None and rotary.shared_key else 0

    def queries_of(self, group: int) -> list[int]:
        """The query projections of a group."""
        each = self.query_heads // self.spec.groups
        return list(range(group * each, (group + 1) * each))

    def heads_of(self, group: int) -> list[int]:
        """The heads of a group."""
        each = self.spec.heads_per_group
        return list(range(group * each, (group + 1) * each))

    def query_rows(self, head: int, dimensions: range | list[int]) -> tuple[int, ...]:
        """Rows of dimensions of a query head."""
        return tuple(head * self.spec.head_size + d for d in dimensions)

    def key_rows(self, group: int, dimensions: range | list[int]) -> tuple[int, ...]:
        """Rows of dimensions of a key."""
        size = self.spec.head_size - self.shared
        return tuple(group * size + d - self.shared for d in dimensions)

    def value_rows(self, group: int) -> tuple[int, ...]:
        """Rows of a value."""
        size = self.spec.value_size
        return tuple(range(group * size, (group + 1) * size))

    def output_columns(self, head: int) -> tuple[int, ...]:
        """Columns of W_O that read a head."""
        return self.value_rows(head)

    def moves(self, array: str, side: Side, places: tuple[int, ...]) -> Iterator[Move]:
        """What moves a projection and its bias, where it has one."""
        yield Move(array, side, places)
        if f"{array} bias" in parameter_shapes(self.spec):
            yield Move(f"{array} bias", side, places)


def head_symmetries(spec: AttentionSpec) -> Iterator[LinearSymmetry]:
    """The groups that act on queries and keys, then those that act on values and outputs."""
    if spec.query_key_norm is None:
        yield from _query_key(Places(spec))
    else:
        yield from _normed(Places(spec))
    if Tie.KEY_VALUE not in spec.ties:
        yield from _value_output(Places(spec))


def _pieces(spec: AttentionSpec, plane: PieceKind, rest: PieceKind, from_: int = 0) -> tuple[Piece, ...]:
    """One piece a rotation plane, one for the unrotated dimensions; coordinates are dimensions − from_."""
    pieces = [Piece(plane, pair) for pair in rotary_pairs(spec)] if from_ == 0 else []
    unrotated = tuple(range(spec.rotated - from_, spec.head_size - from_))
    return (*pieces, Piece(rest, unrotated)) if unrotated else tuple(pieces)


def _query_key(places: Places) -> Iterator[LinearSymmetry]:
    spec = places.spec
    tied = Tie.QUERY_KEY in spec.ties
    kinds = (PieceKind.TURN, PieceKind.ORTHOGONAL) if tied else (PieceKind.PLANE, PieceKind.LINEAR)
    start = places.shared
    dimensions = range(start, spec.head_size)
    if start:
        moves = [
            move
            for head in range(spec.heads)
            for move in places.moves("query", Side.LEFT, places.query_rows(head, range(start)))
        ]
        moves += places.moves("rotated key", Side.LEFT_DUAL, tuple(range(start)))
        planes = tuple(Piece(kinds[0], pair) for pair in rotary_pairs(spec))
        yield LinearSymmetry("planes of the shared rotated key", planes, tuple(moves))
    for group in range(spec.groups) if dimensions else ():
        moves = [
            move
            for head in places.queries_of(group)
            for move in places.moves("query", Side.LEFT, places.query_rows(head, dimensions))
        ]
        if not tied:
            moves += places.moves("key", Side.LEFT_DUAL, places.key_rows(group, dimensions))
        if Tie.KEY_VALUE in spec.ties:
            moves += [
                Move("output", Side.RIGHT_DUAL, places.output_columns(head))
                for head in places.heads_of(group)
            ]
        yield LinearSymmetry("basis of queries and keys", _pieces(spec, *kinds, start), tuple(moves))


def _value_output(places: Places) -> Iterator[LinearSymmetry]:
    spec = places.spec
    for group in range(spec.groups):
        moves = list(places.moves("value", Side.LEFT, places.value_rows(group)))
        moves += [Move("output", Side.RIGHT, places.output_columns(head)) for head in places.heads_of(group)]
        piece = Piece(PieceKind.LINEAR, tuple(range(spec.value_size)))
        yield LinearSymmetry("basis of values", (piece,), tuple(moves))


def _normed(places: Places) -> Iterator[LinearSymmetry]:
    spec = places.spec
    assert spec.query_key_norm is not None
    norm, scope = spec.query_key_norm.norm, spec.query_key_norm.scope
    if norm.eps == 0:
        for array, heads in (("query", places.query_heads), ("key", spec.groups)):
            size = spec.head_size * (heads if scope is Scope.WIDTH else 1)
            for start in range(0, heads * spec.head_size, size):
                piece = Piece(PieceKind.SIZE, tuple(range(size)))
                moves = places.moves(array, Side.LEFT, tuple(range(start, start + size)))
                yield LinearSymmetry(f"size of what the {array} norm sees", (piece,), tuple(moves))
    if norm.scale:
        yield from _scale_pairs(places)
    else:
        yield from _normed_rotations(places)


def _scale_pairs(places: Places) -> Iterator[LinearSymmetry]:
    """A query scale against a key scale; one factor for the two dimensions of a plane."""
    spec = places.spec
    assert spec.query_key_norm is not None
    planes = [Piece(PieceKind.SIZE, pair) for pair in rotary_pairs(spec)]
    single = [Piece(PieceKind.SIZE, (d,)) for d in range(spec.rotated, spec.head_size)]
    shared = spec.query_key_norm.scope is Scope.SHARED
    for group in range(1 if shared else spec.groups):
        queries = [0] if shared else places.queries_of(group)
        moves = []
        for kind in ("scale", "shift") if spec.query_key_norm.norm.shift else ("scale",):
            moves += [
                Move(f"query norm {kind}", Side.LEFT, places.query_rows(head, range(spec.head_size)))
                for head in queries
            ]
            moves.append(
                Move(f"key norm {kind}", Side.LEFT_DUAL, places.query_rows(group, range(spec.head_size)))
            )
        yield LinearSymmetry("pairs of query and key scales", (*planes, *single), tuple(moves))


def _normed_rotations(places: Places) -> Iterator[LinearSymmetry]:
    """Without scales: rotations of queries and keys alike; where the mean is subtracted they keep the sum."""
    spec = places.spec
    assert spec.query_key_norm is not None
    if spec.query_key_norm.norm.kind is NormKind.LAYER:
        pieces: tuple[Piece, ...] = (Piece(PieceKind.CENTRED, tuple(range(spec.rotated, spec.head_size))),)
    else:
        pieces = _pieces(spec, PieceKind.TURN, PieceKind.ORTHOGONAL)
    for group in range(spec.groups):
        dimensions = range(spec.head_size)
        moves = [
            move
            for head in places.queries_of(group)
            for move in places.moves("query", Side.LEFT, places.query_rows(head, dimensions))
        ]
        moves += places.moves("key", Side.LEFT_DUAL, places.query_rows(group, dimensions))
        yield LinearSymmetry("rotations of normed queries and keys", pieces, tuple(moves))
