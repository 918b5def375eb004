"""Where the attention layers of a model made by ``transformers`` keep their numbers.

Each array of learned numbers of a layer (:func:`~exactattn.identify.parameters.parameter_shapes`) is a
selection of the entries of one parameter of the module, in some order: all of them, or, where projections are
stored in one matrix, some.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, read_config
from exactattn.identify.parameters import Array, Parameters, parameter_shapes

__all__ = ["ModelLayer", "attention_layers"]

_LAYER = re.compile(r"(.*\.(?:layers|layer|h)\.(\d+)\.)(.*)")
_PROJECTIONS = {
    "self_attn.q_proj": "query",
    "self_attn.k_proj": "key",
    "self_attn.v_proj": "value",
    "self_attn.o_proj": "output",
    "self_attn.out_proj": "output",
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "output",
    "attention.dense": "output",
    "attn.c_proj": "output",
}
_FUSED = ("attn.c_attn", "self_attn.qkv_proj", "attention.query_key_value")
_VECTORS = {
    "self_attn.q_norm.weight": "query norm scale",
    "self_attn.k_norm.weight": "key norm scale",
    "self_attn.sinks": "sinks",
}


@dataclass(frozen=True)
class ModelLayer:
    """One attention layer of a model: its architecture, without the norms around it, and its numbers' places.

    ``module`` and ``output``: the names of the modules that take its input and give its output. ``places``:
    for each array the name of a parameter of the model, and the place of each entry in it.
    """

    module: str
    output: str
    spec: AttentionSpec
    places: dict[str, tuple[str, Array]]

    def read(self, model: Any) -> Parameters:
        """The arrays as exact rationals."""
        found = {}
        for name, (parameter, places) in self.places.items():
            flat = model.get_parameter(parameter).detach().double().cpu().reshape(-1).tolist()
            numbers = [fmpq(*flat[k].as_integer_ratio()) for k in places.reshape(-1)]
            found[name] = np.array(numbers, dtype=object).reshape(places.shape)
        return found

    def write(self, model: Any, parameters: Mapping[str, Array]) -> dict[str, Array]:
        """Stores arrays of rationals, each entry rounded to the nearest float of the parameter's format.

        The result has the exact numbers of every parameter that was changed.
        """
        exact: dict[str, Array] = {}
        for name, (parameter, places) in self.places.items():
            tensor = model.get_parameter(parameter)
            if parameter not in exact:
                flat = tensor.detach().double().cpu().reshape(-1).tolist()
                exact[parameter] = np.array([fmpq(*x.as_integer_ratio()) for x in flat], dtype=object)
            exact[parameter][places.reshape(-1)] = parameters[name].reshape(-1)
        for parameter, numbers in exact.items():
            tensor = model.get_parameter(parameter)
            rounded = [int(x.p) / int(x.q) for x in numbers]
            tensor.data.copy_(tensor.new_tensor(rounded).reshape(tensor.shape))
            exact[parameter] = numbers.reshape(tuple(tensor.shape))
        return exact


def attention_layers(model: Any) -> list[ModelLayer]:
    """The attention layers of a model of ``transformers``, in order.

    Raises InputError for families that are not known, and for layers whose arrays are not found.
    """
    spec = _architecture(model)
    found: dict[int, dict[str, tuple[str, Array]]] = {}
    modules: dict[int, str] = {}
    outputs: dict[int, str] = {}
    for name, parameter in model.named_parameters():
        match = _LAYER.match(name)
        if match is None:
            continue
        numbered = np.arange(parameter.numel()).reshape(tuple(parameter.shape))
        for array, places in _arrays(match[3], numbered, spec):
            found.setdefault(int(match[2]), {})[array] = (name, places)
            if array == "output":
                outputs[int(match[2])] = name.rpartition(".")[0]
            elif array == "query":
                owner = "attention.self" if match[3].startswith("attention.self") else match[3].split(".")[0]
                modules[int(match[2])] = match[1] + owner
    layers = []
    for number in sorted(found):
        shapes = {name: places.shape for name, (_, places) in found[number].items()}
        if shapes != parameter_shapes(spec):
            raise InputError(
                f"layer {number} holds {shapes}, but its config says {parameter_shapes(spec)}", field="model"
            )
        layers.append(ModelLayer(modules[number], outputs[number], spec, found[number]))
    if not layers:
        raise InputError("has no attention layers of a known kind", field="model")
    return layers


def _architecture(model: Any) -> AttentionSpec:
    """The architecture of all layers; layers may differ in their windows, which bind no short sequence."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(json.loads(model.config.to_json_string(use_diff=False))), encoding="utf-8")
        groups = read_config(path).layers
    specs = {replace(group.attention.bare(), window=None) for group in groups}
    if len(specs) != 1:
        raise InputError("layers of more than one kind are not supported", field="model")
    return specs.pop()


def _arrays(name: str, numbered: Array, spec: AttentionSpec) -> list[tuple[str, Array]]:
    if name in _VECTORS:
        return [(_VECTORS[name], numbered)]
    module, _, kind = name.rpartition(".")
    suffix = " bias" if kind == "bias" else ""
    # GPT-2 stores matrices as input × output
    rows = numbered.T if module.startswith("attn.c_") else numbered
    if module in _PROJECTIONS:
        return [(_PROJECTIONS[module] + suffix, rows)]
    if module not in _FUSED:
        return []
    sizes = (spec.heads * spec.head_size, spec.groups * spec.head_size, spec.groups * spec.value_size)
    if module == "attention.query_key_value":  # query, key and value of a head one after the other
        blocks = rows.reshape(spec.heads, 3, spec.head_size, *rows.shape[1:])
        parts = [blocks[:, k].reshape(sizes[k], *rows.shape[1:]) for k in range(3)]
    else:
        parts = np.split(rows, np.cumsum(sizes)[:2])
    return [(each + suffix, part) for each, part in zip(("query", "key", "value"), parts, strict=True)]
