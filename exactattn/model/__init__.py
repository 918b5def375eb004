"""Layers with exact parameters, value queries, and evaluation (theory, section 1)."""

from exactattn.model.evaluate import Evaluator, evaluate
from exactattn.model.files import layer_json, load_layer, model_schema, save_layer
from exactattn.model.heads import Attention, Head
from exactattn.model.query import Query, token
from exactattn.model.random import random_layer
from exactattn.model.random_transformer import random_transformer
from exactattn.model.relu_form import ReluForm
from exactattn.model.transformer import Neuron, Transformer
from exactattn.model.transformer_files import load_transformer, save_transformer

__all__ = [
    "Attention",
    "Evaluator",
    "Head",
    "Neuron",
    "Query",
    "ReluForm",
    "Transformer",
    "evaluate",
    "layer_json",
    "load_layer",
    "load_transformer",
    "model_schema",
    "random_layer",
    "random_transformer",
    "save_layer",
    "save_transformer",
    "token",
]
