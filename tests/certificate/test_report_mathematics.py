"""Statements as MathML."""

from __future__ import annotations

import re

import pytest
import sympy
from sympy import Eq, MatrixSymbol, Sum, Symbol, symbols

from exactattn.certificate.report.mathematics import mathml, plain_names
from exactattn.certificate.report.page import latex_block
from exactattn.ledger import load_claims

D, E, H, j, n = symbols("D E H j n")


def words(expression: object) -> str:
    """Letters and signs in reading order, without the sign of invisible products."""
    return re.sub(r"<[^>]*>|\u2062|\s", "", str(mathml(expression)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Eq(D / (2 * E), 1 - 1 / H, evaluate=False), "D2E=1−1H"),
        (MatrixSymbol("W_K", D, E).T * MatrixSymbol("W_Q", D, E), "WKTWQ"),
        (Sum(sympy.exp(sympy.Indexed("s", j)), (j, 1, n)), "∑j=1nesj"),
        (sympy.ceiling(E * sympy.sqrt(2)), "⌈2E⌉"),
        (MatrixSymbol("(W_OᵀW_O)⁻¹", D, D), "(WOᵀWO)⁻¹"),
        (MatrixSymbol("∂L/∂P", E, E), "∂L/∂P"),
        (MatrixSymbol("A'", E, E), "A′"),
        (sympy.Ne(sympy.ZeroMatrix(D, D), sympy.Identity(D)), "0≠I"),
    ],
)
def test_statements_read_as_they_are_meant(expression: object, expected: str) -> None:
    """If it fails, a statement on the page says something else than the claim."""
    assert words(expression) == expected


def test_an_index_stands_below_a_power() -> None:
    """If it fails, the transpose of W_K is set as if only the index K were transposed."""
    assert "<msubsup><mi>W</mi><mi>K</mi><mo>T</mo></msubsup>" in mathml(MatrixSymbol("W_K", D, E).T)


def test_what_cannot_be_printed_is_text() -> None:
    """If it fails, a statement that the printer does not know would be missing from the page."""

    class Strange(sympy.Basic):
        def _mathml_presentation(self, printer: object) -> object:
            raise NotImplementedError

        def __str__(self) -> str:
            return "strange & <new>"

    assert str(mathml(Strange())) == "<code>strange &amp; &lt;new&gt;</code>"


def test_every_statement_of_the_ledger_is_mathematics() -> None:
    """If it fails, some claim is shown as program text."""
    parts = [part for claim in load_claims().values() for part in claim.statement]
    assert parts
    for part in parts:
        assert mathml(part).startswith("<math"), part


def test_latex_only_for_names_that_every_printer_sets_well() -> None:
    """If it fails, Markdown would show a compound name torn into indices."""
    assert latex_block(Eq(Symbol("E_0"), 4, evaluate=False)) == "```math\nE_{0} = 4\n```"
    compound = Eq(Symbol("(W_QW_K)⁻¹"), 4, evaluate=False)
    assert not plain_names(compound)
    assert latex_block(compound) == "`(W_QW_K)⁻¹ = 4`"
