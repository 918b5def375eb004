"""Bad configs: one sentence that names file, field and mend, and never a default in place of an unknown
feature.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_configs import CONFIGS, config

from exactattn.exceptions import InputError
from exactattn.identify import read_config
from exactattn.identify.config_file import MAX_BYTES
from exactattn.identify.readers import READERS


def altered(tmp_path: Path, name: str, **changes: Any) -> Path:
    """A published config with fields changed; None removes one."""
    data = json.loads(config(name).read_text(encoding="utf-8")) | changes
    path = tmp_path / "config.json"
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))
    return path


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_config(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 400
    return caught.value


CONTRADICTIONS = [
    ("gpt2", {"n_head": 7}, "n_head", "7 heads do not divide the width 768"),
    ("llama-3-8b", {"num_attention_heads": 33, "num_key_value_heads": 11}, "num_attention_heads", "head_dim"),
    ("llama-3-8b", {"num_key_value_heads": 5}, "num_key_value_heads", "do not divide 32"),
    ("falcon-7b", {"new_decoder_architecture": True, "num_kv_heads": 8}, "num_kv_heads", "do not divide 71"),
    ("gpt-j-6b", {"rotary_dim": 63}, "rotary_dim", "even"),
    ("gpt-j-6b", {"rotary_dim": 512}, "rotary_dim", "do not fit"),
    ("pythia-160m", {"rotary_pct": 0.3}, "rotary_pct", "not a number of dimensions"),
    ("phi-2", {"partial_rotary_factor": 1.5}, "partial_rotary_factor", "change it"),
    ("llama-2-7b", {"head_dim": 127}, "head_dim", "even"),
    ("llama-2-7b", {"hidden_size": None}, "hidden_size", "is missing; add it"),
    ("qwen2.5-7b", {"num_key_value_heads": None}, "num_key_value_heads", "is missing; add it"),
    ("whisper-tiny", {"decoder_attention_heads": 7}, "decoder_attention_heads", "do not divide"),
    ("t5-small", {"relative_attention_num_buckets": 31}, "relative_attention_num_buckets", "even"),
    ("t5-small", {"relative_attention_max_distance": 3}, "relative_attention_max_distance", "exceed"),
    ("gpt-oss-20b", {"layer_types": ["full_attention"]}, "layer_types", "24 layers"),
    ("gpt-oss-20b", {"layer_types": ["linear_attention"] * 24}, "layer_types", "not a known type"),
    ("bloom-560m", {"num_attention_heads": 8}, "num_attention_heads", "contradicts n_head"),
    ("llama-2-7b", {"hidden_size": "4096"}, "hidden_size", "must be an integer"),
    ("llama-2-7b", {"hidden_size": True}, "hidden_size", "must be an integer"),
    ("llama-2-7b", {"hidden_size": 4096.0}, "hidden_size", "must be an integer"),
    ("llama-2-7b", {"num_hidden_layers": -1}, "num_hidden_layers", "must be an integer from 1"),
    ("llama-2-7b", {"num_hidden_layers": 10**8}, "num_hidden_layers", "limit"),
    ("llama-2-7b", {"attention_bias": "yes"}, "attention_bias", "true or false"),
    ("llama-2-7b", {"rms_norm_eps": -1e-5}, "rms_norm_eps", "at least 0"),
    ("llama-2-7b", {"rope_theta": 0}, "rope_theta", "positive"),
    ("gemma-2-9b", {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar", "positive"),
    ("gemma-3-4b", {"text_config": None}, "text_config", "is missing"),
    ("gemma-3-4b", {"text_config": 3}, "text_config", "must be an object"),
]


@pytest.mark.parametrize(("name", "changes", "field", "text"), CONTRADICTIONS)
def test_contradictions(tmp_path: Path, name: str, changes: dict[str, Any], field: str, text: str) -> None:
    """A config that contradicts itself would be counted, or refused without its own field names."""
    error = refusal(altered(tmp_path, name, **changes))
    assert error.field == field
    assert text in str(error)


UNKNOWN = [
    ("llama-2-7b", {"use_qk_norm": True}, "use_qk_norm"),
    ("llama-2-7b", {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
    ("mistral-7b", {"attention_bias": True}, "attention_bias"),
    ("gpt2", {"add_cross_attention": True}, "add_cross_attention"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
    ("bert-base-uncased", {"position_embedding_type": "relative_key"}, "position_embedding_type"),
    ("mpt-7b", {"no_bias": False}, "no_bias"),
    ("mpt-7b", {"attn_config": {"qk_ln": True}}, "attn_config.qk_ln"),
    ("llama-2-7b", {"rope_scaling": {"rope_type": "spiral"}}, "rope_scaling.rope_type"),
    ("qwen2.5-7b", {"use_mrope": True}, "use_mrope"),
    ("t5-small", {"is_encoder_decoder": False}, "is_encoder_decoder"),
    ("starcoder2-3b", {"norm_type": "rms_norm"}, "norm_type"),
]


@pytest.mark.parametrize(("name", "changes", "field"), UNKNOWN)
def test_unknown_features_are_refused_by_name(
    tmp_path: Path, name: str, changes: dict[str, Any], field: str
) -> None:
    """A feature the reader does not know would be taken as absent."""
    assert refusal(altered(tmp_path, name, **changes)).field == field


def test_model_types(tmp_path: Path) -> None:
    """An unknown family would be read as another one."""
    assert refusal(altered(tmp_path, "gpt2", model_type="mamba")).field == "model_type"
    assert "did you mean gpt2?" in str(refusal(altered(tmp_path, "gpt2", model_type="gpt-2")))
    assert "is missing" in str(refusal(altered(tmp_path, "gpt2", model_type=None)))


FILES = {
    b"": "is not JSON",
    b"\x89PNG\r\n": "is not UTF-8 text",
    b"[1, 2]": "not an object",
    b"3": "not an object",
    b'{"model_type": "gpt2", "model_type": "bert"}': "stands twice",
    b'{"model_type": "gpt2", "n_embd": NaN}': "NaN is not a number",
    b'{"model_type": "gpt2", "n_embd": -Infinity}': "-Infinity is not a number",
    b'{"model_type": "gpt2", "n_embd": ' + b"9" * 5000 + b"}": "too many digits",
    b"[" * 200_000: "nested too deeply",
    b'{"model_type": "gpt2", "n_embd": 1e999999999}': "exponent",
    b"{}": "is missing",
}


@pytest.mark.parametrize("text", FILES, ids=lambda text: text[:30].decode("ascii", "replace"))
def test_files_that_are_no_configs(tmp_path: Path, text: bytes) -> None:
    """A file that is no config would end in a traceback."""
    path = tmp_path / "config.json"
    path.write_bytes(text)
    assert FILES[text] in str(refusal(path))


def test_places_that_are_no_files(tmp_path: Path) -> None:
    """A directory, a missing file, a pipe or a 2 GB file would be read, or end in a traceback."""
    assert "directory" in str(refusal(tmp_path))
    assert "no such file" in str(refusal(tmp_path / "absent.json"))
    os.mkfifo(tmp_path / "pipe.json")
    assert "regular file" in str(refusal(tmp_path / "pipe.json"))
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(2 * 2**30)
    assert str(MAX_BYTES) in str(refusal(large))
    with pytest.raises(InputError, match="not a path"):
        read_config("nul\0l")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_any_value_in_any_field_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    """Some value of some field would end in a traceback."""
    source = data.draw(st.sampled_from(CONFIGS))
    content = json.loads(source.read_text(encoding="utf-8"))
    field = data.draw(st.sampled_from([key for key in content if key != "model_type"]))
    content[field] = data.draw(JSON)
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(content))
    with contextlib.suppress(InputError):
        assert read_config(path).depth >= 1
        return
    problem = str(refusal(path))
    assert problem.startswith(str(path))


def test_every_family_has_a_published_config() -> None:
    """A reader would exist that no published config exercises."""
    families = {json.loads(path.read_text(encoding="utf-8"))["model_type"] for path in CONFIGS}
    assert set(READERS) - families == {"gemma3_text"}
