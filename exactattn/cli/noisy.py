"""exactattn recover --output-error: enclosures from answers with errors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

from exactattn.certificate import enclosure_certificate, write_certificate
from exactattn.cli.console import conclude, facts_table, print_heads, stdout
from exactattn.cli.recover_options import RecoverOptions
from exactattn.errors import AnyLayer, NoisyRecovery, recover_with_error
from exactattn.numbers import LogLattice, rational_text
from exactattn.oracle import Oracle
from exactattn.recovery import Progress

__all__ = ["recover_noisy"]


def recover_noisy(
    oracle: Oracle,
    layer: AnyLayer | None,
    heads: int,
    numbers: Literal["lattice", "balls"],
    denominator: int,
    options: RecoverOptions,
    progress: Progress | None,
) -> bool | None:
    """Runs the recovery and shows it; whether the model lies in the enclosures, None without a model."""
    result = recover_with_error(
        oracle,
        heads,
        options.output_error or "",
        bias=options.bias,
        numbers=numbers,
        denominator=denominator,
        robust=options.robust,
        longest=options.longest,
        seed=options.seed,
        transcript=options.transcript,
        progress=progress,
    )
    verdict = None if layer is None else result.matches(layer)

    def certify(path: Path) -> None:
        # a public model's own values are the truth: a certificate may say that they are near the answers
        model = layer if verdict else None
        system = result.system if isinstance(result.system, LogLattice) else None
        write_certificate(
            enclosure_certificate(result.enclosure, result.answers, result.stated_error, model, system), path
        )

    conclude(
        options.certificate,
        options.json_output,
        certify=certify,
        summary=lambda: _summary(result, verdict),
        show=lambda: _show(result, verdict),
    )
    return verdict


def _summary(result: NoisyRecovery, verdict: bool | None) -> dict[str, Any]:
    return {
        "queries": result.queries,
        "longest": result.longest,
        "robust": result.robust,
        "redraws": len(result.refusals),
        "refusals": list(result.refusals),
        "heads": [
            {"W": [[x.str(40) for x in row] for row in head.W], "v": [x.str(40) for x in head.v]}
            for head in result.heads
        ],
        "constant": None if result.constant is None else result.constant.str(40),
        "output_error": rational_text(result.stated_error),
        "digits": result.digits,
        "matches_model": verdict,
        "numbers": result.system.describe(),
        "seed": result.seed,
        "seconds": round(result.seconds, 3),
    }


def _show(result: NoisyRecovery, verdict: bool | None) -> None:
    words = {
        True: "yes: every true parameter lies in its enclosure",
        False: "NO",
        None: "no model to compare with",
    }
    stated = result.stated_error
    facts = [
        ("heads enclosed", str(len(result.heads))),
        ("errors of answers up to", f"10^{math.log10(int(stated.p)) - math.log10(int(stated.q)):.2f}"),
        ("every parameter within", result.enclosure.widest_radius.str(3, radius=False)),
        *((("constant output", result.constant.str(12)),) if result.constant is not None else ()),
        ("queries asked", f"{result.queries:,}"),
        ("longest sequence", f"{result.longest} tokens"),
        ("queries", "robust: second pass at better copy ratios" if result.robust else "published"),
        ("redraws", str(len(result.refusals))),
        *((f"  redraw {n}, because", reason) for n, reason in enumerate(result.refusals, 1)),
        ("seconds", f"{result.seconds:.2f}"),
        ("seed", str(result.seed)),
        ("holds the model's canonical form", words[verdict]),
    ]
    stdout.print(facts_table("recovery from answers with errors", facts))
    print_heads([(h.W, h.v) for h in result.heads])
