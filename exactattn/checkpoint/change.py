"""What a transformation, rounding included, did to a layer's function: exact distances and certified bounds.

Scores and outputs of a layer depend on a few products of its arrays only. Old and new stored numbers are
dyadic rationals, so the sums of squares of the changes of these products are computed exactly, and so are the
sums of fourth powers of their singular values, whose fourth roots bound the largest. Bounds on scores and
outputs follow (theory, section 10): if scores of a row move by at most ε up to a common shift,
attention moves by at most tanh(ε/2) in total variation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb, ctx, fmpq

from exactattn.checkpoint.biases import inert_key_rows
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.checkpoint.exact_layer import ExactLayer
from exactattn.checkpoint.grams import (
    Grams,
    change_fourth,
    plane_change_squared,
    product_change_squared,
    product_fourth,
    product_squared,
)
from exactattn.checkpoint.token_norms import input_bounds
from exactattn.checkpoint.weights import AttentionWeights
from exactattn.exceptions import InputError
from exactattn.identify.features import Scope
from exactattn.identify.layer import rotary_pairs

__all__ = ["HeadChange", "LayerChange", "layer_change"]

PRECISION = 192
NORMS = ("before", "query latent", "key/value latent")
# rules for angles that multiply scores by a factor that is not part of the architecture
SCALED_RULES = frozenset({"yarn", "longrope", "su"})


@dataclass(frozen=True)
class HeadChange:
    """One head: exact sums of squares of the changes of its products, and what they bound.

    ``score_squared``: of the matrices that give its scores (all planes together); ``value_squared``: of
    W_O W_V; ``value_size_squared``: |W_O W_V|² itself. ``score_bound``: how far a score can move, up to a
    shift common to a row; None where nothing bounds the tokens.
    """

    score_squared: fmpq
    value_squared: fmpq
    value_size_squared: fmpq
    score_bound: arb | None
    output_bound: arb | None


@dataclass(frozen=True)
class LayerChange:
    """A layer: its heads, the exact square of the change of the constant part of outputs, and the exact sum
    of squares of the changes of projections before a norm or a latent, for which no bound is derived unless
    it is 0. ``no_bound``: why nothing bounds the change of the output; empty if something does."""

    layer: int
    name: str
    heads: tuple[HeadChange, ...]
    constant_squared: fmpq
    inner_squared: fmpq
    no_bound: str = ""

    @cached_property
    def output_bound(self) -> arb | None:
        """How far the layer's output can move (Euclidean norm), for every sequence of tokens; None where
        nothing bounds it."""
        with ctx.workprec(PRECISION):
            total = arb(self.constant_squared).sqrt()
            for head in self.heads:
                if head.output_bound is None or self.no_bound:
                    return None
                total += head.output_bound
            return total.upper()

    @property
    def unchanged(self) -> bool:
        """Whether the function is exactly what it was."""
        squares = [x for h in self.heads for x in (h.score_squared, h.value_squared)]
        return not any([*squares, self.constant_squared, self.inner_squared])


class ScorePart(NamedTuple):
    """Two sides, old and new, the planes if they are rotated, and bounds on the norms of what they act on."""

    queries: Grams
    keys: Grams
    planes: list[tuple[int, int]] | None
    query_norm: arb | None
    key_norm: arb | None


def layer_change(old: AttentionWeights, new: AttentionWeights, token_norm: fmpq | None = None) -> LayerChange:
    """Compare two sets of parameters of one architecture, both exactly as stored.

    ``token_norm``: a bound on the norm of what the projections read; None for that of the norm before the
    layer. Norms whose scales or shifts differ are compared together with the projections that read them.
    Raises InputError if the architectures differ.
    """
    if old.spec != new.spec:
        raise InputError("the two layers have different architectures", field=new.name)
    with ctx.workprec(PRECISION):
        return _Comparison(old, new, token_norm).change()


class _Comparison:
    def __init__(self, old: AttentionWeights, new: AttentionWeights, token_norm: fmpq | None) -> None:
        self.spec = old.spec
        changed = {name for name in old.parameters if not _same(old, new, name)}
        absorbed = frozenset(norm for norm in NORMS if {f"{norm} scale", f"{norm} shift"} & changed)
        self.old, self.new = ExactLayer(old, absorbed), ExactLayer(new, absorbed)
        self.changed = changed
        self.absorbed = absorbed
        self.inert = frozenset(inert_key_rows(self.spec))
        self.bounds = input_bounds(self.old, token_norm)
        self._group_grams: dict[tuple[str, int], Grams] = {}

    def change(self) -> LayerChange:
        constant = self.new.constant() - self.old.constant()
        inner = sum((self._distance(name) for name in self._inner()), fmpq(0))
        reason = ""
        if inner:
            reason = "projections in front of a norm changed, whose effect is not bounded here"
        elif self.spec.rotary is not None and self.spec.rotary.rule in SCALED_RULES:
            reason = (
                f"the angle rule {self.spec.rotary.rule} multiplies scores by a factor that is not known here"
            )
        heads = tuple(self._head(number) for number in range(self.spec.heads))
        if not reason and any(head.output_bound is None for head in heads):
            reason = "nothing in the architecture bounds the norm of the tokens; give one"
        return LayerChange(
            self.old.weights.layer,
            self.old.weights.name,
            heads,
            constant.frobenius_squared(),
            inner,
            reason,
        )

    def _inner(self) -> list[str]:
        """Projections whose results are normed, or latents, before they are multiplied."""
        names = ["query down", "key/value down"]
        if self.spec.query_key_norm is not None:
            names += ["query", "key"]
        return [name for name in names if name in self.old.weights.parameters]

    def _distance(self, name: str) -> fmpq:
        reads_changed = self.old.norm_read_by(name) in self.absorbed
        if not reads_changed and not {name, f"{name} bias"} & self.changed:
            return fmpq(0)
        rows = range(len(self.old.weights.parameters[name]))
        return (self.new.projection(name, rows) - self.old.projection(name, rows)).frobenius_squared()

    def _grams(self, name: str, rows: range, *, constants: bool = True) -> Grams:
        return Grams.of(*(x.projection(name, rows, constants=constants) for x in (self.old, self.new)))

    # ---- scores ----

    def _score_parts(self, head: int) -> Iterator[ScorePart]:
        spec, group = self.spec, head // self.spec.heads_per_group
        pairs = rotary_pairs(spec)
        if spec.query_key_norm is not None:
            yield from self._normed_parts(head, group)
            return
        size, shared = spec.head_size, spec.rotary is not None and spec.rotary.shared_key
        key_size = spec.unrotated if shared else size
        query_start, key_start = head * size, group * key_size
        queries = self._input(self.bounds.queries, self._affine("query"))
        if spec.rotated:
            rows = range(key_start, key_start + spec.rotated)
            name, key_rows, bound = (
                ("rotated key", range(spec.rotated), self.bounds.rotated_keys)
                if shared
                else ("key", rows, self.bounds.keys)
            )
            yield ScorePart(
                self._grams("query", range(query_start, query_start + spec.rotated)),
                self._group(name, 0 if shared else group, key_rows, constants=True),
                pairs,
                queries,
                self._input(bound, self._affine(name)),
            )
        if spec.unrotated:
            first = key_start + (0 if shared else spec.rotated)
            rows = range(first, key_start + key_size)
            seen = not self.inert.issuperset(rows)
            yield ScorePart(
                self._grams("query", range(query_start + spec.rotated, query_start + size)),
                self._group("key", group, rows, constants=seen),
                None,
                queries,
                self._input(self.bounds.keys, seen and self._affine("key")),
            )

    def _normed_parts(self, head: int, group: int) -> Iterator[ScorePart]:
        """Scores of normed queries and keys: the scales, on vectors of norm at most √(numbers normed)."""
        spec = self.spec
        assert spec.query_key_norm is not None
        wide, shift = spec.query_key_norm.scope is Scope.WIDTH, spec.query_key_norm.norm.shift
        sizes = [spec.head_size * (count if wide else 1) for count in (spec.heads, spec.groups)]
        query_norm, key_norm = (self._input(arb(size).sqrt(), shift) for size in sizes)
        queries, keys = (
            Grams.of(*(x.norm_side(side, number) for x in (self.old, self.new)))
            for side, number in (("query", head), ("key", group))
        )
        rest = [(d, d) for d in range(spec.rotated, spec.head_size)]
        if spec.rotated:
            yield ScorePart(queries, keys, rotary_pairs(spec), query_norm, key_norm)
        if rest:
            unrotated = slice(spec.rotated, spec.head_size)
            yield ScorePart(
                _restricted(queries, unrotated), _restricted(keys, unrotated), None, query_norm, key_norm
            )

    def _group(self, name: str, group: int, rows: range, *, constants: bool) -> Grams:
        """Grams of keys or values, computed once a group."""
        key = (f"{name} {rows}", group)
        if key not in self._group_grams:
            self._group_grams[key] = self._grams(name, rows, constants=constants)
        return self._group_grams[key]

    def _affine(self, name: str) -> bool:
        """Whether a projection adds a constant."""
        parameters, norm = self.old.weights.parameters, self.old.norm_read_by(name)
        return f"{name} bias" in parameters or (norm in self.absorbed and f"{norm} shift" in parameters)

    def _input(self, bound: arb | None, affine: bool) -> arb | None:
        """The norm of (x, 1), or of x."""
        if bound is None or not affine:
            return bound
        return (bound * bound + 1).sqrt()

    # ---- heads ----

    def _head(self, head: int) -> HeadChange:
        spec, group = self.spec, head // self.spec.heads_per_group
        squared = fmpq(0)
        bound: arb | None = arb(0)
        for part in self._score_parts(head):
            if part.planes is None:
                squared += product_change_squared(part.queries, part.keys)
                moved = _fourth_root(change_fourth(part.queries, part.keys))
            else:
                changes = plane_change_squared(part.queries, part.keys, part.planes)
                squared += sum(changes, fmpq(0))
                moved = sum((arb(x).sqrt() for x in changes), arb(0))
            if bound is None or part.query_norm is None or part.key_norm is None:
                bound = None
            else:
                bound += moved * part.query_norm * part.key_norm
        if bound is not None:
            bound = (bound * arb(spec.score_scale_squared).sqrt()).upper()
        opened = spec.sinks is not None
        values = self._group(
            "value",
            group,
            range(group * spec.value_size, (group + 1) * spec.value_size),
            constants=opened,
        )
        outputs = Grams.of(self.old.output(head), self.new.output(head))
        change, size = product_change_squared(outputs, values), product_squared(outputs, values)
        value_norm = self._input(self.bounds.keys, opened and self._affine("value"))
        output_bound = None
        if bound is not None and value_norm is not None:
            diameter = 2 * _fourth_root(product_fourth(outputs, values)) * value_norm
            moved = _fourth_root(change_fourth(outputs, values)) * value_norm
            output_bound = ((bound / 2).tanh() * diameter + moved).upper()
        return HeadChange(squared, change, size, bound, output_bound)


def _fourth_root(x: fmpq) -> arb:
    """A bound on the largest singular value, from the sum of their fourth powers."""
    return arb(x).sqrt().sqrt()


def _same(old: AttentionWeights, new: AttentionWeights, name: str) -> bool:
    return np.array_equal(old.parameters[name], new.parameters[name])


def _restricted(grams: Grams, part: slice) -> Grams:
    """Gram matrices of some of the rows."""

    def cut(x: Dyadic) -> Dyadic:
        return x.rows(part.start, part.stop).columns(part.start, part.stop)

    return Grams(cut(grams.old), cut(grams.new), cut(grams.cross))
