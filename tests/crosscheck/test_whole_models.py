"""Whole models of transformers: exact values, bounds of rounding, and every symmetry of their layers."""

from __future__ import annotations

from typing import Any

import pytest
from flint import arb, ctx, fmpq
from module_samples import FAMILIES, tiny_model

from exactattn.crosscheck import attention_layers, enclosed_run, layer_outputs, move_along_symmetries
from exactattn.crosscheck.rounding import each
from exactattn.exceptions import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
torch.set_num_threads(1)

pytestmark = pytest.mark.crosscheck
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
]
TOKENS = [[3, 1, 4, 1, 5]]
CLOSE = arb(10) ** -40


def logits(model: Any, **options: Any) -> Any:
    device = next(model.parameters()).device
    return enclosed_run(
        model, torch.tensor(TOKENS, device=device), use_cache=False, pick=lambda out: out.logits, **options
    )


def far(a: Any, b: Any) -> arb:
    """The largest distance of two arrays of balls, rounded up."""
    return max((x for x in each(lambda p, q: (p - q).abs_upper(), a, b).flat), key=lambda x: x.fmpq())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_logits_are_within_the_bound_of_rounding(family: str, kind: str, device: str) -> None:
    """A bound that a float breaks would be wrong, and so would every statement that rests on it."""
    run = logits(tiny_model(torch, family, kind=kind).to(device))
    assert run.holds
    assert run.largest_bound < 1
    assert run.largest_error > 0  # the exact value is not the float itself


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_symmetry_leaves_the_logits(family: str) -> None:
    """A symmetry counted as free that moved the logits would make the counts of this family wrong.

    Exact logits at the exact new weights agree to 40 digits; the stored, rounded weights give logits within
    the two bounds of each other.
    """
    model = tiny_model(torch, family)
    before = logits(model)
    exact, names = move_along_symmetries(model, attention_layers(model), seed=3)
    after = logits(model, exact=exact)
    assert far(before.exact, after.exact) < CLOSE
    assert len(names) >= 2
    assert far(each(arb, before.exact), each(arb, after.reach)) > CLOSE  # the weights were rounded
    for x, y, bound, other in zip(
        before.computed.flat, after.computed.flat, before.bounds.flat, after.bounds.flat, strict=True
    ):
        assert abs(arb(float(x)) - arb(float(y))) <= bound + other


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_weights_have_really_moved(family: str) -> None:
    """The test above would prove nothing if the elements were trivial."""
    model = tiny_model(torch, family)
    layers = attention_layers(model)
    before = [layer.read(model) for layer in layers]
    move_along_symmetries(model, layers, seed=3)
    for layer, old in zip(layers, before, strict=True):
        new = layer.read(model)
        suffix = " norm scale" if "query norm scale" in old else ""
        for name in (f"query{suffix}", f"key{suffix}", "value", "output"):
            assert max(abs(x - y) for x, y in zip(old[name].flat, new[name].flat, strict=True)) > fmpq(
                1, 1000
            )


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_layers_agree_with_this_packages_evaluation(family: str) -> None:
    """A layer read or evaluated otherwise than transformers does it would be another layer."""
    model = tiny_model(torch, family)
    layers = attention_layers(model)
    run = logits(model, parts=[name for layer in layers for name in (layer.module, layer.output)])
    for layer in layers:
        part, outputs = run.parts[layer.module], run.parts[layer.output].exact
        with ctx.workprec(256):
            ours = layer_outputs(layer.spec, layer.read(model), part.inputs[0], part.tables)
            assert far(ours, outputs[0]) < CLOSE


def test_another_change_is_seen() -> None:
    """Exact logits that did not move under any change would prove nothing about symmetries."""
    model = tiny_model(torch, "llama")
    before = logits(model)
    layer = attention_layers(model)[0]
    parameters = layer.read(model)
    parameters["query"] = parameters["query"] * 2
    after = logits(model, exact=layer.write(model, parameters))
    assert not all(x.overlaps(y) for x, y in zip(before.exact.flat, after.exact.flat, strict=True))


def test_unknown_operations_are_refused() -> None:
    """An operation that is skipped would leave its roundings out of the bound."""
    with pytest.raises(InputError, match=r"aten\.cumsum"):
        enclosed_run(Cumulative(), torch.ones(3))


class Cumulative(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cumsum(x, 0)
