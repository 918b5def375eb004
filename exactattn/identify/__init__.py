"""Which parameters of an attention layer any data can determine (theory, section 8).

Architectures (:class:`AttentionSpec`, :class:`ModelSpec`), read from published configs or from a line of
text, the counts of their identified and unidentified parameters with formulas, and certificates of them.
"""

from exactattn.identify.certified_formula import CertifiedFormula, certify_formula
from exactattn.identify.chart import identified_chart
from exactattn.identify.config import read_config
from exactattn.identify.counts import Count, count_block, count_layer
from exactattn.identify.features import (
    Latent,
    Norm,
    NormKind,
    Pairing,
    QueryKeyNorm,
    RelativeBias,
    Rotary,
    Scope,
    Sinks,
    Tie,
)
from exactattn.identify.model_counts import CountedLayers, ModelCount, count_model
from exactattn.identify.parts import Part
from exactattn.identify.rank_certificate import RankCertificate, certify_count
from exactattn.identify.report import count_data, count_latex
from exactattn.identify.spec import AttentionSpec, Layers, ModelSpec
from exactattn.identify.variant import parse_variant

__all__ = [
    "AttentionSpec",
    "CertifiedFormula",
    "Count",
    "CountedLayers",
    "Latent",
    "Layers",
    "ModelCount",
    "ModelSpec",
    "Norm",
    "NormKind",
    "Pairing",
    "Part",
    "QueryKeyNorm",
    "RankCertificate",
    "RelativeBias",
    "Rotary",
    "Scope",
    "Sinks",
    "Tie",
    "certify_count",
    "certify_formula",
    "count_block",
    "count_data",
    "count_latex",
    "count_layer",
    "count_model",
    "identified_chart",
    "parse_variant",
    "read_config",
]
