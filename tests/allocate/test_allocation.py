"""The allocation of a whole checkpoint: planted ranks are found, and the summaries add up."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import checkpoint_files as files
import pytest
from flint import arb, fmpq

from exactattn.allocate import allocate, allocation_chart, load_weights
from exactattn.allocate.allocation import upper_text
from exactattn.exceptions import InputError


@pytest.mark.parametrize("layout", ["BERT", "GPT-2"])
@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_planted_ranks_are_found(layout: str, rank: int, tmp_path: Path) -> None:
    """Breaks: the smallest rank for a tiny tolerance is the rank of the weights, and what it saves."""
    path = files.write(files.LAYOUTS[layout](files.parts(1, rank)), tmp_path / "model.safetensors")
    found = list(allocate(load_weights(path, files.HEADS), fmpq(1, 10**9)))
    assert [[head.rank for head in layer.heads] for layer in found] == [[rank] * files.HEADS] * files.DEPTH
    for layer in found:
        assert layer.parameters == 2 * files.WIDTH**2
        assert layer.saved == 2 * files.WIDTH * (files.SIZE - rank) * files.HEADS
        for head in layer.heads:
            assert head.bounds.attention_change(head.rank) <= fmpq(1, 10**9)


def test_tokens_of_bounded_norm_and_absolute_tolerances(tmp_path: Path) -> None:
    """Breaks: --token-norm, --absolute and --layer: smaller tokens never need a larger rank."""
    model = load_weights(files.write(files.bert(files.parts(2)), tmp_path / "model.npz"), files.HEADS)

    def ranks(norm: fmpq, absolute: bool) -> list[int]:
        (layer,) = allocate(model, fmpq(1, 10), token_norm=norm, absolute=absolute, layers=[1, 1])
        assert layer.index == 1
        return [head.rank for head in layer.heads]

    for absolute in (False, True):
        falling = [ranks(fmpq(1, k), absolute) for k in (1, 4, 16, 512)]
        assert all(a >= b for x, y in pairwise(falling) for a, b in zip(x, y, strict=True))
        assert falling[0] != falling[-1] == [0, 0]


def test_bad_requests(tmp_path: Path) -> None:
    """Breaks: one sentence for tolerances, layers and tokens that make no sense."""
    tensors = {k: v for k, v in files.gpt2(files.parts(3)).items() if "ln_1" not in k}
    model = load_weights(files.write(tensors, tmp_path / "model.npz"), files.HEADS)
    for arguments, message in (
        ({"tolerance": fmpq(-1)}, "tolerance: must be at least 0, not -1"),
        ({"tolerance": fmpq(1), "layers": [2]}, "layer: layers are 0 to 1, not 2"),
        ({"tolerance": fmpq(1)}, "has no layer norm that makes the tokens of layer 0; give --token-norm"),
        ({"tolerance": fmpq(1), "token_norm": fmpq(-1)}, "token norm: must be positive"),
    ):
        with pytest.raises(InputError, match=message):
            list(allocate(model, **arguments))  # type: ignore[arg-type]


def test_the_picture_is_the_same_each_time(tmp_path: Path) -> None:
    """Breaks: a chart that cannot be compared, or that lacks its labels."""
    path = files.write(files.bert(files.parts(4)), tmp_path / "model.safetensors")
    found = list(allocate(load_weights(path, files.HEADS), fmpq(1, 2)))
    text = allocation_chart(found)
    assert text == allocation_chart(found)
    for label in ("layer 0", "layer 1", "singular value", "certified rank of a head"):
        assert label in text


@pytest.mark.parametrize(
    ("number", "text"), [(fmpq(1, 3), "0.3334"), (fmpq(-1, 3), "-0.3333"), (fmpq(2), "2.0000")]
)
def test_decimals_are_rounded_up(number: fmpq, text: str) -> None:
    """Breaks: a printed bound below the certified one."""
    assert upper_text(arb(number), 4) == text
