"""Approximate oracles: how far errors of answers move the recovered parameters."""

from exactattn.errors.adversary import Break, breaking_perturbation
from exactattn.errors.bounds import Bounds, Limit
from exactattn.errors.centre import AnyLayer, Centre, NotGeneric, centre_of_layer, natural_unit
from exactattn.errors.design import Design, Family, Node, published_nodes
from exactattn.errors.drawing import colliding_families, generic_plan, quiet_design
from exactattn.errors.enclosure import Enclosure, enclose
from exactattn.errors.first_order import FirstOrder, one_norm
from exactattn.errors.float_answers import FloatFormat, float_oracle, largest_error
from exactattn.errors.head_count import proved_heads
from exactattn.errors.jacobian import answer_jacobian, square_constants
from exactattn.errors.minimax import minimax_constants, reached_constants
from exactattn.errors.nodes import choose_nodes
from exactattn.errors.noisy_run import NoisyRecovery, recover_with_error
from exactattn.errors.recovery_map import recovered
from exactattn.errors.report import BoundMethod, BoundReport, bound_report
from exactattn.errors.response import Response, response
from exactattn.errors.robust import noise_tokens, robust_design, with_best_nodes
from exactattn.errors.theorem import ErrorTheorem

__all__ = [
    "AnyLayer",
    "BoundMethod",
    "BoundReport",
    "Bounds",
    "Break",
    "Centre",
    "Design",
    "Enclosure",
    "ErrorTheorem",
    "Family",
    "FirstOrder",
    "FloatFormat",
    "Limit",
    "Node",
    "NoisyRecovery",
    "NotGeneric",
    "Response",
    "answer_jacobian",
    "bound_report",
    "breaking_perturbation",
    "centre_of_layer",
    "choose_nodes",
    "colliding_families",
    "enclose",
    "float_oracle",
    "generic_plan",
    "largest_error",
    "minimax_constants",
    "natural_unit",
    "noise_tokens",
    "one_norm",
    "proved_heads",
    "published_nodes",
    "quiet_design",
    "reached_constants",
    "recover_with_error",
    "recovered",
    "response",
    "robust_design",
    "square_constants",
    "with_best_nodes",
]
