"""A layer evaluated by torch in float64, float32 or bfloat16: an oracle whose answers are rounded as torch
rounds."""

from __future__ import annotations

from typing import Any

from exactattn.crosscheck.torch_package import torch_package
from exactattn.errors.float_answers import FloatFormat, nearest_float
from exactattn.model import Attention, Query
from exactattn.oracle import FunctionOracle

__all__ = ["torch_oracle"]


def torch_oracle(layer: Attention, kind: FloatFormat) -> FunctionOracle:
    """An oracle (base e) that computes in one format throughout, parameters and tokens rounded to it, with
    torch's scaled_dot_product_attention for all heads at once, and answers with the float.

    The numpy oracle, :func:`exactattn.errors.float_oracle`, computes bfloat16 answers in float32 and rounds
    them once. How far answers are off is for :func:`exactattn.errors.largest_error` to say, by balls.

    Raises InputError if torch is not installed (extra ``torch``).

    >>> import pytest
    >>> _ = pytest.importorskip("torch")
    >>> from exactattn.model import Head, token
    >>> oracle = torch_oracle(Attention.of([Head.of([[0]], [1])]), "bfloat16")
    >>> oracle.function(Query.of([(token(1), 2)], last=token("1/2")))
    0.83203125
    """
    torch = torch_package()
    dtype = getattr(torch, kind)

    def tensor(rows: list[Any]) -> Any:
        return torch.tensor(rows, dtype=torch.float64).to(dtype)

    W = tensor([[[nearest_float(x) for x in row] for row in head.W] for head in layer.heads])
    v = tensor([[nearest_float(x) for x in head.v] for head in layer.heads])

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def answer(query: Query) -> float:
        tokens = tensor([[nearest_float(x) for x in row] for row in query.expanded()])
        asking = (tokens[-1] @ W)[:, None, :]
        keys = tokens.expand(len(layer.heads), -1, -1)
        mixed = torch.nn.functional.scaled_dot_product_attention(asking, keys, keys, scale=1.0)
        return float((mixed[:, 0, :] * v).sum())

    answer.__qualname__ = f"{kind} evaluation by torch"
    return FunctionOracle(answer, layer.dim)
