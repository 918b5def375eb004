"""Layers with exact parameters, value queries, and evaluation (theory, section 1)."""

from exactattn.model.evaluate import Evaluator, evaluate
from exactattn.model.files import layer_json, load_layer, model_schema, save_layer
from exactattn.model.heads import Attention, Head
from exactattn.model.query import Query, token
from exactattn.model.random import random_layer

__all__ = [
    "Attention",
    "Evaluator",
    "Head",
    "Query",
    "evaluate",
    "layer_json",
    "load_layer",
    "model_schema",
    "random_layer",
    "save_layer",
    "token",
]
