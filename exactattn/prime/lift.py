"""From residues to integers: the recoveries of one layer modulo several primes, put together.

A recovery modulo p gives W_h modulo p − 1, or a divisor of it, and v_h modulo p, in an order of heads of its
own. Heads are aligned across primes by W modulo what this modulus has in common with those so far; then
Chinese remainders give W_h modulo the least common multiple L of all, and v_h modulo the product P of all p.
The integers of least absolute value are the layer's own if these are known to be below L/2 and P/2. Without
such a bound, that one prime more changed none of them (``stable``) and that fresh queries modulo another
prime agree is strong evidence, and no proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import CannotTell, GenericityExhausted, InconsistentAnswers
from exactattn.prime.arithmetic import UNDEFINED, Array
from exactattn.prime.field import PrimeField
from exactattn.prime.layer import PrimeLayer, ProbeGroup
from exactattn.prime.mend import Oracle
from exactattn.prime.mixed_radix import MixedRadix
from exactattn.prime.run import PrimeRecovery

__all__ = ["LIFTING_ORDER", "Lifted", "agrees", "lift"]

# indices of WORD_PRIMES such that p − 1 shares an odd factor with an earlier one, by which heads are aligned
LIFTING_ORDER = (0, 2, 3, 4, 1, 5, 6, 7)
FRESH_COPIES = (1, 2, 5)


@dataclass(frozen=True, eq=False)
class Lifted:
    """Heads known modulo long numbers: ``W`` modulo L, (K, rows, d), ``v`` modulo P, (K, d), ``constant``
    modulo P; ``stable``: the last prime changed no symmetric representative."""

    W: MixedRadix
    v: MixedRadix
    constant: MixedRadix
    primes: tuple[int, ...]
    stable: bool

    @classmethod
    def of(cls, recovery: PrimeRecovery) -> Lifted:
        """What one recovery knows."""
        prime = recovery.field.prime
        constant = MixedRadix.of(np.array([recovery.constant], dtype=np.uint64), prime)
        W, v = MixedRadix.of(recovery.W, recovery.order), MixedRadix.of(recovery.v, prime)
        return cls(W, v, constant, (prime,), False)

    def joined(self, recovery: PrimeRecovery) -> Lifted:
        """Heads modulo one prime more, in the order of the first.

        Raises InconsistentAnswers if numbers of heads differ or no alignment fits, CannotTell if two do.
        """
        prime = recovery.field.prime
        if recovery.W.shape != self.W.digits[0].shape:
            raise InconsistentAnswers(
                f"modulo {prime} there are {len(recovery.W)} heads, modulo {self.primes[0]} "
                f"{len(self.W.digits[0])}"
            )
        order = _alignment(self.W, recovery)
        constant = np.array([recovery.constant], dtype=np.uint64)
        parts = (
            (self.W, recovery.W[order], recovery.order),
            (self.v, recovery.v[order], prime),
            (self.constant, constant, prime),
        )
        stable = all(
            np.array_equal(known.symmetric_residues(modulus), residues) for known, residues, modulus in parts
        )
        W, v, c = (known.joined(residues, modulus) for known, residues, modulus in parts)
        return Lifted(W, v, c, (*self.primes, prime), stable)

    def modulo(self, field: PrimeField) -> PrimeLayer:
        """The layer of the symmetric representatives over another field."""
        W = self.W.symmetric_residues(field.order).astype(np.int64)
        v = self.v.symmetric_residues(field.prime).astype(np.int64)
        return PrimeLayer(field, W, v, int(self.constant.symmetric_residues(field.prime)[0]))

    def integers(self) -> tuple[NDArray[np.object_], NDArray[np.object_], int]:
        """W, v and the constant as Python integers of least absolute value."""
        return self.W.symmetric(), self.v.symmetric(), int(self.constant.symmetric()[0])


def lift(found: Iterable[PrimeRecovery]) -> Lifted:
    """Heads modulo the least common multiple of all p − 1 and the product of all p, in the order of the
    first recovery.

    Raises InconsistentAnswers if numbers of heads differ or no alignment fits, CannotTell if two do.

    >>> from exactattn.numbers.smooth_primes import WORD_PRIMES
    >>> from exactattn.prime.run import recover_prime
    >>> W, v = np.array([[[10**10]], [[-7]]]), np.array([[5], [-6]])
    >>> fields = [PrimeField(WORD_PRIMES[i]) for i in LIFTING_ORDER[:3]]
    >>> layers = [PrimeLayer(f, W, v) for f in fields]
    >>> found = lift(recover_prime(layer, 2, 1, f) for layer, f in zip(layers, fields))
    >>> sorted(found.integers()[0].ravel().tolist()), found.stable
    ([-7, 10000000000], True)
    """
    runs = list(found)
    if not runs:
        raise InconsistentAnswers("there is no recovery to lift")
    return reduce(Lifted.joined, runs[1:], Lifted.of(runs[0]))


def _alignment(known: MixedRadix, recovery: PrimeRecovery) -> list[int]:
    """For every known head the recovered one with equal W modulo the common factor."""
    shared = gcd(known.modulus, recovery.order)
    tables = [x % np.uint64(shared) for x in (known.residues(recovery.order), recovery.W)]
    keys, others = ([head.tobytes() for head in table] for table in tables)
    if len(set(keys)) < len(keys):
        raise CannotTell(
            f"two heads have equal W modulo {shared}, so they cannot be told apart across primes"
        )
    if sorted(keys) != sorted(others):
        raise InconsistentAnswers(
            f"the heads modulo {recovery.field.prime} are not those of the other primes modulo {shared}"
        )
    return [others.index(key) for key in keys]


def agrees(lifted: Lifted, oracle: Oracle, field: PrimeField, tokens: Sequence[NDArray[np.int64]]) -> bool:
    """Whether an oracle over a fresh field gives the lifted layer's values at new queries: each of ``tokens``
    as last token, with copies of the one after it. Raises GenericityExhausted if all values are undefined."""
    layer = lifted.modulo(field)
    groups = [
        ProbeGroup(last, filler[None]) for last, filler in zip(tokens, [*tokens[1:], tokens[0]], strict=True)
    ]
    theirs, ours = (_flat(source.group_answers(groups, FRESH_COPIES)) for source in (oracle, layer))
    defined = ours != UNDEFINED
    if not defined.any():
        raise GenericityExhausted(f"all fresh queries are undefined modulo {field.prime}")
    return np.array_equal(theirs[defined], ours[defined])


def _flat(answers: Sequence[Array]) -> Array:
    return np.concatenate([each.ravel() for each in answers])
