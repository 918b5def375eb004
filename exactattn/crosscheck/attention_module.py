"""torch.nn.MultiheadAttention as a layer of this package, and as an oracle of value queries.

The module projects tokens to queries, keys and values of H heads, mixes values, and projects them back. Read
out at the last token along one direction w of the output it is the layer of theory, section 1, with
W_h = W_Qᵀ W_K /√D and v_h = W_Vᵀ W_Oᵀ w, so no score carries a factor. Biases give one affine layer more
(:mod:`exactattn.model.affine`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.crosscheck.enclosed_run import EnclosedRun, enclosed_run
from exactattn.crosscheck.torch_package import torch_package
from exactattn.exceptions import InputError
from exactattn.identify.parameters import Array
from exactattn.model import Query
from exactattn.model.affine import BiasedHead
from exactattn.numbers import Vector, rational

__all__ = ["ModuleReadout"]


@dataclass(frozen=True)
class ModuleReadout:
    """A module torch.nn.MultiheadAttention (``batch_first``) read out at the last token along ``direction``.

    Head sizes are squares (1, 4, 16, …), so that the factor 1/√D is rational.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> module = torch.nn.MultiheadAttention(2, 2, batch_first=True)
    >>> readout = ModuleReadout(module, (fmpq(1), fmpq(0)))
    >>> readout.run(Query.of([((fmpq(1), fmpq(2)), 3)], last=(fmpq(1, 2), fmpq(0)))).holds
    True
    """

    module: Any
    direction: Vector

    def __post_init__(self) -> None:
        size = self.module.embed_dim // self.module.num_heads
        if int(size**0.5) ** 2 != size:
            raise InputError(f"is {size}; take a square, so that 1/√D is rational", field="head size")
        if len(self.direction) != self.module.embed_dim:
            raise InputError(f"must have {self.module.embed_dim} entries", field="direction")

    @property
    def dim(self) -> int:
        """The token size."""
        return int(self.module.embed_dim)

    def heads(self) -> tuple[list[BiasedHead], fmpq]:
        """The exact heads, and the constant that value and output biases add."""
        heads, size = self.module.num_heads, self.dim // self.module.num_heads
        query, key, value = np.split(_exact(self.module.in_proj_weight), 3)
        output, w = _exact(self.module.out_proj.weight), np.array(self.direction, dtype=object)
        zero = np.full(3 * self.dim, fmpq(0), dtype=object)
        biases = zero if self.module.in_proj_bias is None else _exact(self.module.in_proj_bias)
        query_bias, key_bias, value_bias = np.split(biases, 3)
        found, constant = [], fmpq(0)
        if self.module.out_proj.bias is not None:
            constant += w @ _exact(self.module.out_proj.bias)
        root = fmpq(int(size**0.5))
        for h in range(heads):
            rows = slice(h * size, (h + 1) * size)
            read = w @ output[:, rows]
            found.append(
                BiasedHead.of(
                    (query[rows] / root).tolist(),
                    (query_bias[rows] / root).tolist(),
                    key[rows].tolist(),
                    key_bias[rows].tolist(),
                    (read @ value[rows]).tolist(),
                )
            )
            constant += read @ value_bias[rows]
        return found, constant

    def run(self, query: Query, **options: Any) -> EnclosedRun:
        """The module at a query: its output vectors at all tokens, with the bound of their roundings.

        Tokens that the module's format cannot hold raise InputError: they would be rounded before it starts.
        """
        tokens = self._tokens(query)
        return enclosed_run(self.module, tokens, tokens, tokens, pick=lambda out: out[0], **options)

    def answer(self, query: Query) -> fmpq:
        """The value along the direction at the last token, exact from the floats that the module gives."""
        torch = torch_package()
        tokens = self._tokens(query)
        with torch.no_grad():
            last = self.module(tokens, tokens, tokens, need_weights=False)[0][0, -1]
        value: fmpq = self.along(last.double().cpu().tolist())
        return value

    def along(self, output: Any) -> Any:
        """w · output, exact."""
        numbers = [rational(x) if isinstance(x, float) else x for x in output]
        return sum((w * x for w, x in zip(self.direction, numbers, strict=True)), fmpq(0))

    def _tokens(self, query: Query) -> Any:
        torch = torch_package()
        rows = [[int(x.p) / int(x.q) for x in row] for row in query.expanded()]
        weight = self.module.in_proj_weight
        tokens = torch.tensor([rows], dtype=weight.dtype, device=weight.device)
        held = [[rational(x) for x in row] for row in tokens[0].double().cpu().tolist()]
        if held != query.expanded():
            raise InputError("a token is not a number of the module's format", field="query")
        return tokens


def _exact(tensor: Any) -> Array:
    flat = [fmpq(*x.as_integer_ratio()) for x in tensor.detach().double().cpu().reshape(-1).tolist()]
    return np.array(flat, dtype=object).reshape(tuple(tensor.shape))
