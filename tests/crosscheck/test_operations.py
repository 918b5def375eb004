"""Every operation that is followed, alone: exact value against wider floats, and bound of rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from exactattn.crosscheck import Rounding, enclosed_run
from exactattn.crosscheck.operations import ARITHMETIC
from exactattn.exceptions import CannotTell, InputError

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

pytestmark = pytest.mark.crosscheck
functional = torch.nn.functional
attention = functional.scaled_dot_product_attention


def hidden(a: Any) -> Any:
    """A mask with −∞ and with a very low number, as models use both."""
    return torch.tensor([0.0, 1.0, float("-inf"), 0.0, -3e38, 0.0], dtype=a.dtype)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda a, b: torch.add(a, b, alpha=3) - 2 * b + 1,
    "quotient": lambda a, b: a / (2 + b * b),
    "negative": lambda a, b: -a * b,
    "matrices": lambda a, b: a @ b.transpose(-1, -2),
    "affine": lambda a, b: torch.addmm(a[0, :, :4], b[0], b[1].T, beta=0.5, alpha=2),
    "batched affine": lambda a, b: torch.baddbmm(a[:, :, :4], a, b.transpose(1, 2), alpha=0.25),
    "mean": lambda a, b: a.mean(-1, keepdim=True) + b.mean((0, 1)),
    "total": lambda a, b: a.sum(1) + b.sum(),
    "powers": lambda a, b: a.pow(2) + b.pow(3),
    "softmax": lambda a, b: torch.softmax(a, 1),
    "masked softmax": lambda a, b: torch.softmax(a + hidden(a), -1),
    "gelu": lambda a, b: functional.gelu(a),
    "gelu by tanh": lambda a, b: functional.gelu(a, approximate="tanh"),
    "silu": lambda a, b: functional.silu(a),
    "other functions": lambda a, b: torch.tanh(a) + torch.sigmoid(b) * torch.exp(a) - functional.relu(b),
    "roots": lambda a, b: torch.sqrt(a * a + 1) * torch.rsqrt(b * b + 2),
    "layer norm": lambda a, b: functional.layer_norm(a, (6,), b[0, 0], b[1, 0], 1e-5),
    "bare layer norm": lambda a, b: functional.layer_norm(a, (6,)),
    "fused attention": lambda a, b: attention(a[None], b[None], a[None]),
    "causal attention": lambda a, b: attention(a[None], b[None], a[None], is_causal=True),
    "masked attention": lambda a, b: attention(
        a[None], b[None], a[None], attn_mask=hidden(a)[:4].expand(4, 4), scale=0.3
    ),
    "padding": lambda a, b: functional.pad(a, (1, 2, 0, 1)) * 3,
    "moves": lambda a, b: torch.cat([torch.stack([a, b])[1, :, 1:], a.permute(0, 1, 2)], 1)[0] / 3,
    "choice": lambda a, b: torch.where(torch.arange(6) > 2, a, b) + b.chunk(2, 0)[0].expand(2, 4, 6),
}


class Operation(torch.nn.Module):
    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, a: Any, b: Any) -> Any:
        return self.function(a, b)


def arguments(kind: Any) -> tuple[Any, Any]:
    source = torch.Generator().manual_seed(5)
    return tuple(torch.randn(2, 4, 6, generator=source).mul(2).to(kind) for _ in range(2))


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_floats_are_within_their_bounds(name: str, kind: str) -> None:
    """A float beyond its bound would make the bound of every module with this operation wrong."""
    run = enclosed_run(Operation(OPERATIONS[name]), *arguments(getattr(torch, kind)))
    assert run.holds
    assert 0 < run.largest_bound < arb(2) ** (-8 if kind == "float32" else -37)


@pytest.mark.parametrize("name", OPERATIONS)
def test_exact_values_are_near_wider_floats(name: str) -> None:
    """A bound that holds by being wide would hide a wrong meaning: float64 is near the exact value."""
    a, b = arguments(torch.float32)
    run = enclosed_run(Operation(OPERATIONS[name]), a, b)
    wide = OPERATIONS[name](a.double(), b.double()).numpy()
    assert run.exact.shape == wide.shape
    for x, y in zip(run.exact.flat, wide.flat, strict=True):
        assert abs(x - arb(float(y))) < arb(2) ** -40
        assert x.rad() < arb(2) ** -200


@given(st.floats(-20, 20))
def test_functions_against_mpmath(x: float) -> None:
    """A second engine for gelu and softmax, digit by digit."""
    with ctx.workprec(200), mpmath.workprec(200):
        ball = np.array([arb(x)], dtype=object)
        gelu = Rounding.exact().gelu(ball, tanh=False)[0]
        assert abs(gelu - arb(str(mpmath.mpf(x) * mpmath.ncdf(x)))) < arb(10) ** -45
        both = Rounding.exact().softmax(np.array([arb(x), arb(0)], dtype=object))
        share = mpmath.exp(x) / (1 + mpmath.exp(x))
        assert abs(both[0] - arb(str(share))) < arb(10) ** -45
        assert (both[0] + both[1]).contains(1)


def test_attention_of_cuda_has_the_same_meaning() -> None:
    """Fused operations of CUDA list their arguments otherwise; they cannot run here but must agree."""
    with ctx.workprec(128):
        a, b = (
            np.array([[arb(x) for x in row] for row in array[0].tolist()])
            for array in arguments(torch.float64)
        )
        exact = Rounding.exact()
        plain = ARITHMETIC["aten._scaled_dot_product_flash_attention"](
            exact, a, b, a, 0.0, True, False, scale=0.5
        )
        for name in ("efficient", "cudnn"):
            other = ARITHMETIC[f"aten._scaled_dot_product_{name}_attention"](
                exact, a, b, a, None, False, 0.0, True, scale=0.5
            )
            assert all(bool((x - y).contains(0)) for x, y in zip(plain.flat, other.flat, strict=True))


def test_too_many_roundings_cannot_be_bounded() -> None:
    """γ_k with k u ≥ 1 is no bound: 300 terms in bfloat16 can give anything."""
    row = np.full((1, 300), arb(1), dtype=object)
    with pytest.raises(CannotTell, match="use a wider one"):
        Rounding.of("bfloat16").total(row, (1,))


def test_unknown_formats_and_powers_are_refused() -> None:
    """A format without a known unit roundoff has no bound."""
    with pytest.raises(InputError, match="not a known format"):
        Rounding.of("float8")
    with pytest.raises(InputError, match="exponent"):
        Rounding.exact().power(np.array([arb(2)], dtype=object), 0.3)
