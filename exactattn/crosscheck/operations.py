"""What each tensor operation of torch means, on arrays of balls.

Operations that only move numbers are not written out: they are carried out by torch itself on the numbers'
places. All others are here, one line each; an operation that is not is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb

from exactattn.crosscheck.rounding import Rounding, each
from exactattn.exceptions import InputError
from exactattn.identify.parameters import Array

__all__ = ["ARITHMETIC", "MOVES", "moved", "require_known"]

MOVES = frozenset(
    f"aten.{name}"
    for name in (
        "_reshape_alias", "_to_copy", "_unsafe_view", "alias", "cat", "clone", "detach", "embedding",
        "expand", "index_select", "lift_fresh", "permute", "reshape", "select", "slice", "split",
        "split_with_sizes", "squeeze", "stack", "t", "transpose", "unbind", "unsqueeze", "view", "where",
    )
)  # fmt: skip
"""Operations whose results are numbers of their arguments."""


def require_known(name: str) -> None:
    """Raise InputError for an operation whose meaning is not known."""
    if name not in MOVES and name not in ARITHMETIC:
        raise InputError(
            f"the module uses the operation {name}, which is not supported; choose eager attention",
            field="module",
        )


def moved(torch: Any, call: Any, args: Any, kwargs: Any, numbers: Callable[[Any], Array]) -> list[Array]:
    """The results of an operation that moves numbers: it is applied to their places.

    A condition (of ``where``) and indices (of ``embedding``) stay what they are.
    """
    pools: list[Any] = []
    start = 0

    def place(value: Any) -> Any:
        nonlocal start
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            pools.append(numbers(value).reshape(-1))
            places = torch.arange(start, start + value.numel()).reshape(value.shape)
            start += value.numel()
            return places
        if isinstance(value, torch.Tensor):
            return value.cpu()
        return [place(x) for x in value] if isinstance(value, list | tuple) else value

    options = {k: place(v) for k, v in kwargs.items() if k not in ("dtype", "device", "layout")}
    found = call(*[place(x) for x in args], **options)
    pool = np.concatenate(pools)
    tensors = found if isinstance(found, list | tuple) else [found]
    return [pool[tensor.numpy()] for tensor in tensors]


def _axes(a: Array, dims: Any) -> tuple[int, ...]:
    chosen = range(a.ndim) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    return tuple(k % a.ndim for k in chosen)


def _number(x: Any) -> Array:
    return x if isinstance(x, np.ndarray) else np.array(arb(x), dtype=object)


def _sum(r: Rounding, a: Any, b: Any, *, alpha: float = 1) -> Array:
    return r.sum(_number(a), _number(b) if alpha == 1 else r.product(_number(b), _number(alpha)))


def _difference(r: Rounding, a: Any, b: Any, *, alpha: float = 1) -> Array:
    return _sum(r, a, b, alpha=-alpha)


def _affine(r: Rounding, c: Array, a: Array, b: Array, *, beta: float = 1, alpha: float = 1) -> Array:
    product = r.matrix_product(a, b)
    product = product if alpha == 1 else r.product(product, _number(alpha))
    return r.sum(product, c if beta == 1 else r.product(c, _number(beta)))


def _softmax(r: Rounding, a: Array, dim: int, _half: bool) -> Array:
    return np.moveaxis(r.softmax(np.moveaxis(a, dim, -1)), -1, dim)


def _layer_norm(
    r: Rounding, x: Array, shape: Sequence[int], scale: Array | None, shift: Array | None, eps: float
) -> Array:
    if len(shape) != 1:
        raise InputError("layer norm over more than one axis is not supported", field="module")
    return r.layer_norm(x, scale, shift, eps)


def _gelu(r: Rounding, a: Array, *, approximate: str = "none") -> Array:
    return r.gelu(a, approximate == "tanh")


def _attention(
    r: Rounding,
    q: Array,
    k: Array,
    v: Array,
    _dropout: float = 0.0,
    causal: bool = False,
    *_: Any,
    **options: Any,
) -> Array:
    factor = options.get("scale")
    scale = arb(q.shape[-1]).rsqrt() if factor is None else arb(factor)
    mask = options.get("attn_mask")
    if causal:
        seen = np.tril(np.ones((q.shape[-2], k.shape[-2]), dtype=bool))
        mask = each(lambda x: arb(0) if x else -(arb(2) ** 2000), seen)
    return r.attention(q, k, v, scale, mask)


def _biased_attention(
    r: Rounding,
    q: Array,
    k: Array,
    v: Array,
    bias: Array | None,
    _sums: bool,
    dropout: float = 0.0,
    causal: bool = False,
    *_: Any,
    scale: Any = None,
) -> Array:
    """The fused operations of CUDA that take the mask as their fourth argument."""
    return _attention(r, q, k, v, dropout, causal, scale=scale, attn_mask=bias)


def _padded(r: Rounding, a: Array, widths: Sequence[int], value: float = 0.0) -> Array:
    pairs = [(0, 0)] * (a.ndim - len(widths) // 2)
    pairs += [(widths[k], widths[k + 1]) for k in range(len(widths) - 2, -1, -2)]
    return np.pad(a, pairs, constant_values=np.array(arb(value), dtype=object))


def _self_attention(
    r: Rounding, query: Array, key: Array, value: Array, width: int, heads: int,
    weight: Array, bias: Array, out_weight: Array, out_bias: Array, *_: Any, **__: Any,
) -> Array:  # fmt: skip
    """The fused operation of torch.nn.MultiheadAttention, for one sequence in all three places."""
    batch, length, _width = query.shape
    both = r.sum(r.matrix_product(query, weight.T), bias).reshape(batch, length, 3, heads, width // heads)
    q, k, v = np.moveaxis(both, 2, 0).swapaxes(2, 3)
    mixed = r.attention(q, k, v, arb(width // heads).rsqrt(), None)
    joined = mixed.swapaxes(1, 2).reshape(batch, length, width)
    return r.sum(r.matrix_product(joined, out_weight.T), out_bias)


def _function(name: str) -> Callable[..., Array]:
    return lambda r, a: r.function(name, a)


ARITHMETIC: dict[str, Callable[..., Array]] = {
    "aten.add": _sum,
    "aten.sub": _difference,
    "aten.mul": lambda r, a, b: r.product(_number(a), _number(b)),
    "aten.div": lambda r, a, b: r.quotient(_number(a), _number(b)),
    "aten.neg": lambda r, a: -a,
    "aten.mm": lambda r, a, b: r.matrix_product(a, b),
    "aten.bmm": lambda r, a, b: r.matrix_product(a, b),
    "aten.addmm": _affine,
    "aten.baddbmm": _affine,
    "aten.sum": lambda r, a, dims=None, keep=False: r.total(a, _axes(a, dims), keep),
    "aten.mean": lambda r, a, dims=None, keep=False: r.mean(a, _axes(a, dims), keep),
    "aten.pow": lambda r, a, exponent: r.power(a, exponent),
    "aten._softmax": _softmax,
    "aten.native_layer_norm": _layer_norm,
    "aten.gelu": _gelu,
    "aten._scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten._scaled_dot_product_flash_attention": _attention,
    "aten._scaled_dot_product_efficient_attention": _biased_attention,
    "aten._scaled_dot_product_cudnn_attention": _biased_attention,
    "aten.constant_pad_nd": _padded,
    "aten._native_multi_head_attention": _self_attention,
    **{
        f"aten.{name}": _function(name)
        for name in ("exp", "tanh", "sqrt", "rsqrt", "sigmoid", "silu", "relu")
    },
}
"""Operations that compute; the first argument is how results are rounded."""
