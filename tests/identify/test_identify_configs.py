"""Published configs: totals against goldens, and facts stated for particular models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from published_configs import CONFIGS, GOLDENS, config, load, part

from exactattn.identify import (
    ModelCount,
    Pairing,
    Scope,
    Sinks,
    count_block,
    count_layer,
    count_model,
    read_config,
)
from exactattn.numbers import rational_text

ABSENT = None


def golden(bare: ModelCount, block: ModelCount) -> dict[str, object]:
    def numbers(count: ModelCount) -> dict[str, object]:
        return {
            "parameters": count.parameters,
            "unidentified": count.unidentified,
            "identified": count.identified,
            "unidentified_at_eps_0": count.unidentified_at_zero,
            "ratio": rational_text(count.ratio),
        }

    return {**numbers(bare), "with_norms": numbers(block), "layers": bare.model.depth}


def test_goldens(request: pytest.FixtureRequest) -> None:
    """A published model would be counted differently from before: regenerate only if the change is meant."""
    found = {
        path.stem: golden(count_model(read_config(path)), count_model(read_config(path), norms=True))
        for path in CONFIGS
    }
    if request.config.getoption("--regenerate-goldens"):
        GOLDENS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert json.loads(GOLDENS.read_text(encoding="utf-8")) == found
    assert len(found) == 40


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_parts_add_up(path: Path) -> None:
    """Parts would not add up to the layer, or a norm around it would make it more identified in total."""
    for group in read_config(path).layers:
        for count in (count_layer(group.attention), count_block(group.attention)):
            assert count.parameters == sum(count.number(each.parameters) for each in count.parts)
            assert count.unidentified == sum(count.number(each.unidentified) for each in count.parts)
            assert 0 < count.identified <= count.parameters
            assert count.unidentified <= count.unidentified_at_zero
        bare, block = count_layer(group.attention), count_block(group.attention)
        assert block.identified <= bare.identified + group.attention.width


# per layer: inert numbers of the key bias and of the value bias; ABSENT where there is no such bias
BIASES = {
    "gpt2": (768, 768),
    "gpt2-xl": (1600, 1600),
    "bert-base-uncased": (768, 768),
    "all-MiniLM-L6-v2": (384, 384),
    "vit-base-patch16-224": (768, 768),
    "opt-1.3b": (2048, 2048),
    "bloom-560m": (1024, 1024),
    "bloomz-560m": (1024, 1024),
    "whisper-tiny": (ABSENT, 384),
    "pythia-160m": (576, 768),
    "pythia-6.9b": (3072, 4096),
    "phi-2": (1536, 2560),
    "stablelm-2-1.6b": (1536, 0),
    "starcoder2-3b": (0, 256),
    "qwen2.5-0.5b": (0, 0),
    "qwen2.5-7b": (0, 0),
    "gpt-oss-20b": (0, 0),
    "llama-2-7b": (ABSENT, ABSENT),
    "gpt-j-6b": (ABSENT, ABSENT),
}


@pytest.mark.parametrize("name", BIASES)
def test_inert_biases(name: str) -> None:
    """A bias would be called inert that data determine, or the other way round."""
    for spec in load(name):
        count = count_layer(spec)
        names = [each.name for each in count.parts]
        for bias, expected in zip(("key bias", "value bias"), BIASES[name], strict=True):
            assert (bias in names) is (expected is not ABSENT)
            assert part(count, bias) == (expected or 0)


def test_olmo2_full_width_norm() -> None:
    """One norm over all heads leaves 2 sizes at ε = 0 and one scale a rotation plane a head: 2 + 2048."""
    (spec,) = load("olmo-2-7b")
    count = count_layer(spec)
    assert spec.query_key_norm is not None
    assert spec.query_key_norm.scope is Scope.WIDTH
    assert part(count, "query/key norm scales") == 2048
    assert count.unidentified_at_zero - count.unidentified == 2
    # and the size of W_O, as the only norm of the block comes after it
    assert count_block(spec).unidentified_at_zero - count.unidentified_at_zero == 1


def test_deepseek_latents() -> None:
    """V3's query latent adds 1 180 417 directions a layer (one of them at ε = 0 only); V2 Lite has none."""
    (v3,), (v2,) = load("deepseek-v3"), load("deepseek-v2-lite")
    count = count_layer(v3)
    assert part(count, "query latent") == 1_180_416
    assert part(count, "query latent", at_zero=True) == 1_180_417
    assert v2.query_latent is None
    assert v3.rotary is not None
    assert v3.rotary.shared_key
    assert v3.rotary.pairing is Pairing.INTERLEAVED
    assert (v3.head_size, v3.value_size, v3.unrotated) == (192, 128, 128)


def test_t5_shares_one_table_a_stack() -> None:
    """A table of six layers would be counted six times, or bucket 16 of the encoder as if it acted."""
    counted = count_model(read_config(config("t5-small")))
    tables = {group.name: group for group in counted.layers if group.name.startswith("relative-bias table")}
    encoder = tables["relative-bias table of encoder 0–5"]
    decoder = tables["relative-bias table of decoder 0–5"]
    assert (encoder.repeat, encoder.parameters, encoder.unidentified) == (1, 32 * 8, 8 + 8)
    assert (decoder.repeat, decoder.parameters, decoder.unidentified) == (1, 32 * 8, 8)
    cross = [group for group in counted.layers if "cross" in group.name]
    assert [group.repeat for group in cross] == [6]
    assert counted.parameters == 18 * 4 * 512 * 512 + 2 * 256


def test_gemma_norm_after_and_windows() -> None:
    """Gemma's layers with and without a window would be confused, or its norm after the block be missed."""
    for name, groups in (("gemma-2-9b", {4096: 21, None: 21}), ("gemma-3-4b", {1024: 29, None: 5 + 27})):
        model = read_config(config(name))
        found: dict[int | None, int] = {}
        for group in model.layers:
            window = group.attention.window
            found[window] = found.get(window, 0) + group.repeat
        assert found == groups
        text = model.layers[0].attention
        assert text.norm_after is not None
        assert part(count_block(text), "norm after", at_zero=True) == 1
        assert part(count_block(text), "norm after") == 0


def test_facts_of_particular_models() -> None:
    """A family's unstated facts (pairing, part rotated, groups, sinks, head size) would be read wrongly."""
    rotated = {"pythia-6.9b": 32, "phi-2": 32, "stablelm-2-1.6b": 16, "gpt-j-6b": 64, "phi-3-mini": 96}
    for name, size in rotated.items():
        assert load(name)[0].rotated == size
    for name, pairing in (("gpt-j-6b", Pairing.INTERLEAVED), ("command-r", Pairing.INTERLEAVED)):
        rotary = load(name)[0].rotary
        assert rotary is not None
        assert rotary.pairing is pairing
    assert load("falcon-7b")[0].groups == 1
    assert load("gpt-oss-20b")[0].sinks is Sinks.LEARNED
    assert (load("gemma-3-4b")[0].heads, load("gemma-3-4b")[0].groups) == (8, 4)
    assert load("mpt-7b")[0].alibi
    assert load("llama-2-70b")[0].rotary.base == 10_000  # type: ignore[union-attr]
    assert load("llama-3.1-70b")[0].rotary.rule == "llama3"  # type: ignore[union-attr]
    assert load("qwen3-0.6b")[0].head_size * load("qwen3-0.6b")[0].heads == 2 * load("qwen3-0.6b")[0].width


def test_names_of_both_bloom_dialects_give_one_architecture() -> None:
    """A config with the older key names would be read as another model."""
    assert load("bloom-560m") == load("bloomz-560m")
