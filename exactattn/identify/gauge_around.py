"""The symmetries of latents, and of the norms around a layer, that multiply arrays (theory, section 8).

Why each leaves the function unchanged: an up-projection undoes what is done to its latent; a norm on a latent
is blind to rotations, and at ε = 0 to the size; scales are absorbed by the projections that follow them.
"""

from __future__ import annotations

from collections.abc import Iterator

from exactattn.identify.features import Latent, NormKind, Tie
from exactattn.identify.gauge import LinearSymmetry, Move, Piece, PieceKind, Side
from exactattn.identify.parameters import parameter_shapes
from exactattn.identify.spec import AttentionSpec

__all__ = ["around_symmetries", "input_readers"]


def around_symmetries(spec: AttentionSpec) -> Iterator[LinearSymmetry]:
    """Those of the latents, of the scales of a norm before, and of the size before a norm after."""
    yield from _latent("query", spec.query_latent, spec)
    yield from _latent("key/value", spec.key_value_latent, spec)
    if spec.norm_before is not None and spec.norm_before.scale:
        everything = tuple(range(spec.width))
        moves = [Move(f"before {kind}", Side.LEFT, everything) for kind in ("scale", "shift")]
        moves = [move for move in moves if move.array in parameter_shapes(spec)]
        moves += [Move(name, Side.RIGHT, everything) for name in input_readers(spec)]
        pieces = tuple(Piece(PieceKind.SIZE, (i,)) for i in everything)
        yield LinearSymmetry("scales of the norm before", pieces, tuple(moves))
    if spec.norm_after is not None and spec.norm_after.eps == 0:
        names = [name for name in ("output", "output bias") if name in parameter_shapes(spec)]
        everything = tuple(range(spec.width))
        moves = [Move(name, Side.LEFT, everything) for name in names]
        piece = Piece(PieceKind.SIZE, everything)
        yield LinearSymmetry("size of what the norm after sees", (piece,), tuple(moves))


def input_readers(spec: AttentionSpec) -> list[str]:
    """The projections that read what the norm before makes."""
    shapes = parameter_shapes(spec)
    readers = ["query down" if spec.query_latent else "query"]
    if not spec.cross:
        readers += ["key/value down", "rotated key"] if spec.key_value_latent else ["key", "value"]
    return [name for name in readers if name in shapes]


def _latent(name: str, latent: Latent | None, spec: AttentionSpec) -> Iterator[LinearSymmetry]:
    if latent is None:
        return
    shapes = parameter_shapes(spec)
    everything = tuple(range(latent.rank))
    readers = ["query"] if name == "query" else [n for n in ("key", "value") if n in shapes]
    if name == "key/value" and Tie.KEY_VALUE in spec.ties:
        readers = ["key"]
    down = [Move(n, Side.LEFT, everything) for n in (f"{name} down", f"{name} down bias") if n in shapes]
    if latent.norm is None:
        up = [Move(n, Side.RIGHT, everything) for n in readers]
        pieces: tuple[Piece, ...] = (Piece(PieceKind.LINEAR, everything),)
        yield LinearSymmetry(f"basis of the {name} latent", pieces, (*down, *up))
        return
    within = f"{name} latent scale" if latent.norm.scale else None
    kind = PieceKind.ORTHOGONAL if latent.norm.kind is NormKind.RMS else PieceKind.CENTRED
    up = [Move(n, Side.RIGHT, everything, within) for n in readers]
    yield LinearSymmetry(f"rotations of the {name} latent", (Piece(kind, everything),), (*down, *up))
    if latent.norm.scale:
        up = [Move(n, Side.RIGHT, everything) for n in readers]
        scale = Move(f"{name} latent scale", Side.LEFT, everything)
        pieces = tuple(Piece(PieceKind.SIZE, (i,)) for i in everything)
        yield LinearSymmetry(f"scales of the {name} latent", pieces, (scale, *up))
    if latent.norm.eps == 0:
        piece = Piece(PieceKind.SIZE, everything)
        yield LinearSymmetry(f"size of the {name} latent", (piece,), tuple(down))
