"""Recovery of one-layer Transformers: attention followed by a ReLU network without biases.

Heads from antisymmetric queries; a walk that finds the pieces of F on a path; F's linear function on each
piece; their jumps are the neurons.

The antisymmetric part is an attention layer in every number system (:class:`AntisymmetricOracle` with
:func:`~exactattn.recovery.recover`, also over balls). All that follows asks whether values are equal, and
balls never say yes to that: it stays on the log-lattice.
"""

from exactattn.recovery.relu.heads import AntisymmetricOracle
from exactattn.recovery.relu.result import UNKNOWN, Jump, TransformerRecovery
from exactattn.recovery.relu.run import recover_transformer

__all__ = ["UNKNOWN", "AntisymmetricOracle", "Jump", "TransformerRecovery", "recover_transformer"]
