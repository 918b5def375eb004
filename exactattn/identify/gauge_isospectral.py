"""Scales behind a subtracted mean: one direction more than the pairs, without rotation.

Centred queries and keys meet in the form F = P diag(γ_q γ_k) P on the vectors of sum 0, P the projection on
them. F has D − 1 eigenvalues and γ_q γ_k has D entries, so on a curve of γ_q γ_k the form stays the same up
to a rotation of these vectors, to which the norm of each head is blind. Along it δF = A F − F A for a skew A
with A 1 = 0; queries, keys and P(γ_k β_q) turn with A. The system for (A, δ(γ_q γ_k)) has one solution where
it has full rank. The turn is algebraic, not rational, so only its tangent is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactattn.identify.features import NormKind, Scope
from exactattn.identify.gauge import Generator, Piece, PieceKind, Tangent
from exactattn.identify.kernel import kernel_basis
from exactattn.identify.parameters import Array, Parameters
from exactattn.identify.spec import AttentionSpec

__all__ = ["IsospectralScales"]


@dataclass(frozen=True)
class IsospectralScales:
    """The curve of scales, for each vector of key scales that meets one vector of query scales."""

    spec: AttentionSpec
    name: str = "scales behind the mean"

    @classmethod
    def of(cls, spec: AttentionSpec) -> Iterator[IsospectralScales]:
        """The symmetry of a layer that has it."""
        norm = spec.query_key_norm
        if norm is None or norm.norm.kind is not NormKind.LAYER or not norm.norm.scale or spec.rotated:
            return
        if norm.scope is Scope.SHARED or (norm.scope is Scope.SEPARATE and spec.heads == spec.groups):
            yield cls(spec)

    def tangents(self, parameters: Parameters) -> Iterator[Tangent]:
        """One for each vector of key scales. Raises CertificateError at a point where there are more."""
        size = self.spec.head_size
        for start in range(0, len(parameters["key norm scale"]), size):
            part = slice(start, start + size)
            query, key = parameters["query norm scale"][part], parameters["key norm scale"][part]
            turn, change = self._direction(query * key)
            tangent: Tangent = {"query norm scale": {(start + d,): x for d, x in enumerate(change / key)}}
            if "query norm shift" in parameters:
                met = key * parameters["query norm shift"][part]
                moved = turn @ (met - met.sum() / size) / key
                tangent["query norm shift"] = {(start + d,): x for d, x in enumerate(moved)}
            shared = len(parameters["key norm scale"]) == size
            for array in ("query", "query bias", "key", "key bias"):
                if array in parameters:
                    rows = parameters[array]
                    heads = range(0, len(rows), size) if shared else [start]
                    tangent[array] = {
                        (head + index[0], *index[1:]): x
                        for head in heads
                        for index, x in np.ndenumerate(turn @ rows[head : head + size])
                    }
            yield tangent

    def _direction(self, products: Array) -> tuple[Array, Array]:
        """A and δ(γ_q γ_k)."""
        size = len(products)
        one: Any = products[0] ** 0
        zero = one - one
        unit = np.array([[one if i == j else zero for j in range(size)] for i in range(size)], dtype=object)
        project = unit - np.full((size, size), one / size, dtype=object)
        form = project @ (unit * products[None, :]) @ project
        turns = [_dense(g, unit) for g in Piece(PieceKind.CENTRED, tuple(range(size))).generators()]
        images = [form @ a - a @ form for a in turns]
        images += [np.outer(project[:, d], project[d]) for d in range(size)]
        entries = [(i, j) for i in range(size) for j in range(i)]
        rows = [[image[at] for image in images] for at in entries]
        solution = kernel_basis(rows, len(images), one)[0]
        turn = sum((x * a for x, a in zip(solution, turns, strict=False)), unit * zero)
        return turn, np.array(solution[len(turns) :], dtype=object)


def _dense(generator: Generator, unit: Array) -> Array:
    dense: Array = unit * (unit[0, 0] - unit[0, 0])
    for at, x in generator.items():
        dense[at] = dense[at] + x
    return dense
