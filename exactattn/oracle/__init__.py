"""Oracles: where answers come from, and the transcript that keeps them."""

from exactattn.oracle.base import Oracle
from exactattn.oracle.command import CommandOracle
from exactattn.oracle.exact import ExactOracle
from exactattn.oracle.function import FunctionOracle
from exactattn.oracle.recorded import RecordedOracle
from exactattn.oracle.transcript import Transcript
from exactattn.oracle.transformer import TransformerOracle

__all__ = [
    "CommandOracle",
    "ExactOracle",
    "FunctionOracle",
    "Oracle",
    "RecordedOracle",
    "Transcript",
    "TransformerOracle",
]
