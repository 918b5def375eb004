"""Methods with fewer queries than the published one (theory, section 5): plans that solve themselves."""

from exactattn.recovery.methods.consistency_plan import ConsistencyPlan
from exactattn.recovery.methods.head_count import HeadCountPlan
from exactattn.recovery.methods.optimal_plan import OptimalPlan
from exactattn.recovery.methods.staged_plan import StagedPlan

__all__ = ["ConsistencyPlan", "HeadCountPlan", "OptimalPlan", "StagedPlan"]
