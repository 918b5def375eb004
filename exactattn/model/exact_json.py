"""JSON read strictly and without losing a digit.

Numbers stay what the text says: an integer is an integer, a decimal keeps its digits, so that 0.1 is 1/10 and
not the nearest binary float. What other readers let pass is refused: a key given twice, NaN, infinities.
"""

from __future__ import annotations

import json
from typing import Any

from exactattn.exceptions import InputError

__all__ = ["NumberText", "parse_json"]

# Python refuses to turn longer decimal texts into integers (the limit can be changed, but not below 640).
MAX_DIGITS = 600


class NumberText(str):
    """A JSON number as its exact text: every decimal, and integers too long for Python's own reader.

    >>> parse_json("[1, 0.10]"), isinstance(parse_json("0.10"), NumberText)
    ([1, '0.10'], True)
    """

    __slots__ = ()

    @property
    def is_decimal(self) -> bool:
        """Whether it was written with a point or an exponent."""
        return any(mark in self for mark in ".eE")


def _integer(text: str) -> int | NumberText:
    return int(text) if len(text) <= MAX_DIGITS else NumberText(text)


def _constant(text: str) -> Any:
    raise InputError(f"{text} is not a number; replace it by a finite number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"the key {twice!r} appears twice in one object; remove one of the two")
    return result


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; decimals become :class:`NumberText`.

    Raises InputError if the text is not UTF-8 or not JSON, nests too deeply, repeats a key within an object,
    or holds NaN or an infinity.
    """
    try:
        return json.loads(
            text.decode() if isinstance(text, bytes) else text,
            parse_float=NumberText,
            parse_int=_integer,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8, so not JSON; check that this is the right file") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno}); mend it there"
        ) from None
    except RecursionError:
        raise InputError("nests lists or objects too deeply; flatten it") from None
