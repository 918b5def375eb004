"""Random layers with planted duplicate and cancelling heads, from a seed."""

from __future__ import annotations

import random

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.model.heads import Attention, Head

__all__ = ["random_layer"]


def random_layer(
    heads: int,
    dim: int,
    *,
    seed: int,
    duplicates: int = 0,
    cancel: int = 0,
    size: int = 5,
    denominator: int = 1,
) -> Attention:
    """A layer of ``heads`` heads with entries k/denominator, k uniform in −size … size.

    ``duplicates`` heads copy the W of an earlier head (and are merged with it in the canonical form);
    ``cancel`` heads are minus an earlier head (same W, opposite v), so that both vanish unless other
    copies remain. Needs heads − duplicates − cancel ≥ cancel and at least one plain head to copy.

    >>> layer = random_layer(5, 2, seed=1, duplicates=1, cancel=1)
    >>> len(layer.heads), len(layer.canonical().heads)
    (5, 2)
    """
    for field_name, given, least in (
        ("heads", heads, 1), ("dim", dim, 1), ("size", size, 1), ("denominator", denominator, 1),
        ("duplicates", duplicates, 0), ("cancel", cancel, 0),
    ):  # fmt: skip
        if given < least:
            raise InputError(f"must be at least {least}, not {given}", field=field_name)
    plain = heads - duplicates - cancel
    if plain < max(cancel, 1):
        raise InputError(
            f"{heads} heads cannot hold {duplicates} duplicates and {cancel} cancelling heads: "
            f"{max(cancel, 1)} plain heads are needed and {plain} are left"
        )
    if duplicates and plain == cancel:
        raise InputError("duplicates need a plain head that is not cancelled; lower cancel or raise heads")
    rng = random.Random(seed)

    def number() -> fmpq:
        return fmpq(rng.randint(-size, size), denominator)

    def vector() -> tuple[fmpq, ...]:
        while True:
            entries = tuple(number() for _ in range(dim))
            if any(x != 0 for x in entries):
                return entries

    base: list[Head] = []
    used: set[object] = set()
    for _ in range(plain):
        for _attempt in range(1000):
            W = tuple(tuple(number() for _ in range(dim)) for _ in range(dim))
            if W not in used:
                break
        else:
            raise InputError(
                f"there are not {plain} different {dim}×{dim} matrices of that size", field="size"
            )
        used.add(W)
        base.append(Head(W, vector()))
    minus = [Head(h.W, tuple(-x for x in h.v)) for h in base[:cancel]]
    kept = base[cancel:]
    totals = {h.W: list(h.v) for h in kept}
    copies: list[Head] = []
    for k in range(duplicates):
        W = kept[k % len(kept)].W
        while True:
            v = vector()
            total = [x + y for x, y in zip(totals[W], v, strict=True)]
            if any(x != 0 for x in total):
                break
        totals[W] = total
        copies.append(Head(W, v))
    everything = base + minus + copies
    rng.shuffle(everything)
    return Attention.of(everything, dim, name=f"random heads={heads} dim={dim} seed={seed}")
