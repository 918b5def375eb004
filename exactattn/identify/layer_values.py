"""Outputs of a layer with given weights at given tokens: exact on the log-lattice, or certified balls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb, fmpq

from exactattn.exceptions import InputError
from exactattn.identify.array_numbers import ArrayNumbers, BallArrays, RationalArrays
from exactattn.identify.layer import Constants, Exponential, LayerRun
from exactattn.identify.parameters import Array
from exactattn.identify.real_point import RealPoint
from exactattn.identify.spec import AttentionSpec
from exactattn.numbers import LogLattice, rational

__all__ = ["ball_outputs", "last_outputs", "lattice_outputs", "real_constants"]


def lattice_outputs(
    spec: AttentionSpec,
    parameters: Mapping[str, Any],
    tokens: Sequence[Sequence[Any]],
    rotations: Sequence[tuple[Any, Any]] = (),
    factor: Any = 1,
) -> list[fmpq]:
    """The output of the bare layer at the last token, with exp(s) replaced by 2^s (theory, section 2).

    ``parameters`` by name, as in :func:`~exactattn.identify.parameters.parameter_shapes`; ``rotations`` are a
    rational cosine and sine of one step for each rotation plane, ``factor`` multiplies scores. Raises
    InputError where a score is no integer, where the architecture leaves the rationals (soft caps, ALiBi) or
    where a rotation is none.

    >>> spec = AttentionSpec.of(width=1, heads=1)
    >>> ones = {name: [[1]] for name in ("query", "key", "value", "output")}
    >>> lattice_outputs(spec, ones, [[0], [1]])
    [2/3]
    """
    if spec.soft_cap is not None or spec.alibi:
        raise InputError("is not rational on the log-lattice; use balls", field="soft_cap or alibi")
    turns = [(rational(cosine), rational(sine)) for cosine, sine in rotations]
    if len(turns) != spec.rotated // 2 or any(c * c + s * s != 1 for c, s in turns):
        raise InputError(
            f"give cosine and sine of {spec.rotated // 2} rotations, squares adding up to 1",
            field="rotations",
        )
    rows = [[(fmpq(1), fmpq(0))] * len(turns)]
    while len(rows) < len(tokens):
        rows.append([(a * c - b * s, a * s + b * c) for (a, b), (c, s) in zip(rows[-1], turns, strict=True)])
    shape = (len(tokens), len(turns))
    constants = Constants(
        _objects([c for row in rows for c, _ in row], shape),
        _objects([s for row in rows for _, s in row], shape),
        _objects([fmpq(0)] * spec.heads, (spec.heads,)),
        rational(factor),
    )
    lattice = LogLattice()

    def power(_: str, exponents: Array) -> Array:
        return _objects([lattice.exp(x) for x in exponents.flat], exponents.shape)

    arrays = {name: _array(values, rational) for name, values in parameters.items()}
    return last_outputs(spec, RationalArrays(), arrays, _array(tokens, rational), constants, power)


def ball_outputs(
    spec: AttentionSpec,
    parameters: Mapping[str, Any],
    tokens: Sequence[Sequence[Any]],
    *,
    cross: bool = False,
) -> list[arb]:
    """The output of the bare layer at the last token in balls: true exponentials, angles, caps and roots.

    ``cross``: the last token asks, the others are the other sequence. Balls hold at the precision of the
    context of python-flint. Angles must be known: raises InputError for rotations without a base or with a
    rule, unless there is one token only, whose weight is 1.

    >>> spec = AttentionSpec.of(width=1, heads=1)
    >>> ones = {name: [[1]] for name in ("query", "key", "value", "output")}
    >>> bool(abs(ball_outputs(spec, ones, [[0], [1]])[0] - 1 / (1 + arb(-1).exp())) < 1e-12)
    True
    """
    rotary = spec.rotary
    unknown = rotary is not None and (rotary.base is None or rotary.rule is not None)
    if unknown and (len(tokens) > 1 or spec.sinks is not None):
        raise InputError("the angles are not known; use one token, without sinks", field="rotary")

    def power(_: str, exponents: Array) -> Array:
        return _objects([x.exp() for x in exponents.flat], exponents.shape)

    arrays = {name: _array(values, _ball) for name, values in parameters.items()}
    constants = real_constants(spec, len(tokens))
    return last_outputs(spec, BallArrays(), arrays, _array(tokens, _ball), constants, power, cross=cross)


def real_constants(spec: AttentionSpec, longest: int) -> Constants:
    """Cosines and sines, slopes of ALiBi and the factor on scores, in balls."""
    constants = RealPoint(spec, ((longest, 0),)).constants(longest)
    return replace(constants, factor=arb(spec.score_scale_squared).sqrt())


def last_outputs(
    spec: AttentionSpec,
    numbers: ArrayNumbers,
    parameters: Mapping[str, Array],
    tokens: Array,
    constants: Constants,
    power: Exponential,
    *,
    cross: bool = False,
) -> list[Any]:
    """The output of the bare layer at the last token, in any numbers."""
    run = LayerRun(spec.bare(), numbers, dict(parameters), constants, power)
    if cross:
        return list(run.outputs(tokens[-1:], tokens[:-1], [0]).value[0])
    return list(run.outputs(tokens, None, [len(tokens) - 1]).value[0])


def _ball(x: Any) -> arb:
    return arb(rational(x))


def _array(values: Any, number: Callable[[Any], Any]) -> Array:
    given = np.array(values, dtype=object)
    return _objects([number(x) for x in given.flat], given.shape)


def _objects(entries: list[Any], shape: tuple[int, ...]) -> Array:
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made.reshape(shape)
