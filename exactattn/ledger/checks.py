"""Checks that make steps: identities, exact equality and difference, signs, cases, certificates.

Every check computes; none takes the word of the claim for it. Operands are exact, floats are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import sympy

from exactattn.checker.check import check_data
from exactattn.exceptions import InputError
from exactattn.ledger.exact import exact_text, require_exact, to_sympy
from exactattn.ledger.step import Step

__all__ = ["accepted", "cases", "differ", "equal", "holds", "positive"]

T = TypeVar("T")


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, sympy.Basic | sympy.MatrixBase) and bool(value.free_symbols)


def _is_zero(difference: Any) -> bool:
    if isinstance(difference, sympy.MatrixBase):
        return all(_is_zero(entry) for entry in difference)
    return bool(sympy.simplify(difference) == 0)


def equal(says: str, left: Any, right: Any) -> Step:
    """Both sides are equal: by simplifying the difference to 0 where there are symbols, else exactly.

    Sides are numbers (sympy, python-flint, fractions, integers), sympy expressions or explicit matrices, or
    lists of such.

    >>> x = sympy.Symbol("x")
    >>> equal("binomial", (x + 1) ** 2, x**2 + 2 * x + 1).holds
    True
    """
    if isinstance(left, Sequence) and not isinstance(left, str):
        parts = [equal(says, a, b) for a, b in zip(left, right, strict=True)]
        how = "symbolic identity" if any(p.how == "symbolic identity" for p in parts) else "exact evaluation"
        return Step(says, all(p.holds for p in parts), how, "; ".join(p.detail for p in parts))
    a, b = to_sympy(left), to_sympy(right)
    symbolic = _is_symbolic(a) or _is_symbolic(b)
    how = "symbolic identity" if symbolic else "exact evaluation"
    same = a == b or _is_zero(a - b)
    return Step(says, same, how, f"{_short(a)} {'=' if same else '≠'} {_short(b)}")


def differ(says: str, left: Any, right: Any) -> Step:
    """Both sides are rational numbers (or equally long lists of them) and are not equal.

    Raises InputError for numbers that are not rational: for them "not simplified to 0" is no proof.

    >>> differ("a third is not 0.33", sympy.Rational(1, 3), sympy.Rational(33, 100)).detail
    '1/3 ≠ 33/100'
    """
    pairs = list(zip(_rationals(left, says), _rationals(right, says), strict=True))
    different = any(x != y for x, y in pairs)
    detail = f"{exact_text(left)} {'≠' if different else '='} {exact_text(right)}"
    return Step(says, different, "exact evaluation", detail)


def _rationals(value: Any, says: str) -> list[Any]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [entry for part in value for entry in _rationals(part, says)]
    number = to_sympy(value)
    if isinstance(number, sympy.MatrixBase):
        return [entry for row in number.tolist() for entry in _rationals(row, says)]
    if not isinstance(number, sympy.Rational):
        raise InputError(f"{number} is not a rational number", field=says)
    return [number]


def positive(says: str, expression: Any, at_least: dict[sympy.Symbol, int]) -> Step:
    """A rational expression is positive wherever each symbol is at least the given number.

    Symbols become at_least + k with k ≥ 0; numerator and denominator must then have only non-negative
    coefficients and a positive constant term. (Sufficient, not necessary.)

    >>> H = sympy.Symbol("H")
    >>> positive("room", 1 - 1 / H, {H: 2}).holds
    True
    """
    require_exact(expression)
    shifted = sympy.together(
        expression.subs({s: s + least for s, least in at_least.items()}, simultaneous=True)
    )
    parts = [sympy.Poly(part, *at_least) for part in sympy.fraction(shifted)]
    sure = all(
        all(c >= 0 for c in part.coeffs()) and part.eval(dict.fromkeys(at_least, 0)) > 0 for part in parts
    )
    where = ", ".join(f"{s} ≥ {least}" for s, least in at_least.items())
    return Step(says, sure, "sign of coefficients", f"{_short(expression)} > 0 for {where}")


def holds(says: str, truth: bool, detail: str = "", how: str = "exact evaluation") -> Step:
    """A decision that exact computation has settled. TypeError if ``truth`` is not a truth value."""
    if not isinstance(truth, bool):
        raise TypeError(f"{truth!r} is not a truth value; compare exact values first")
    return Step(says, truth, how, detail)


def cases(
    says: str,
    instances: Iterable[T],
    conclusion: Callable[[T], bool],
    hypothesis: Callable[[T], bool] | None = None,
) -> Step:
    """The conclusion holds for every instance that satisfies the hypothesis; instances that do not are
    counted as vacuous. Without a single instance that does, the step fails.

    >>> step = cases("squares of even numbers are divisible by 4", range(6), lambda n: n * n % 4 == 0,
    ...              lambda n: n % 2 == 0)
    >>> step.holds, step.checked, step.vacuous
    (True, 6, 3)
    """
    checked = vacuous = 0
    wrong: list[str] = []
    for instance in instances:
        checked += 1
        if hypothesis is not None and not hypothesis(instance):
            vacuous += 1
        elif not conclusion(instance):
            wrong.append(str(instance))
    sure = checked > vacuous and not wrong
    detail = f"fails for {wrong[0]}" if wrong else f"{checked - vacuous} instances, {vacuous} vacuous"
    return Step(says, sure, "exact evaluation of instances", detail, checked, vacuous)


def accepted(certificate: dict[str, Any]) -> Step:
    """The independent checker accepts the certificate."""
    verdict = check_data(certificate)
    kind = certificate.get("kind", "unknown")
    return Step(
        f"the checker accepts the {kind} certificate",
        verdict.code == 0,
        "certificate",
        f"{certificate.get('digest', 'no digest')}: {verdict.reason}",
    )


def _short(value: Any, limit: int = 160) -> str:
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
