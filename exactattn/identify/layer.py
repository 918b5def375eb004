"""The outputs of a layer, as its architecture says, in any number system and ready to be differentiated.

Exponentials are not computed here: the caller gives the value of exp for each array of exponents, because
over a prime field that value is read off elsewhere (:mod:`exactattn.identify.specialisation`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.identify.array_numbers import ArrayNumbers
from exactattn.identify.features import Norm, NormKind, Pairing, Scope, Sinks, Tie
from exactattn.identify.parameters import Array, Parameters
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.tape import Node, Tape

__all__ = ["Constants", "Exponential", "LayerRun", "rotary_pairs"]

Exponential = Callable[[str, Array], Array]
"""exp of an array of exponents, given the place it is taken at ("cap", "score" or "sink")."""


@dataclass(frozen=True)
class Constants:
    """Fixed numbers: cosines and sines (position × plane), a slope for each head, the factor on scores."""

    cosines: Array
    sines: Array
    slopes: Array
    factor: Any


def rotary_pairs(spec: AttentionSpec) -> list[tuple[int, int]]:
    """The two dimensions of each rotation plane within a head.

    >>> from exactattn.identify import Rotary
    >>> rotary = Rotary(size=4, pairing=Pairing.HALF_SPLIT)
    >>> rotary_pairs(AttentionSpec.of(width=12, heads=2, rotary=rotary))
    [(0, 2), (1, 3)]
    """
    planes = spec.rotated // 2
    if spec.rotary is not None and spec.rotary.pairing is Pairing.INTERLEAVED:
        return [(2 * i, 2 * i + 1) for i in range(planes)]
    return [(i, i + planes) for i in range(planes)]


class LayerRun:
    """One evaluation of a layer on one sequence of tokens (rows), read at some positions.

    ``source``: the other sequence, in cross-attention. ``radicands`` lists every array under a root with the
    name of its norm, first axis the token or the position that is read.
    """

    def __init__(
        self,
        spec: AttentionSpec,
        numbers: ArrayNumbers,
        parameters: Parameters,
        constants: Constants,
        exponential: Exponential,
    ) -> None:
        self.spec, self.constants, self.exponential = spec, constants, exponential
        self.tape = Tape(numbers)
        self.leaves = {name: self.tape.leaf(value) for name, value in parameters.items()}
        self.radicands: list[tuple[str, Array]] = []

    # ---- projections ----

    def _linear(self, name: str, x: Node) -> Node:
        y = self.tape.contract("ni,oi->no", x, self.leaves[name])
        bias = self.leaves.get(f"{name} bias")
        return y if bias is None else self.tape.add(y, bias)

    def _norm(self, name: str, norm: Norm, x: Node) -> Node:
        """The norm over the last axis; scales and shifts belong to it, or to all axes but the first."""
        tape, size = self.tape, x.shape[-1]
        if norm.kind is NormKind.LAYER:
            x = tape.add(x, tape.scaled(tape.sum_last(x), fmpq(-1, size)))
        mean = tape.scaled(tape.sum_last(tape.multiply(x, x)), fmpq(1, size))
        eps = tape.numbers.multiply(np.ones((1,), dtype=np.int64), tape.numbers.constant(norm.eps))
        mean = tape.shifted(mean, eps)
        self.radicands.append((name, mean.value))
        x = tape.multiply(x, tape.inverse(tape.root(mean)))
        for kind, apply in (("scale", tape.multiply), ("shift", tape.add)):
            leaf = self.leaves.get(f"{name} {kind}")
            if leaf is not None:
                x = apply(x, leaf if leaf.shape[0] == size else tape.reshape(leaf, *x.shape[1:]))
        return x

    def _heads(self, name: str, x: Node, heads: int) -> Node:
        """Token × head × dimension, with the query/key norm if there is one."""
        size, norm = x.shape[1] // heads, self.spec.query_key_norm
        if norm is not None and norm.scope is Scope.WIDTH:
            return self.tape.reshape(self._norm(name, norm.norm, x), -1, heads, size)
        x = self.tape.reshape(x, -1, heads, size)
        return x if norm is None else self._norm(name, norm.norm, x)

    def _rotate(self, x: Node, positions: Sequence[int]) -> Node:
        """Token × head × dimension, rotated: first dimensions of all planes, second ones, unrotated ones.

        Queries and keys come out in the same order of dimensions, and scores do not depend on it.
        """
        if not self.spec.rotated:
            return x
        pairs, tape = rotary_pairs(self.spec), self.tape
        cos, sin = (a[list(positions)][:, None, :] for a in (self.constants.cosines, self.constants.sines))
        minus = tape.numbers.multiply(sin, tape.numbers.constant(fmpq(-1)))
        a, b = (tape.take(x, (slice(None), slice(None), [pair[k] for pair in pairs])) for k in (0, 1))
        first = tape.add(tape.masked(a, cos), tape.masked(b, minus))
        second = tape.add(tape.masked(a, sin), tape.masked(b, cos))
        rest = tape.take(x, (slice(None), slice(None), slice(self.spec.rotated, x.shape[2])))
        return tape.join([first, second, rest])

    def _latent(self, name: str, latent: Any, x: Node) -> Node:
        if latent is None:
            return x
        x = self._linear(f"{name} down", x)
        return x if latent.norm is None else self._norm(f"{name} latent", latent.norm, x)

    def project(self, tokens: Array, source: Array | None, read: Sequence[int]) -> tuple[Node, Node, Node]:
        """Queries at the positions read, keys and values at all: token × head × dimension."""
        spec = self.spec
        x = self.tape.leaf(tokens)
        if spec.norm_before is not None:
            x = self._norm("before", spec.norm_before, x)
        y = x if source is None else self.tape.leaf(source)
        x = x if list(read) == list(range(len(tokens))) else self.tape.take(x, list(read))
        queries_from = self._latent("query", spec.query_latent, x)
        keys_from = self._latent("key/value", spec.key_value_latent, y)
        key_name = "query" if Tie.QUERY_KEY in spec.ties else "key"
        value_name = key_name if Tie.KEY_VALUE in spec.ties else "value"
        query_heads = spec.groups if Tie.QUERY_HEADS in spec.ties else spec.heads
        queries = self._heads("query norm", self._linear("query", queries_from), query_heads)
        keys = self._keys(key_name, keys_from, y)
        values = self.tape.reshape(self._linear(value_name, keys_from), -1, spec.groups, spec.value_size)
        return self._rotate(queries, read), self._rotate(keys, range(y.shape[0])), values

    def _keys(self, name: str, keys_from: Node, y: Node) -> Node:
        spec = self.spec
        if spec.rotary is None or not spec.rotary.shared_key:
            return self._heads("key norm", self._linear(name, keys_from), spec.groups)
        shared = self.tape.reshape(self._linear("rotated key", y), -1, 1, spec.rotated)
        shared = self.tape.take(shared, (slice(None), [0] * spec.groups))
        if not spec.unrotated:
            return shared
        own = self.tape.reshape(self._linear(name, keys_from), -1, spec.groups, spec.unrotated)
        return self.tape.join([shared, own])

    # ---- scores and outputs ----

    def score_exponents(self, queries: Node, keys: Node) -> Node:
        """Head × read position × key: the scores, or 2/c times the scores where they are capped by c."""
        spec, tape = self.spec, self.tape
        query_heads = queries.shape[1]
        own = [h * query_heads // spec.heads for h in range(spec.heads)]
        group = [h * spec.groups // spec.heads for h in range(spec.heads)]
        queries = tape.take(queries, (slice(None), own)) if query_heads != spec.heads else queries
        keys = tape.take(keys, (slice(None), group)) if spec.groups != spec.heads else keys
        scores = tape.masked(tape.contract("ihd,jhd->hij", queries, keys), self.constants.factor)
        return scores if spec.soft_cap is None else tape.scaled(scores, 2 / spec.soft_cap)

    def capped(self, exponents: Node) -> Node:
        """c·tanh(s/c) = c − 2c/(e^(2s/c) + 1)."""
        cap, tape = self.spec.soft_cap, self.tape
        assert cap is not None
        powers = self._exp("cap", exponents)
        one = tape.numbers.multiply(np.ones((1,), dtype=np.int64), tape.numbers.constant(fmpq(1)))
        fraction = tape.inverse(tape.shifted(powers, one))
        return tape.shifted(
            tape.scaled(fraction, -2 * cap), tape.numbers.multiply(one, tape.numbers.constant(cap))
        )

    def with_offsets(self, scores: Node, read: Sequence[int]) -> Node:
        """The scores with the terms that depend on the distance of query and key."""
        spec, tape = self.spec, self.tape
        offsets = np.arange(scores.shape[2])[None, :] - np.array(read)[:, None]
        if spec.alibi:
            slopes = self.constants.slopes[:, None, None]
            scores = tape.shifted(
                scores,
                tape.numbers.multiply(slopes, np.vectorize(int, otypes=[object])(offsets))
                if slopes.dtype == object
                else tape.numbers.multiply(slopes, offsets),
            )
        if spec.relative_bias is not None:
            table = spec.relative_bias
            buckets = np.array([[table.bucket(int(offset)) for offset in row] for row in offsets])
            chosen = (np.arange(table.buckets)[:, None] == buckets.reshape(-1)).astype(np.int64)
            one = tape.numbers.multiply(chosen, tape.numbers.constant(fmpq(1)))
            terms = tape.contract("hb,bs->hs", self.leaves["relative bias"], tape.leaf(one))
            scores = tape.add(scores, tape.reshape(terms, *scores.shape))
        return scores

    def _exp(self, place: str, exponents: Node) -> Node:
        value = self.exponential(place, exponents.value)
        return self.tape.entrywise(exponents, value, value)

    def visible(self, read: Sequence[int], keys: int) -> Array:
        """Read position × key: 1 where the key is seen, else 0."""
        offsets = np.arange(keys)[None, :] - np.array(read)[:, None]
        seen = np.ones(offsets.shape, dtype=np.int64)
        if self.spec.causal and not self.spec.cross:
            seen &= offsets <= 0
        if self.spec.window is not None:
            seen &= np.abs(offsets) < self.spec.window
        return seen

    def outputs(self, tokens: Array, source: Array | None, read: Sequence[int]) -> Node:
        """Read position × width: the outputs before any norm after the layer."""
        spec, tape = self.spec, self.tape
        queries, keys, values = self.project(tokens, source, read)
        scores = self.score_exponents(queries, keys)
        scores = scores if spec.soft_cap is None else self.capped(scores)
        weights = self._exp("score", self.with_offsets(scores, read))
        weights = tape.masked(weights, self.visible(read, keys.shape[0])[None])
        below = tape.sum_last(weights)
        if spec.sinks is Sinks.LEARNED:
            sinks = self._exp("sink", self.leaves["sinks"])
            below = tape.add(below, tape.reshape(sinks, spec.heads, 1, 1))
        elif spec.sinks is Sinks.ONE:
            below = tape.shifted(
                below, tape.numbers.multiply(np.ones(1, dtype=np.int64), tape.numbers.constant(fmpq(1)))
            )
        weights = tape.multiply(weights, tape.inverse(below))
        group = [h * spec.groups // spec.heads for h in range(spec.heads)]
        values = tape.take(values, (slice(None), group)) if spec.groups != spec.heads else values
        mixed = tape.reshape(tape.contract("hij,jhc->ihc", weights, values), len(read), -1)
        return self._linear("output", mixed)

    def normed(self, outputs: Node) -> Node:
        """The outputs behind the norm after the layer, if there is one."""
        norm = self.spec.norm_after
        return outputs if norm is None else self._norm("after", norm, outputs)
