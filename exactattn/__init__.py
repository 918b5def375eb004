"""exactattn: exact, certified statements about attention.

>>> import exactattn
>>> layer = exactattn.random_layer(heads=2, dim=2, seed=1)
>>> result = exactattn.recover(exactattn.ExactOracle(layer), heads=2)
>>> result.matches(layer), result.queries
(True, 29)
"""

from exactattn.certificate import ball_certificate, recovery_certificate, write_certificate
from exactattn.errors import bound_report, recover_with_error
from exactattn.model import Attention, Head, Query, evaluate, load_layer, random_layer, save_layer, token
from exactattn.numbers import Balls, LogLattice
from exactattn.oracle import CommandOracle, ExactOracle, FunctionOracle, RecordedOracle, Transcript
from exactattn.recovery import PublishedPlan, Recovery, interpolate, recover

__all__ = [
    "Attention",
    "Balls",
    "CommandOracle",
    "ExactOracle",
    "FunctionOracle",
    "Head",
    "LogLattice",
    "PublishedPlan",
    "Query",
    "RecordedOracle",
    "Recovery",
    "Transcript",
    "ball_certificate",
    "bound_report",
    "evaluate",
    "interpolate",
    "load_layer",
    "random_layer",
    "recover",
    "recover_with_error",
    "recovery_certificate",
    "save_layer",
    "token",
    "write_certificate",
]
