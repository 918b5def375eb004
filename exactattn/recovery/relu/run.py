"""Recovery of a Transformer from values of F: the function that users call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flint import fmpq

from exactattn.exceptions import ConditionViolated, InputError
from exactattn.numbers import LogLattice, rational
from exactattn.oracle import Oracle, Transcript
from exactattn.recovery.relu.asking import Asker
from exactattn.recovery.relu.draws import Draws
from exactattn.recovery.relu.result import TransformerRecovery
from exactattn.recovery.relu.steps import TransformerRun

__all__ = ["recover_transformer"]

MAX_PATHS = 3


def recover_transformer(
    oracle: Oracle,
    heads: int,
    *,
    neurons: int | None = None,
    kink_spacing: Any = None,
    residual: bool = False,
    antisymmetric: bool = True,
    denominator: int = 1,
    seed: int = 0,
    transcript: str | Path | None = None,
    max_paths: int = MAX_PATHS,
) -> TransformerRecovery:
    """Recovers F = ℓ·Z + Σ a_k ReLU(β_k·Z) from nothing but an oracle's values, on the log-lattice.

    ``heads`` is the number of heads or an upper bound; ``neurons`` the number K of neurons, parallel ones
    counted once and those that cancel not at all, or ``kink_spacing`` a lower bound δ on the distances of
    kinks and ends on the drawn path (abscissae 0 … 2). With neither the result is labelled as of unknown
    completeness: no finite set of values can exclude a further, nearly parallel pair of neurons. An upper
    bound on K does not suffice either; K must be exact. ``residual``: the last token is stacked below the
    head outputs. ``antisymmetric`` False takes the heads from the regions of the walk alone.
    Tokens are long rationals; only scores less that of the last token are short and on the lattice.
    ``transcript`` keeps every answer, so that a run can be resumed.

    With K the count of pieces shows that no neuron is hidden. With δ alone neurons whose blocks add up to 0
    or to parallel vectors are excluded by further random queries only.

    Token size d ≥ 2. For generic networks (blocks of every β_k add up to vectors β̄_k of which no two are
    parallel, and no signed sum of a_k β̄_k vanishes) 2(4Hd² − 2H + 1) queries for the heads, O(K log 1/δ)
    for the walk and (K + 1)(Hd + 1) for the regions; where this fails and d > H, without a residual, the
    frozen walk takes over.

    Raises ConditionViolated, with the condition, where the method does not apply; InconsistentAnswers if the
    answers are not of such a function with the stated numbers; GenericityExhausted, OracleError,
    TranscriptError, InputError.

    >>> from exactattn.model.random_transformer import random_transformer
    >>> from exactattn.oracle.transformer import TransformerOracle
    >>> model = random_transformer(1, 2, 2, seed=3)
    >>> result = recover_transformer(TransformerOracle(model), heads=1, neurons=2)
    >>> result.matches(model), len(result.neurons), result.counts["heads"]
    (True, 2, 30)
    """
    spacing = None if kink_spacing is None else rational(kink_spacing)
    _check_options(oracle, heads, neurons, spacing)
    system = LogLattice(denominator)
    identity = {
        "method": "transformer", "heads": heads, "neurons": neurons, "dim": oracle.dim, "seed": seed,
        "kink_spacing": None if spacing is None else str(spacing), "residual": residual,
        "antisymmetric": antisymmetric, "numbers": system.describe(),
    }  # fmt: skip
    with Transcript(transcript, identity=identity, fingerprint=oracle.fingerprint) as record:
        run = TransformerRun(Asker(oracle, record, system), Draws(seed), heads, oracle.dim, residual)
        run.kinks, run.spacing, run.antisymmetric = neurons, spacing, antisymmetric
        return run.result(max_paths)


def _check_options(oracle: Oracle, heads: int, neurons: int | None, spacing: fmpq | None) -> None:
    if heads < 1:
        raise InputError(f"must be at least 1, not {heads}", field="heads")
    if neurons is not None and neurons < 0:
        raise InputError(f"must be at least 0, not {neurons}", field="neurons")
    if spacing is not None and spacing <= 0:
        raise InputError(f"must be more than 0, not {spacing}", field="kink spacing")
    if oracle.dim < 2:
        raise ConditionViolated("tokens must have at least 2 entries: on a line no path avoids 0", "d ≥ 2")
