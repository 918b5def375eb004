"""Layers of small size with their certificates, and what can be done to certificates and companion files."""

from __future__ import annotations

import base64
import copy
import json
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.certificate.prime import sealed_prime, write_prime_certificate
from exactattn.checker import Verdict, check_file
from exactattn.prime.dyadic_layer import DyadicLayer
from exactattn.prime.plan import BlockPlan
from exactattn.prime.trained import recover_trained

NAME = "layer.json"
Content = dict[str, Any]


def random_layer(heads: int, dim: int, seed: int, *, bias: bool = True, bits: int = 40) -> DyadicLayer:
    """Integers of so many bits, of both signs."""
    rng = np.random.default_rng(seed)

    def integers(*shape: int) -> np.ndarray:
        limit = 1 << (bits - 1)
        return rng.integers(-limit, limit, shape).astype(object)

    constant = int(integers(1)[0]) if bias else 0
    W = integers(heads, dim + bias, dim)
    return DyadicLayer(W, integers(heads, dim), constant, -bits, -bits, fmpq(1, 8))


@cache
def small(bias: bool = True) -> tuple[str, bytes]:
    """The JSON text and the companion file of a layer with three heads."""
    return certified(random_layer(3, 4, 1, bias=bias), BlockPlan(3, 4, 0, bias))


def certified(layer: DyadicLayer, plan: BlockPlan) -> tuple[str, bytes]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / NAME
        write_prime_certificate(recover_trained(layer, plan.heads, seed=plan.seed), plan, layer, file)
        return file.read_text(), Path(f"{file}.heads").read_bytes()


def verdict_on(content: Content | str, companion: bytes | None, *, sample: bool = False) -> Verdict:
    with TemporaryDirectory() as folder:
        file = Path(folder) / NAME
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        if companion is not None:
            Path(f"{file}.heads").write_bytes(companion)
        return check_file(file, sample=sample)


def changed(change: Callable[[Content], None], *, bias: bool = True) -> Content:
    """The small certificate after a change, with the sentences and the digest that would belong to it."""
    content = json.loads(small(bias)[0])
    change(content)
    return sealed_prime(content)


def places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values that hold no others."""
    if isinstance(x, dict | list):
        for key, y in x.items() if isinstance(x, dict) else enumerate(x):
            yield from places(y, (*path, key))
    else:
        yield path


def put(content: Content, path: tuple[Any, ...], alter: Callable[[Any], Any]) -> Content:
    """A copy with one value altered."""
    result = copy.deepcopy(content)
    inner: Any = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = alter(inner[path[-1]])
    return result


def altered(x: Any) -> Any:
    """Another value of the same type; of a text, with its last letter or digit changed."""
    if isinstance(x, bool):
        return not x
    if isinstance(x, int):
        return x + 1
    k = max(i for i, c in enumerate(x) if c.isalnum())
    return x[:k] + ("1" if x[k] == "0" else "0") + x[k + 1 :]


def table(text: str) -> list[int]:
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def text_of(numbers: list[int]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}I", *numbers)).decode("ascii")
