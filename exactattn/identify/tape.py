"""Reverse-mode differentiation of arrays of exact numbers, for a batch of linear functionals at once.

Every step of an evaluation is a :class:`Node`; it knows its inputs and how a cotangent, an array with one
axis more (the batch) in front, is pulled back to each of them. Derivatives are exact in every number system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.identify.array_numbers import ArrayNumbers
from exactattn.identify.parameters import Array

__all__ = ["Node", "Tape"]

Pull = Callable[[Array], Array]


@dataclass(eq=False)
class Node:
    """A value and how cotangents go back to what it was made from."""

    value: Array
    inputs: tuple[tuple[Node, Pull], ...] = ()
    number: int = field(default=-1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.value.shape


class Tape:
    """Builds nodes over one number system and pulls cotangents back.

    >>> from exactattn.identify.array_numbers import RationalArrays
    >>> tape = Tape(RationalArrays())
    >>> x = tape.leaf(np.array([fmpq(2), fmpq(3)], dtype=object))
    >>> y = tape.multiply(x, x)
    >>> tape.pull_back(y, np.array([[fmpq(1), fmpq(1)]], dtype=object), [x])[0].tolist()
    [[4, 6]]
    """

    def __init__(self, numbers: ArrayNumbers) -> None:
        self.numbers = numbers
        self._made = 0

    def _node(self, value: Array, *inputs: tuple[Node, Pull]) -> Node:
        self._made += 1
        return Node(value, inputs, self._made)

    def leaf(self, value: Array) -> Node:
        """A parameter or an input."""
        return self._node(value)

    def pull_back(self, output: Node, cotangents: Array, leaves: Sequence[Node]) -> list[Array]:
        """For each leaf the derivatives of the functionals ``cotangents`` (batch × shape of output)."""
        waiting: dict[int, tuple[Node, Array]] = {output.number: (output, cotangents)}
        wanted = {leaf.number for leaf in leaves}
        found: dict[int, Array] = {}
        while waiting:
            number = max(waiting)
            node, cotangent = waiting.pop(number)
            if number in wanted:
                found[number] = cotangent
            for source, pull in node.inputs:
                part = pull(cotangent)
                if source.number in waiting:
                    part = self.numbers.add(waiting[source.number][1], part)
                waiting[source.number] = (source, part)
        batch = cotangents.shape[0]
        return [
            found[leaf.number] if leaf.number in found else self.numbers.zeros((batch, *leaf.shape))
            for leaf in leaves
        ]

    def _fit(self, shape: tuple[int, ...]) -> Pull:
        """Sums a broadcast cotangent back to ``shape``."""

        def pull(cotangent: Array) -> Array:
            extra = cotangent.ndim - 1 - len(shape)
            cotangent = self.numbers.total(cotangent, tuple(range(1, 1 + extra)))
            stretched = tuple(i + 1 for i, n in enumerate(shape) if n == 1 and cotangent.shape[i + 1] != 1)
            return self.numbers.total(cotangent, stretched).reshape(cotangent.shape[0], *shape)

        return pull

    def add(self, a: Node, b: Node) -> Node:
        """a + b, shapes broadcast."""
        return self._node(
            self.numbers.add(a.value, b.value), (a, self._fit(a.shape)), (b, self._fit(b.shape))
        )

    def multiply(self, a: Node, b: Node) -> Node:
        """a · b entry by entry, shapes broadcast."""
        fit_a, fit_b = self._fit(a.shape), self._fit(b.shape)
        return self._node(
            self.numbers.multiply(a.value, b.value),
            (a, lambda z: fit_a(self.numbers.multiply(z, b.value))),
            (b, lambda z: fit_b(self.numbers.multiply(z, a.value))),
        )

    def scaled(self, a: Node, factor: fmpq) -> Node:
        """A rational times a."""
        return self._map(a, lambda z: self.numbers.multiply(z, self.numbers.constant(factor)))

    def shifted(self, a: Node, offset: Array) -> Node:
        """a plus a constant array, shapes broadcast."""
        return self._node(self.numbers.add(a.value, offset), (a, self._fit(a.shape)))

    def masked(self, a: Node, mask: Array) -> Node:
        """a times a constant array, shapes broadcast."""
        return self._map(a, lambda z: self.numbers.multiply(z, mask))

    def _map(self, a: Node, linear: Pull) -> Node:
        return self._node(linear(a.value), (a, linear))

    def contract(self, subscripts: str, a: Node, b: Node) -> Node:
        """Einstein summation; every letter of an operand is in the other or in the result."""
        left, result = subscripts.split("->")
        first, second = left.split(",")
        return self._node(
            self.numbers.contract(subscripts, a.value, b.value),
            (a, lambda z: self.numbers.contract(f"z{result},{second}->z{first}", z, b.value)),
            (b, lambda z: self.numbers.contract(f"z{result},{first}->z{second}", z, a.value)),
        )

    def entrywise(self, a: Node, value: Array, slope: Array) -> Node:
        """A function of each entry, given by its values and derivatives."""
        return self._node(value, (a, lambda z: self.numbers.multiply(z, slope)))

    def inverse(self, a: Node) -> Node:
        """1/a."""
        value = self.numbers.inverse(a.value)
        slope = self.numbers.multiply(self.numbers.multiply(value, value), self.numbers.constant(fmpq(-1)))
        return self.entrywise(a, value, slope)

    def root(self, a: Node) -> Node:
        """√a."""
        value = self.numbers.root(a.value)
        slope = self.numbers.multiply(self.numbers.inverse(value), self.numbers.constant(fmpq(1, 2)))
        return self.entrywise(a, value, slope)

    def sum_last(self, a: Node) -> Node:
        """The sum over the last axis, which stays with size 1."""
        shape = a.shape
        value = self.numbers.total(a.value, (a.value.ndim - 1,))[..., None]
        spread: Callable[[Array], Array] = lambda z: np.broadcast_to(z, (z.shape[0], *shape))  # noqa: E731
        return self._node(value, (a, spread))

    def take(self, a: Node, index: Any) -> Node:
        """a[index] for slices and lists of positions."""
        shape = a.shape
        keys = index if isinstance(index, tuple) else (index,)

        def pull(cotangent: Array) -> Array:
            back = self.numbers.zeros((cotangent.shape[0], *shape))
            # positions may repeat, as when the heads of a group read one key
            for position, part in _entries(keys, cotangent):
                back[position] = self.numbers.add(back[position], part)
            return back

        return self._node(a.value[index], (a, pull))

    def reshape(self, a: Node, *shape: int) -> Node:
        """The same entries in another shape."""
        old = a.shape
        value = a.value.reshape(shape)
        return self._node(value, (a, lambda z: z.reshape(z.shape[0], *old)))

    def join(self, parts: Sequence[Node]) -> Node:
        """Concatenation along the last axis."""
        inputs, start = [], 0
        for part in parts:
            stop = start + part.shape[-1]
            inputs.append((part, _cut(start, stop)))
            start = stop
        return self._node(np.concatenate([part.value for part in parts], axis=-1), *inputs)


def _cut(start: int, stop: int) -> Pull:
    return lambda z: z[..., start:stop]


def _entries(keys: tuple[Any, ...], cotangent: Array) -> Any:
    """Pairs of a position in the source and the part of the cotangent that belongs there, without repeats."""
    lists = [axis for axis, key in enumerate(keys) if not isinstance(key, slice)]
    if not lists:
        yield (slice(None), *keys), cotangent
        return
    if len(lists) > 1:
        raise NotImplementedError("one list of positions at a time")
    axis = lists[0]
    for k, position in enumerate(keys[axis]):
        # a slice of length 1 keeps the axes of source and cotangent in step
        source = [slice(None), *keys]
        source[axis + 1] = slice(position, position + 1)
        here = [slice(None)] * cotangent.ndim
        here[axis + 1] = slice(k, k + 1)
        yield tuple(source), cotangent[tuple(here)]
