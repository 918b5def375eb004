"""Typed access to the fields of a config, with errors that name the field, and a check for fields nobody
read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.identify.features import require_size
from exactattn.numbers import rational

__all__ = ["Fields"]

# Fields that change an attention layer in some family. One that is set, and that the reader of the config's
# own family does not know, means a layer other than the one it would describe.
ATTENTION_FIELDS = frozenset(
    [
        "add_cross_attention",
        "alibi",
        "attention_bias",
        "attention_k_eq_v",
        "attention_multiplier",
        "attn_config",
        "attn_layer_indices",
        "attn_logit_softcapping",
        "attn_type_list",
        "bias",
        "clip_qkv",
        "cross_attention_layers",
        "d_kv",
        "enable_bias",
        "full_attn_idxs",
        "global_attn_every_n_layers",
        "head_dim",
        "kv_channels",
        "kv_lora_rank",
        "layer_types",
        "layers_block_type",
        "multi_query",
        "new_decoder_architecture",
        "no_bias",
        "no_rope_layers",
        "num_key_value_heads",
        "num_kv_heads",
        "num_kv_shared_layers",
        "partial_rotary_factor",
        "position_embedding_type",
        "q_lora_rank",
        "qk_layernorm",
        "qk_ln",
        "qk_nope_head_dim",
        "qk_norm",
        "qk_rope_head_dim",
        "qkv_bias",
        "query_pre_attn_scalar",
        "relative_attention_num_buckets",
        "rope_parameters",
        "rope_scaling",
        "rotary",
        "rotary_dim",
        "rotary_pct",
        "scale_attn_by_inverse_layer_idx",
        "sliding_window",
        "use_attention_sinks",
        "use_bias",
        "use_mrope",
        "use_qk_norm",
        "use_qkv_bias",
        "use_sliding_window",
        "v_head_dim",
        "vision_config",
    ]
)


class Fields:
    """The fields of one JSON object, read by type; remembers what was read.

    >>> fields = Fields({"hidden_size": 64, "attention_bias": False, "use_bias": 1})
    >>> fields.size("hidden_size"), fields.flag("attention_bias", default=True)
    (64, False)
    >>> fields.finish("toy")
    Traceback (most recent call last):
    ...
    exactattn.exceptions.InputError: use_bias: is set, but toy has none; remove it or change model_type
    """

    def __init__(self, data: dict[str, Any], within: str = "") -> None:
        self._data = data
        self._within = within
        self._read: set[str] = set()

    def name(self, field: str) -> str:
        """The field as the user finds it."""
        return f"{self._within}.{field}" if self._within else field

    def _get(self, names: Sequence[str]) -> tuple[str, Any]:
        """The first of several names for one field that is given and not null; they must agree."""
        self._read.update(names)
        given = [(name, self._data[name]) for name in names if self._data.get(name) is not None]
        for name, value in given[1:]:
            if value != given[0][1]:
                raise InputError(f"contradicts {given[0][0]}; keep one of the two", field=self.name(name))
        return given[0] if given else (names[0], None)

    def given(self, field: str) -> bool:
        """Whether the field is there (null counts as there)."""
        return field in self._data

    def has(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self._data.get(field) is not None

    def size(self, *names: str, default: int | None = None) -> int:
        """A positive integer under one of the names. Raises InputError if it is missing without a default."""
        name, value = self._get(names)
        if value is None:
            if default is None:
                raise InputError("is missing; add it", field=self.name(name))
            return default
        require_size(value, self.name(name))
        return int(value)

    def optional_size(self, *names: str) -> int | None:
        """A positive integer, or None where it is absent or null."""
        name, value = self._get(names)
        if value is None:
            return None
        require_size(value, self.name(name))
        return int(value)

    def flag(self, *names: str, default: bool) -> bool:
        """A truth value."""
        name, value = self._get(names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"must be true or false, not {_short(value)}", field=self.name(name))
        return value

    def number(self, *names: str) -> fmpq | None:
        """An exact number, or None where it is absent or null."""
        name, value = self._get(names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | fmpq):
            raise InputError(f"must be a number, not {_short(value)}", field=self.name(name))
        return rational(value)

    def positive(self, *names: str, default: fmpq) -> fmpq:
        """An exact number over 0."""
        given = self.number(*names)
        if given is not None and given <= 0:
            raise InputError(f"must be positive, not {given}", field=self.name(names[0]))
        return default if given is None else given

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        _, value = self._get([name])
        if value is None:
            return default
        if not isinstance(value, str):
            raise InputError(f"must be text, not {_short(value)}", field=self.name(name))
        return value

    def section(self, name: str) -> Fields | None:
        """A nested object, or None where it is absent or null."""
        _, value = self._get([name])
        if value is None:
            return None
        if not isinstance(value, dict):
            raise InputError(f"must be an object, not {_short(value)}", field=self.name(name))
        return Fields(value, self.name(name))

    def texts(self, name: str, length: int) -> list[str] | None:
        """A list of ``length`` strings, or None where it is absent or null."""
        _, value = self._get([name])
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError("must be a list of texts", field=self.name(name))
        if len(value) != length:
            raise InputError(
                f"has {len(value)} entries for {length} layers; make them agree", field=self.name(name)
            )
        return value

    def ignore(self, *names: str) -> None:
        """Mark fields as known to be without effect here."""
        self._read.update(names)

    def require(self, name: str, allowed: Any, default: Any) -> None:
        """Refuse the field by name unless it has the only value this reader knows."""
        _, value = self._get([name])
        if (default if value is None else value) != allowed:
            raise InputError(
                f"{_short(value)} is not supported, only {_short(allowed)}", field=self.name(name)
            )

    def finish(self, family: str) -> None:
        """Refuse attention features that are set and were not read. Raises InputError naming the first."""
        for name, value in self._data.items():
            if name in ATTENTION_FIELDS and name not in self._read and value not in (None, False):
                raise InputError(
                    f"is set, but {family} has none; remove it or change model_type",
                    field=self.name(name),
                )


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
