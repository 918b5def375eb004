"""Which head of one layer is which head of another: a proposal from floats, for exact comparison."""

from __future__ import annotations

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from exactattn.checkpoint.compare_forms import Form, HeadForms, LayerForms
from exactattn.checkpoint.dyadic import Dyadic

__all__ = ["float_of", "floats", "proposed_matches"]

PROBES = 8
Floats = NDArray[np.float64]


def proposed_matches(first: LayerForms, second: LayerForms) -> list[tuple[int, int]]:
    """Pairs of heads, closest first; as many as the layer with fewer heads has.

    Closeness is that of the values of all forms at a few random arguments. Nothing is decided here.
    """
    probes: dict[int, Dyadic] = {}
    signatures = [[_signature(head, probes) for head in layer.heads] for layer in (first, second)]
    costs = [
        (_cost(a, b), abs(i - j), i, j)
        for i, a in enumerate(signatures[0])
        for j, b in enumerate(signatures[1])
        if first.heads[i].label == second.heads[j].label
    ]
    pairs: list[tuple[int, int]] = []
    for _, _, i, j in sorted(costs):
        if all(i != k and j != m for k, m in pairs):
            pairs.append((i, j))
    return sorted(pairs)


def floats(x: Dyadic) -> Floats:
    """The entries as floats (rounded), for looking around only."""
    rows, columns = x.shape
    entries = x.integers.entries()
    largest = max(max(entries, default=fmpz(0)), -min(entries, default=fmpz(0)))
    # integers beyond the range of floats are cut, together
    cut = max(int(largest.bit_length()) - 1000, 0)
    rounded = np.array([float(int(entry >> cut if cut else entry)) for entry in entries])
    return np.asarray(np.ldexp(rounded, x.exponent + cut)).reshape(rows, columns)


def float_of(x: fmpq) -> float:
    """The number as a float, roughly; infinite where it is too large."""
    try:
        return int(x.p) / int(x.q)
    except OverflowError:
        return float("inf")


def _signature(head: HeadForms, probes: dict[int, Dyadic]) -> list[Floats]:
    forms: list[Form] = [*(head.scores[name] for name in sorted(head.scores)), head.output]
    values = []
    for form in forms:
        a, b = (floats(side @ _probes(side.shape[1], probes)) for side in (form.left, form.right))
        if form.turned:
            a, b = a[0::2] + 1j * a[1::2], b[0::2] - 1j * b[1::2]
            values.append(np.abs(np.sum(a * b, axis=0)))
        else:
            values.append(np.sum(a * b, axis=0))
    return [*values, *(floats(head.vectors[name]).ravel() for name in sorted(head.vectors))]


def _probes(size: int, probes: dict[int, Dyadic]) -> Dyadic:
    if size not in probes:
        probes[size] = Dyadic.of(np.random.default_rng(size).integers(-99, 100, (size, PROBES)))
    return probes[size]


def _cost(a: list[Floats], b: list[Floats]) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        if x.shape != y.shape:
            return float("inf")
        size = float(np.linalg.norm(x) + np.linalg.norm(y))
        total += float(np.linalg.norm(x - y)) / size if size else 0.0
    return total
