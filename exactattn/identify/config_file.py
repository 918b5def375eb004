"""Reading a JSON file of settings, strictly: no duplicate keys, no NaN, decimals exact, sizes limited."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from exactattn.exceptions import InputError
from exactattn.numbers import rational

__all__ = ["MAX_BYTES", "load_object"]

MAX_BYTES = 64 * 2**20


def load_object(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file; decimals become exact rationals.

    Raises InputError, naming the file and the mend, for a missing or unreadable file, a directory, a file
    over 64 MB, text that is not JSON, duplicate keys, NaN or infinities, and JSON that is not an object.
    """
    place = Path(path)
    try:
        status = place.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError("is a directory; name the config.json in it", file=place)
        if not stat.S_ISREG(status.st_mode):
            raise InputError("is not a regular file; name a config.json", file=place)
        if status.st_size > MAX_BYTES:
            raise InputError(
                f"has {status.st_size} bytes, over the limit of {MAX_BYTES}; a config is a small JSON file",
                file=place,
            )
        text = place.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text; a config is a JSON file", file=place) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"cannot be read ({reason}); check the path", file=place) from None
    except ValueError:
        raise InputError("is not a path; check the name", file=place) from None
    try:
        data = json.loads(
            text, object_pairs_hook=_unique, parse_float=rational, parse_constant=_refuse_constant
        )
    except InputError as error:
        raise error.in_file(place) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"is not JSON (line {error.lineno}: {error.msg}); name a config.json", file=place
        ) from None
    except (ValueError, RecursionError):
        raise InputError(
            "holds a number of too many digits, or is nested too deeply, for a config", file=place
        ) from None
    if not isinstance(data, dict):
        raise InputError(f"holds a JSON {type(data).__name__}, not an object; name a config.json", file=place)
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError("stands twice in one object; keep one of the two", field=key[:80])
        result[key] = value
    return result


def _refuse_constant(name: str) -> Any:
    raise InputError(f"{name} is not a number of JSON; replace it")
