"""Reading answers: from Python values, and from JSON lines."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from flint import arb

from exactattn.exceptions import InputError
from exactattn.model.exact_json import NumberText, parse_json
from exactattn.model.query import Query
from exactattn.numbers import NumberSystem, rational, rational_text

__all__ = ["json_answer", "read_answer", "shown"]

E = TypeVar("E")


def shown(query: Query) -> str:
    """A query for a message: its canonical text, shortened."""
    return query.key if len(query.key) <= 120 else query.key[:117] + "..."


def read_answer(answer: Any, system: NumberSystem[E, Any]) -> E:
    """The value of ``system`` that an answer stands for.

    An answer is whatever :func:`~exactattn.numbers.rational` reads, or a text of the system
    (:meth:`~exactattn.numbers.NumberSystem.parse_value`). Over balls it may also be a finite flint ``arb``,
    or a pair (midpoint, radius). Raises InputError on anything else, and on a radius in an exact system.

    >>> from exactattn.numbers import Balls, LogLattice
    >>> read_answer("1/3", LogLattice())
    1/3
    >>> read_answer(("0.5", "1e-3"), Balls(64))
    [0.50 +/- 1.01e-3]
    """
    with system.context():
        if isinstance(answer, tuple) and len(answer) == 2:
            middle, radius = (rational_text(rational(part)) for part in answer)
            answer = f"{middle}+/-{radius}"
        if system.exact and (isinstance(answer, arb) or (isinstance(answer, str) and "+/-" in answer)):
            raise InputError(
                f"an answer with a radius is no exact value for the {system.name}; use --numbers balls"
            )
        if isinstance(answer, arb):
            if not answer.is_finite():
                raise InputError(f"the ball {answer} is not finite; answer with a finite radius")
            return cast(E, answer)
        if isinstance(answer, str):
            return system.parse_value(answer)
        return system.value(rational(answer))


def json_answer(line: str | bytes, key: str) -> tuple[Any, Any]:
    """The identifier and the answer in one line {"<key>": …, "value": …} with an optional "error".

    Raises InputError if the line is anything else. Decimals must be strings: most programs print rounded
    binary floats as JSON numbers, and an exact method must not take those for the true values.

    >>> json_answer('{"id": 3, "value": "1/7"}', "id")
    (3, '1/7')
    """
    data = parse_json(line)
    if not isinstance(data, dict):
        raise InputError(f'must be an object {{"{key}": ..., "value": ...}}')
    for name in (key, "value"):
        if name not in data:
            raise InputError(f"the key {name!r} is missing; add it")
    for name in data:
        if name not in {key, "value", "error"}:
            raise InputError(f"the key {name!r} is not known; use {key!r}, 'value' and 'error'")
    value = _number(data["value"], "value")
    return data[key], (value, _number(data["error"], "error")) if "error" in data else value


def _number(x: Any, name: str) -> Any:
    if isinstance(x, NumberText) and x.is_decimal:
        raise InputError(
            f"{name} is the JSON decimal {x[:40]}; send decimals as strings, or fractions as 'p/q'"
        )
    if isinstance(x, bool) or not isinstance(x, int | str):
        raise InputError(f"{name} must be a string or an integer, not {str(x)[:40]}")
    return x
