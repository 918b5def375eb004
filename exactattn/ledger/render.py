"""Claims and decisions as text, LaTeX and JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.core.relational import Relational

from exactattn.ledger.claim import Claim
from exactattn.ledger.ledger import Decided
from exactattn.ledger.outcome import Counterexample

__all__ = ["claim_data", "decided_data", "statement_latex", "statement_text", "verdicts_markdown"]


def statement_text(expression: Any) -> str:
    """A relation or expression in one line.

    >>> x = sympy.Symbol("x")
    >>> statement_text(sympy.Eq((x + 1) ** 2, x**2 + 2 * x + 1, evaluate=False))
    '(x + 1)**2 = x**2 + 2*x + 1'
    """
    if isinstance(expression, Relational):
        sign = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥"}.get(expression.rel_op, expression.rel_op)
        return f"{expression.lhs} {sign} {expression.rhs}"
    return str(expression)


def statement_latex(expression: Any) -> str:
    r"""LaTeX of a relation or expression.

    >>> statement_latex(sympy.Eq(sympy.Symbol("E_0"), 4, evaluate=False))
    'E_{0} = 4'
    """
    text: str = sympy.latex(expression)
    return text


def claim_data(claim: Claim) -> dict[str, Any]:
    """What a claim says, as JSON data."""
    return {
        "id": claim.id,
        "paper": claim.paper.letter,
        "source": claim.paper.source,
        "read": claim.paper.read,
        "place": claim.place,
        "claim": claim.says,
        "statement": [statement_text(part) for part in claim.statement],
        "latex": [statement_latex(part) for part in claim.statement],
        "hypotheses": list(claim.hypotheses),
        "expected": claim.expected.value,
        "corrected": claim.corrected or None,
        "does_not_establish": list(claim.does_not_establish),
        "depends_on": list(claim.depends_on),
    }


def decided_data(decided: Decided) -> dict[str, Any]:
    """A decided claim as JSON data: what it says, the verdict, and everything the verdict rests on.

    >>> from exactattn.ledger import decide, load_claims, select
    >>> (decided,) = decide(select(load_claims(), ["I-4.5-six-heads"]))
    >>> data = decided_data(decided)
    >>> data["verdict"], data["counterexample"]["values"]["share"]
    ('refuted', '11/12')
    """
    outcome = decided.outcome
    return {
        **claim_data(decided.claim),
        "verdict": outcome.verdict.value,
        "as_expected": decided.as_expected,
        "by": outcome.by,
        "scope": list(outcome.scope),
        "steps": [
            {
                "says": step.says,
                "holds": step.holds,
                "how": step.how,
                "detail": step.detail,
                "checked": step.checked,
                "vacuous": step.vacuous,
            }
            for step in outcome.steps
        ],
        "checked": outcome.checked,
        "vacuous": outcome.vacuous,
        "counterexample": _counterexample(outcome.counterexample),
        "certificates": [certificate["digest"] for certificate in outcome.certificates],
        "seconds": round(decided.seconds, 3),
    }


def _counterexample(counterexample: Counterexample | None) -> dict[str, Any] | None:
    if counterexample is None:
        return None
    return {
        "says": counterexample.says,
        "values": counterexample.texts(),
        "smallest": counterexample.smallest,
    }


def verdicts_markdown(decided: Sequence[Decided]) -> str:
    """A Markdown table of claims and verdicts, as the README holds it; times are left out."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|")

    rows = [
        f"| {each.claim.id} | {cell(each.claim.says)} | {each.outcome.verdict.value} |" for each in decided
    ]
    return "\n".join(["| id | claim | verdict |", "|---|---|---|", *rows]) + "\n"
