"""The rank of a layer's Jacobian between two bounds: independent rows modulo a prime, and independent
tangents of symmetries.

Rows of the Jacobian that are independent modulo p bound the generic rank from below
(:mod:`exactattn.identify.specialisation`). The tangents of a symmetry lie in the kernel at every point, and
their number modulo p bounds the dimension of the kernel from below. Both are shown by one square matrix: the
rows, the tangents, and a unit vector for each direction that is left open; it is invertible modulo p.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from typing import Any

import numpy as np
from flint import nmod, nmod_mat

from exactattn.exceptions import CertificateError
from exactattn.identify.array_numbers import ResidueArrays
from exactattn.identify.features import Norm, NormKind
from exactattn.identify.jacobian import JacobianRows, input_sizes, jacobian_rows
from exactattn.identify.parameters import Array, Parameters, parameter_count
from exactattn.identify.spec import AttentionSpec
from exactattn.identify.specialisation import Point, draw
from exactattn.identify.symmetries import GaugeTangent, gauge_tangents

__all__ = ["RankWitness", "rank_witness"]

EXCESS = (1.03, 1.3, 1.8)


@dataclass(frozen=True)
class RankWitness:
    """A point, the numbers of independent rows, which tangents are superfluous, and open coordinates.

    ``tangents`` are all of them; ``matrix`` is the square matrix of the rows listed, the tangents not left
    out, and unit vectors of the open coordinates.
    """

    point: Point
    rows: tuple[int, ...]
    tangents: tuple[GaugeTangent, ...]
    left_out: tuple[int, ...]
    open: tuple[int, ...]
    matrix: Array

    @property
    def parameters(self) -> int:
        """All learned numbers."""
        return int(self.matrix.shape[1])

    @property
    def at_least(self) -> int:
        """A proved lower bound on the identified parameters."""
        return len(self.rows)

    @property
    def at_most(self) -> int:
        """A proved upper bound."""
        return self.parameters - (len(self.tangents) - len(self.left_out))

    @cached_property
    def symmetries(self) -> dict[str, int]:
        """How many independent tangents each symmetry gives, after those before it."""
        kept = (t for k, t in enumerate(self.tangents) if k not in set(self.left_out))
        return dict(Counter(t.symmetry for t in kept))

    def solutions(self, statement: str, vectors: int) -> list[list[int]]:
        """Vectors w with matrix·w = b, for right-hand sides b derived from a statement by SHA-256."""
        p, n = self.point.primes[0], self.parameters
        sides = [right_hand_side(statement, v, n, p) for v in range(vectors)]
        columns = nmod_mat(n, vectors, [side[i] for i in range(n) for side in sides], p)
        solved = to_matrix(self.matrix, p).solve(columns)
        return [[int(solved[i, v]) for i in range(n)] for v in range(vectors)]


def right_hand_side(statement: str, vector: int, size: int, prime: int) -> list[int]:
    """SHA-256 digests of "exactattn rank right-hand side 1|statement|vector|k" modulo the prime."""
    head = f"exactattn rank right-hand side 1|{statement}|{vector}|"
    digests = (sha256(f"{head}{k}".encode("ascii")).digest() for k in range(size))
    return [int.from_bytes(digest, "big") % prime for digest in digests]


def rank_witness(spec: AttentionSpec, seed: int = 1, *, careful: bool = True) -> RankWitness:
    """Both bounds at a point of the seed. Raises CertificateError where the claim of the bound does not hold.

    Unless ``careful``, rows that are nearly always independent are taken as they are: the matrix may be
    singular, and is to be solved before anything is claimed.

    >>> witness = rank_witness(AttentionSpec.of(width=4, heads=2))
    >>> witness.parameters, witness.at_least, witness.at_most
    (64, 48, 48)
    """
    require_roots_apart(spec)
    total = parameter_count(spec)
    point = Point.draw(spec, seed, ())
    p = point.primes[0]
    tangents = tuple(gauge_tangents(spec, residue_objects(point.parameters, p)))
    dense = _dense(tangents, total)
    kept = pivots(to_matrix(dense.T, p)) if tangents else []
    left_out = tuple(sorted(set(range(len(tangents))) - set(kept)))
    dense = dense[kept]
    free = sorted(set(range(total)) - set(pivots(to_matrix(dense, p)) if kept else ()))
    rows: Array = np.zeros((0, total), dtype=np.int64)
    numbers: list[int] = []
    for excess in EXCESS:
        point = Point.draw(spec, seed, input_sizes(spec, int(excess * len(free)) + 2 * spec.width))
        parts = list(jacobian_rows(point))
        require_kernel(parts, dense, point.numbers)
        rows = np.concatenate([part.rows for part in parts])
        numbers = [number for part in parts for number in part.numbers]
        chosen = independent_rows(rows[:, free], numbers, point, careful)
        if len(chosen) == len(free):
            break
    rows = rows[chosen]
    stacked = np.concatenate([rows, dense])
    open_ = sorted(set(range(total)) - set(pivots(to_matrix(stacked, p)))) if len(chosen) < len(free) else []
    unit = np.eye(total, dtype=np.int64)[open_]
    chosen_numbers = tuple(numbers[k] for k in chosen)
    matrix = np.concatenate([stacked, unit])
    if matrix.shape[0] != total:
        raise CertificateError(f"rows and tangents are not independent modulo {p}; use another seed")
    return RankWitness(
        _trimmed(point, chosen_numbers), chosen_numbers, tangents, left_out, tuple(open_), matrix
    )


def independent_rows(rows: Array, numbers: list[int], point: Point, careful: bool) -> list[int]:
    """Indices of a basis of the rows, given on coordinates that determine them.

    First positions show no scores; of the others nearly always any will do, so some are tried (or, unless
    ``careful``, taken) before all rows are eliminated.
    """
    p, size = point.primes[0], rows.shape[1]
    firsts = set(accumulate((n for n, _ in point.sizes), initial=0))
    later = [k for k, number in enumerate(numbers) if number // point.spec.width not in firsts]
    if len(later) >= size:
        random.Random(1).shuffle(later)
        tried = sorted(later[:size])
        if not careful or to_matrix(rows[tried], p).rank() == size:
            return tried
    return pivots(to_matrix(rows.T, p))


def require_kernel(parts: list[JacobianRows], tangents: Array, numbers: ResidueArrays) -> None:
    """Raises CertificateError unless a combination of all tangents changes no output."""
    factors = draw(1, numbers.prime, "combination", len(tangents))
    direction = numbers.contract("ki,k->i", tangents, factors)
    if any(numbers.contract("ri,i->r", part.rows, direction).any() for part in parts):
        raise CertificateError(
            "a symmetry does not hold for this layer; its features are not supported together"
        )


def require_roots_apart(spec: AttentionSpec) -> None:
    """Raises CertificateError where a norm covers so few numbers that its roots are not independent."""
    sizes = {"norm before": (spec.norm_before, spec.width)}
    for name, latent in (("query latent", spec.query_latent), ("key/value latent", spec.key_value_latent)):
        if latent is not None:
            sizes[name] = (latent.norm, latent.rank)
    if spec.query_key_norm is not None:
        sizes["query/key norm"] = (spec.query_key_norm.norm, spec.head_size)
    seen = min(spec.width, spec.heads * spec.value_size + spec.output_bias)
    sizes["norm after"] = (spec.norm_after, seen)
    for name, (norm, size) in sizes.items():
        if norm is not None and size < least_normed(norm):
            raise CertificateError(
                f"the {name} covers {size} numbers, at least {least_normed(norm)} are needed"
            )


def least_normed(norm: Norm) -> int:
    """The least number of numbers for which the mean square (plus ε) is no square of a function."""
    return 2 + (norm.kind is NormKind.LAYER)


def _trimmed(point: Point, rows: tuple[int, ...]) -> Point:
    """The point without the sequences at the end that no row reads."""
    last = max(rows, default=0) // point.spec.width
    count, sizes = 0, []
    for n, m in point.sizes:
        if count <= last:
            sizes.append((n, m))
        count += n
    tokens = sum(n + m for n, m in sizes)
    return replace(point, sizes=tuple(sizes), versions=tuple(v[:tokens] for v in point.versions))


def residue_objects(parameters: Parameters, prime: int) -> Parameters:
    """Parameters as residues that know their modulus."""
    return {
        name: np.array([nmod(int(x), prime) for x in array.flat], dtype=object).reshape(array.shape)
        for name, array in parameters.items()
    }


def _dense(tangents: tuple[GaugeTangent, ...], total: int) -> Array:
    dense = np.zeros((len(tangents), total), dtype=np.int64)
    for k, tangent in enumerate(tangents):
        for at, x in tangent.entries.items():
            dense[k, at] = int(x)
    return dense


def to_matrix(a: Array, prime: int) -> nmod_mat:
    """A matrix of residues as one of python-flint."""
    entries: list[Any] = a.ravel().tolist()
    return nmod_mat(a.shape[0], a.shape[1], entries, prime)


def pivots(matrix: nmod_mat) -> list[int]:
    """The pivot columns of a matrix.

    >>> pivots(nmod_mat(2, 3, [0, 1, 1, 0, 2, 3], 7))
    [1, 2]
    """
    reduced, rank = matrix.rref()
    found: list[int] = []
    column = 0
    for row in range(rank):
        while int(reduced[row, column]) == 0:
            column += 1
        found.append(column)
        column += 1
    return found
