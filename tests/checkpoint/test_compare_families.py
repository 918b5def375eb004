"""Models of every family, built by transformers: copies compared, and inputs run by the model's own code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import FAMILIES, build, save

from exactattn.checkpoint import (
    Sameness,
    canonicalize,
    compare_checkpoints,
    open_checkpoint,
    transform_checkpoint,
)

torch = pytest.importorskip("torch", reason="needs pip install 'exactattn[torch]'")
pytest.importorskip("transformers", reason="needs pip install 'exactattn[transformers]'")

pytestmark = [pytest.mark.crosscheck, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", FAMILIES)
def test_canonical_copies_are_equal(name: str, tmp_path: Path) -> None:
    """Breaks: for some architecture the comparison does not see that two copies are one function, or calls
    layers equal that were exchanged."""
    # float32, as models are stored: 1 more than a scale then fits in float64
    source = save(build(name).float(), tmp_path / "in")
    one = open_checkpoint(source)
    list(transform_checkpoint(one, canonicalize, tmp_path / "out"))
    other = open_checkpoint(tmp_path / "out")
    for each in compare_checkpoints(one, other):
        assert each.comparison.verdict in (Sameness.EQUAL, Sameness.WITHIN), (each, each.comparison.reason)


LLAMA_LIKE = ("llama", "llama-biased", "mistral", "qwen2", "qwen3", "gpt_oss", "gemma2", "olmo2")


@pytest.mark.parametrize("name", LLAMA_LIKE)
def test_the_model_itself_shows_the_difference(name: str, tmp_path: Path) -> None:
    """Breaks: an input would separate two layers only in our own evaluation: with other angles, another
    pairing, cap, sink or norm than the model's code has."""
    model = build(name).float()
    source = save(model, tmp_path / "in")
    file = source / "model.safetensors"
    tensors = load_file(file)
    tensors["model.layers.1.self_attn.q_proj.weight"][2] *= -1
    (tmp_path / "broken").mkdir()
    save_file(tensors, tmp_path / "broken" / "model.safetensors", {"format": "pt"})
    config = source / "config.json"
    one, other = open_checkpoint(source), open_checkpoint(tmp_path / "broken", config)
    found = [each.comparison for each in compare_checkpoints(one, other)]
    if one.spec(1).rotary.rule is not None:
        # what such a rule does to angles and scores is not part of the architecture
        assert [each.verdict for each in found] == [Sameness.EQUAL, Sameness.UNKNOWN]
        assert "rule" in found[1].reason
        return
    assert [each.verdict for each in found] == [Sameness.EQUAL, Sameness.DIFFERENT]
    shown = found[1].separating
    assert shown is not None
    tokens = torch.zeros((1, len(shown.tokens), 16), dtype=torch.float64)
    for n, token in enumerate(shown.tokens):
        for j, x in token.items():
            tokens[0, n, j] = int(x.p) / int(x.q)
    if shown.normed:
        scale = torch.tensor(one.attention(1).parameters["before scale"])
        tokens *= scale + 1 if name == "gemma2" else scale
    for broken, ball in ((False, shown.first), (True, shown.second)):
        value = attend(model, tokens, negated=2 if broken else None)[shown.coordinate]
        assert abs(value - float(ball.mid())) < 1e-5 * abs(float((shown.first - shown.second).mid()))


def attend(model: Any, tokens: Any, negated: int | None) -> Any:
    """The output of the attention of layer 1 at the last token, with one row of W_Q negated."""
    module = model.double().model.layers[1].self_attn
    length = tokens.shape[1]
    mask = torch.full((length, length), -torch.inf, dtype=torch.float64).triu(1)[None, None]
    angles = model.model.rotary_emb(tokens, torch.arange(length)[None])
    with torch.no_grad():
        if negated is not None:
            module.q_proj.weight[negated] *= -1
        output = module(hidden_states=tokens, position_embeddings=angles, attention_mask=mask)[0]
        if negated is not None:
            module.q_proj.weight[negated] *= -1
    return output[0, -1].tolist()
