"""Recovery of canonical heads from value queries: plan, interpolation, matching, assembly.

The data flows one way: plan → ask → interpolate → match → assemble (theory, sections 3 and 4).
"""

from exactattn.recovery.compare import float64_arrays, matches_layer, unique_float64
from exactattn.recovery.counts import consistency_count, identified_count, published_count, published_length
from exactattn.recovery.draw import TokenRange
from exactattn.recovery.factors import Factors, canonical_factors
from exactattn.recovery.interpolation import interpolate
from exactattn.recovery.methods import ConsistencyPlan, OptimalPlan
from exactattn.recovery.outputs import RecoveredOutputs, recover_outputs
from exactattn.recovery.partial_fractions import PartialFractions
from exactattn.recovery.plan import PublishedPlan
from exactattn.recovery.probe import Probe
from exactattn.recovery.result import Recovery
from exactattn.recovery.run import Progress, recover
from exactattn.recovery.solution import RecoveredHead
from exactattn.recovery.solve import solve

__all__ = [
    "ConsistencyPlan",
    "Factors",
    "OptimalPlan",
    "PartialFractions",
    "Probe",
    "Progress",
    "PublishedPlan",
    "RecoveredHead",
    "RecoveredOutputs",
    "Recovery",
    "TokenRange",
    "canonical_factors",
    "consistency_count",
    "float64_arrays",
    "identified_count",
    "interpolate",
    "matches_layer",
    "published_count",
    "published_length",
    "recover",
    "recover_outputs",
    "solve",
    "unique_float64",
]
