"""Which parameters of an attention layer any data can determine: architectures and counts (theory, section
8).
"""

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
from exactattn.identify.spec import AttentionSpec, Layers, ModelSpec

__all__ = [
    "AttentionSpec",
    "Latent",
    "Layers",
    "ModelSpec",
    "Norm",
    "NormKind",
    "Pairing",
    "QueryKeyNorm",
    "RelativeBias",
    "Rotary",
    "Scope",
    "Sinks",
    "Tie",
]
