"""LaTeX of heads and layers, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flint import fmpq

if TYPE_CHECKING:
    from exactattn.model.heads import Attention

__all__ = ["entry_latex", "heads_latex", "layer_latex", "matrix_latex"]

SHOWN_HEADS = 8


def entry_latex(x: object) -> str:
    """LaTeX of an exact rational, or of a ball as a decimal."""
    if isinstance(x, fmpq):
        if x.q == 1:
            return str(x.p)
        return f"{'-' if x < 0 else ''}\\tfrac{{{abs(x.p)}}}{{{x.q}}}"
    return str(getattr(x, "str", lambda *_, **__: x)(8, radius=False))


def matrix_latex(rows: Sequence[Sequence[object]]) -> str:
    """LaTeX of a matrix."""
    body = r" \\ ".join(" & ".join(entry_latex(x) for x in row) for row in rows)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"


def heads_latex(heads: Sequence[tuple[Sequence[Sequence[object]], Sequence[object]]]) -> str:
    """LaTeX of numbered heads (W_h, v_h), at most eight of them."""
    if not heads:
        return "$$f = 0$$"
    lines = [
        rf"W_{{{h}}} = {matrix_latex(W)},\quad v_{{{h}}} = {matrix_latex([[x] for x in v])}"
        for h, (W, v) in enumerate(heads[:SHOWN_HEADS], 1)
    ]
    if len(heads) > SHOWN_HEADS:
        lines.append(rf"\text{{and {len(heads) - SHOWN_HEADS} more heads}}")
    return r"$$\begin{gathered} " + r" \\ ".join(lines) + r" \end{gathered}$$"


def layer_latex(layer: Attention) -> str:
    """LaTeX of a layer's heads."""
    return heads_latex([(h.W, h.v) for h in layer.heads])
