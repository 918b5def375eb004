"""How heads and dimensions share a budget: what a head of a given size can show, what truncating it costs,
and head schedules (theory, section 10).
"""

from exactattn.allocate.allocation import HeadAllocation, LayerAllocation, allocate, open_model
from exactattn.allocate.budget import BudgetPoint, budget_line, identified_formula, pareto_front
from exactattn.allocate.charts import allocation_chart, budget_chart, schedule_chart
from exactattn.allocate.costs import (
    LayerCost,
    Product,
    identified_count,
    layer_cost,
    products,
    schedule_cost,
    score_pairs,
    unidentified_share,
)
from exactattn.allocate.generic_rank import RankBounds, rank_at_logarithms
from exactattn.allocate.logarithms import LogVectors, coprime_base, log_vectors
from exactattn.allocate.pattern import AttentionPattern, HeadFactors
from exactattn.allocate.saturation import (
    attention_bound,
    attention_row,
    extremal_rows,
    sharp_bound,
    total_variation,
    weight_bound,
)
from exactattn.allocate.schedule import PUBLISHED, HeadSchedule, Rule
from exactattn.allocate.singular_values import SingularValues, singular_values
from exactattn.allocate.truncation import HeadWeights, LayerNorm, TruncatedHead
from exactattn.allocate.weights import LayerWeights, ModelWeights, load_weights

__all__ = [
    "PUBLISHED",
    "AttentionPattern",
    "BudgetPoint",
    "HeadAllocation",
    "HeadFactors",
    "HeadSchedule",
    "HeadWeights",
    "LayerAllocation",
    "LayerCost",
    "LayerNorm",
    "LayerWeights",
    "LogVectors",
    "ModelWeights",
    "Product",
    "RankBounds",
    "Rule",
    "SingularValues",
    "TruncatedHead",
    "allocate",
    "allocation_chart",
    "attention_bound",
    "attention_row",
    "budget_chart",
    "budget_line",
    "coprime_base",
    "extremal_rows",
    "identified_count",
    "identified_formula",
    "layer_cost",
    "load_weights",
    "log_vectors",
    "open_model",
    "pareto_front",
    "products",
    "rank_at_logarithms",
    "schedule_chart",
    "schedule_cost",
    "score_pairs",
    "sharp_bound",
    "singular_values",
    "total_variation",
    "unidentified_share",
    "weight_bound",
]
