"""torch.nn.MultiheadAttention: exact values, bounds of rounding on every path and format, and recovery."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from exactattn.crosscheck.attention_module import ModuleReadout
from exactattn.errors import recover_with_error
from exactattn.exceptions import InputError
from exactattn.model import Attention, Head, Query
from exactattn.model.affine import evaluate_with_biases
from exactattn.numbers import Balls
from exactattn.oracle import FunctionOracle

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

pytestmark = pytest.mark.crosscheck

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
]
PATHS = {
    "attention weights returned": (True, {"need_weights": True}),
    "fused attention": (True, {"need_weights": False}),
    "fused module": (False, {"need_weights": False}),
}
BOUNDS = {"float64": "1e-11", "float32": "1e-2", "float16": "1", "bfloat16": "8"}


def readout(
    width: int, heads: int, *, seed: int, kind: str = "float64", device: str = "cpu", bias: bool = True
) -> Any:
    module = torch.nn.MultiheadAttention(width, heads, batch_first=True, bias=bias)
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=source) / 2)
    module = module.to(device=device, dtype=getattr(torch, kind))
    return ModuleReadout(module, tuple(fmpq(x) for x in range(1, width + 1)))


def a_query(width: int, seed: int) -> Query:
    source = Random(seed)
    tokens = [tuple(fmpq(source.randint(-8, 8), 8) for _ in range(width)) for _ in range(3)]
    return Query.of([(tokens[0], 2), (tokens[1], 1)], last=tokens[2])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", BOUNDS)
def test_floats_are_within_the_bound_of_rounding(kind: str, path: str, device: str) -> None:
    """A float outside its bound means that the bound, or the value it belongs to, is wrong."""
    training, options = PATHS[path]
    layer = readout(8, 2, seed=1, kind=kind, device=device)
    layer.module.train(training)
    run = layer.run(a_query(8, 2), **options)
    assert run.holds
    assert 0 < run.largest_error <= run.largest_bound < arb(BOUNDS[kind])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("width", "heads"), [(8, 2), (4, 1), (3, 3)])
def test_exact_values_are_those_of_this_package(width: int, heads: int, path: str) -> None:
    """The module and the layer that its weights are read as must be one function, biases included."""
    training, options = PATHS[path]
    layer = readout(width, heads, seed=4)
    layer.module.train(training)
    query = a_query(width, 5)
    stored, constant = layer.heads()
    run = layer.run(query, **options)
    with ctx.workprec(256):
        ours = evaluate_with_biases(stored, constant, query, Balls(256))
        assert abs(ours - layer.along(run.exact[0, -1])) < arb(10) ** -50


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("width", "heads", "kind", "error"),
    [
        (2, 2, "float64", "1e-13"),
        (4, 1, "float64", "1e-12"),
        (4, 1, "float32", "2e-4"),
    ],
)
def test_heads_recovered_from_answers_are_the_modules(
    width: int, heads: int, kind: str, error: str, device: str
) -> None:
    """Recovery sees answers alone; what it encloses must hold the module's weights, which are read after it.

    The stated error of the answers is checked against the derived bound of every query that was asked.
    """
    layer = readout(width, heads, seed=7, kind=kind, device=device, bias=False)
    asked: list[Query] = []

    def answer(query: Query) -> fmpq:
        asked.append(query)
        return layer.answer(query)

    found = recover_with_error(FunctionOracle(answer, width), heads, error, robust=True)
    for query in asked:
        run = layer.run(query, need_weights=False)
        bounds = [run.bounds[0, -1, k] * abs(w) for k, w in enumerate(layer.direction)]
        assert sum(bounds, arb(0)) < arb(fmpq(1)) * arb(error)
    truth = [Head(tuple(tuple(row) for row in head.affine().W[1:]), head.v) for head in layer.heads()[0]]
    assert found.matches(Attention.of(truth))


def test_tokens_that_would_be_rounded_are_refused() -> None:
    """A token that is no bfloat16 number would make another query of the one that was asked."""
    layer = readout(2, 2, seed=1, kind="bfloat16")
    with pytest.raises(InputError, match="not a number of the module's format"):
        layer.run(Query.of([], last=(fmpq(1, 1024) + 1, fmpq(0))))


def test_head_sizes_must_be_squares() -> None:
    """An irrational factor on the scores would be silently replaced by a rounded one."""
    with pytest.raises(InputError, match="take a square"):
        readout(2, 1, seed=1)
