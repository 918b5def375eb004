"""Approximate oracles: how far errors of answers move the recovered parameters."""

from exactattn.errors.adversary import Break, breaking_perturbation
from exactattn.errors.centre import Centre, NotGeneric, centre_of_layer, natural_unit
from exactattn.errors.design import Design, Family, Node, published_nodes
from exactattn.errors.drawing import colliding_families, generic_plan, quiet_design
from exactattn.errors.enclosure import Enclosure, enclose
from exactattn.errors.first_order import FirstOrder, one_norm
from exactattn.errors.jacobian import answer_jacobian, square_constants
from exactattn.errors.nodes import choose_nodes
from exactattn.errors.recovery_map import recovered
from exactattn.errors.response import Response, response
from exactattn.errors.theorem import Bounds, ErrorTheorem, Limit

__all__ = [
    "Bounds",
    "Break",
    "Centre",
    "Design",
    "Enclosure",
    "ErrorTheorem",
    "Family",
    "FirstOrder",
    "Limit",
    "Node",
    "NotGeneric",
    "Response",
    "answer_jacobian",
    "breaking_perturbation",
    "centre_of_layer",
    "choose_nodes",
    "colliding_families",
    "enclose",
    "generic_plan",
    "natural_unit",
    "one_norm",
    "published_nodes",
    "quiet_design",
    "recovered",
    "response",
    "square_constants",
]
