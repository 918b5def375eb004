"""Two layers compared: symmetries are equal, everything else is shown to differ, distances are exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.checkpoint.compare import (
    LayerComparison,
    Sameness,
    compare_layers,
    rounding_share,
)
from exactattn.checkpoint.compare_forms import Form
from exactattn.checkpoint.compare_restrict import restricted
from exactattn.checkpoint.dyadic import Dyadic
from exactattn.identify import AttentionSpec, Pairing, parse_variant
from exactattn.identify.layer_values import ball_outputs
from exactattn.identify.parameters import parameter_shapes

Arrays = dict[str, np.ndarray[Any, Any]]


def spec_of(line: str) -> AttentionSpec:
    return parse_variant(line).layers[0].attention


def drawn(spec: AttentionSpec, seed: int = 1) -> Arrays:
    """Quarters; scales are positive."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(1, 9, shape) / 4 if name.endswith("scale") else rng.integers(-8, 9, shape) / 4
        for name, shape in parameter_shapes(spec).items()
    }


def compared(
    spec: AttentionSpec, a: Arrays, b: Arrays, other: AttentionSpec | None = None
) -> LayerComparison:
    found = compare_layers((spec, a), (other or spec, b))
    if found.separating is not None:
        confirm(spec, a, other or spec, b, found)
    return found


def confirm(
    a_spec: AttentionSpec, a: Arrays, b_spec: AttentionSpec, b: Arrays, found: LayerComparison
) -> None:
    """The shown input once more, on all columns and rows, at another precision."""
    shown = found.separating
    assert shown is not None
    tokens = [[token.get(j, fmpq(0)) for j in range(a_spec.key_width)] for token in shown.tokens]
    with ctx.workprec(300):
        for spec, arrays, ball in ((a_spec, a, shown.first), (b_spec, b, shown.second)):
            whole = restricted(spec, arrays, range(spec.key_width))
            value = ball_outputs(spec, whole, tokens, cross=shown.source)[shown.coordinate]
            assert ball.overlaps(value)
    assert not shown.first.overlaps(shown.second)


def unimodular(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
    """An integer matrix with an integer inverse, and that inverse."""
    upper = np.triu(rng.integers(-2, 3, (size, size)), 1) + np.eye(size)
    lower = np.tril(rng.integers(-2, 3, (size, size)), -1) + np.eye(size)
    matrix = upper @ lower
    return matrix, np.round(np.linalg.inv(matrix))


def moved_within_symmetries(spec: AttentionSpec, arrays: Arrays, seed: int) -> Arrays:
    """Another basis in every group, heads in another order within groups, groups in another order."""
    rng = np.random.default_rng(seed)
    new = {name: array.copy() for name, array in arrays.items()}
    D, C, share = spec.head_size, spec.value_size, spec.heads_per_group
    place = 0
    for g_new, g in enumerate(rng.permutation(spec.groups)):
        S, S_inverse = unimodular(rng, D)
        T, T_inverse = unimodular(rng, C)
        keys, old_keys = (slice(k * D, (k + 1) * D) for k in (g_new, g))
        values, old_values = (slice(k * C, (k + 1) * C) for k in (g_new, g))
        for name in ("key", "key bias"):
            if name in arrays:
                new[name][keys] = S_inverse.T @ arrays[name][old_keys]
        for name in ("value", "value bias"):
            if name in arrays:
                new[name][values] = T @ arrays[name][old_values]
        for h in g * share + rng.permutation(share):
            rows, old = (slice(k * D, (k + 1) * D) for k in (place, h))
            for name in ("query", "query bias"):
                if name in arrays:
                    new[name][rows] = S @ arrays[name][old]
            columns, old = (slice(k * C, (k + 1) * C) for k in (place, h))
            new["output"][:, columns] = arrays["output"][:, old] @ T_inverse
            for name in ("sinks", "relative bias"):
                if name in arrays:
                    new[name][place] = arrays[name][h]
            place += 1
    return new


MOVABLE = [
    "mha E=6 H=3 bias=qkvo",
    "gqa E=5 H=4 G=2 D=3 C=2 bias=qv",
    "mqa E=4 H=3 D=2 bias=kvo",
    "mha E=4 H=2 sinks=learned bias=qkvo",
    "mha E=4 H=2 softcap=5 bias=qkvo",
    "mha E=4 H=2 relbias=8 distance=16 bidirectional",
    "mha E=6 H=3 before=layer+shift eps=1e-6 bias=qkvo",
    "mha E=4 H=2 F=3 bias=qkvo",
    "mha E=4 H=2 F=3 before=layer+shift eps=1e-6 bias=qkvo",
]


@pytest.mark.parametrize("line", MOVABLE)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_symmetries_are_equal(line: str, seed: int) -> None:
    """Breaks: a layer moved within its symmetries would be called another function."""
    spec = spec_of(line)
    arrays = drawn(spec, seed)
    found = compared(spec, arrays, moved_within_symmetries(spec, arrays, seed + 1))
    assert found.verdict is Sameness.EQUAL
    assert sorted(h for head in found.heads for h in head.second) == list(range(spec.heads))


@pytest.mark.parametrize(
    "line",
    [
        *MOVABLE,
        "mha E=6 H=3 R=all bias=qkv",
        "mha E=6 H=3 D=4 R=2 bias=qkvo",
        "mha E=6 H=3 D=4 R=2 qknorm=rms:shared eps=1e-6",
        "mha E=4 H=2 D=4 qknorm=layer:separate eps=1e-6",
        "mla E=6 H=2 D=4 C=2 R=2 r=4 r_q=3 latentnorm=rms eps=1e-6",
        "mla E=6 H=2 D=2 C=2 r=3",
        "mha E=4 H=2 alibi bias=qkvo",
        "mha E=6 H=3 before=rms eps=1e-6",
    ],
)
def test_each_array_is_seen(line: str) -> None:
    """Breaks: a change of a parameter that matters would go unseen, or be claimed without an input."""
    spec = spec_of(line)
    if spec.rotary is not None:
        spec = replace(spec, rotary=replace(spec.rotary, base=fmpq(100)))
    arrays = drawn(spec, 3)
    shifts_cancel = spec.sinks is None and spec.soft_cap is None
    inert = {"key bias"} if shifts_cancel and not spec.rotated and spec.query_key_norm is None else set()
    for name, array in arrays.items():
        moved = {**arrays, name: array.copy()}
        moved[name].flat[0] += 1
        found = compared(spec, arrays, moved)
        expected = Sameness.EQUAL if name in inert else Sameness.DIFFERENT
        assert found.verdict is expected, (name, found.reason)


def test_a_rotation_plane_may_turn_and_stretch() -> None:
    """Breaks: rebalancing under rotary positions would be refused, or planes would be mixed up."""
    spec = spec_of("gqa E=4 H=2 G=1 D=5 R=4 bias=qkv")
    arrays = drawn(spec)
    turn = np.array([[1.0, -1.0], [1.0, 1.0]])  # 1 + i; the inverse transpose is (1 + i)/2
    new = {name: array.copy() for name, array in arrays.items()}
    for name, factor in (("query", turn), ("key", turn / 2)):
        for start in range(0, len(arrays[name]), 5):
            rows = [start, start + 2]  # half-split pairs of the four rotated dimensions
            for part in (name, f"{name} bias"):
                new[part][rows] = factor @ arrays[part][rows]
    assert compared(spec, arrays, new).verdict is Sameness.EQUAL
    new["query"][[0, 1]] = new["query"][[1, 0]]
    assert compare_layers((spec, arrays), (spec, new)).verdict is not Sameness.EQUAL


def test_the_two_pairings_are_told_apart() -> None:
    """Breaks: a checkpoint converted without reordering rows would pass, or a right one would not."""
    half = replace(spec_of("mha E=4 H=1 R=4"), causal=True)
    half = replace(half, rotary=replace(half.rotary, base=fmpq(10)))  # type: ignore[type-var]
    inter = replace(half, rotary=replace(half.rotary, pairing=Pairing.INTERLEAVED))  # type: ignore[type-var]
    arrays = drawn(half)
    order = [0, 2, 1, 3]  # half-split rows in the order of neighbours
    reordered = {**arrays, "query": arrays["query"][order], "key": arrays["key"][order]}
    assert compared(half, arrays, reordered, inter).verdict is Sameness.EQUAL
    assert compared(half, arrays, arrays, inter).verdict is Sameness.DIFFERENT


def test_biases_that_do_nothing_and_biases_that_move() -> None:
    """Breaks: folding value biases would be refused, or allowed beside sinks; the same for key biases."""
    for line, same in (("mha E=4 H=2 bias=qkvo", True), ("mha E=4 H=2 bias=qkvo sinks=one", False)):
        spec = spec_of(line)
        arrays = drawn(spec)
        folded = {
            **arrays,
            "value bias": np.zeros(4),
            "output bias": arrays["output bias"] + arrays["output"] @ arrays["value bias"],
        }
        dropped = {**arrays, "key bias": np.zeros(4)}
        for new in (folded, dropped):
            expected = Sameness.EQUAL if same else Sameness.DIFFERENT
            assert compared(spec, arrays, new).verdict is expected


def test_scales_of_query_and_key_norms() -> None:
    """Breaks: scales that act through products would be called different, or moved under rotations."""
    for line, same in (
        ("mha E=4 H=2 D=2 qknorm=rms:shared eps=1e-6", True),
        ("mha E=4 H=2 D=2 R=2 qknorm=rms:shared eps=1e-6", False),
    ):
        spec = spec_of(line)
        if spec.rotary is not None:
            spec = replace(spec, rotary=replace(spec.rotary, base=fmpq(10)))
        arrays = drawn(spec) | {"key norm scale": np.array([1.0, 2.0])}
        new = {
            **arrays,
            "query norm scale": arrays["query norm scale"] * arrays["key norm scale"],
            "key norm scale": np.ones(2),
        }
        assert compared(spec, arrays, new).verdict is (Sameness.EQUAL if same else Sameness.DIFFERENT)


def test_norms_before_the_layer_fold_into_it() -> None:
    """Breaks: a model whose norm scales were folded would be called another one; and so would one that moved
    along the mean, which a layer norm removes."""
    spec = spec_of("mha E=4 H=2 before=layer+shift eps=1e-6 bias=qkvo")
    arrays = drawn(spec)
    scale, shift = arrays["before scale"], arrays["before shift"]
    folded = {**arrays, "before scale": np.ones(4), "before shift": np.zeros(4)}
    for name in ("query", "key", "value"):
        folded[name] = arrays[name] * scale + np.ones((4, 4))  # the last part meets the mean, which is 0
        folded[f"{name} bias"] = arrays[f"{name} bias"] + arrays[name] @ shift
    assert compared(spec, arrays, folded).verdict is Sameness.EQUAL
    broken = {**folded, "query": folded["query"] + np.diag([0.25, 0, 0, 0])}
    found = compared(spec, arrays, broken)
    assert found.verdict is Sameness.DIFFERENT
    assert found.separating is not None
    assert found.separating.normed
    assert all(sum(token.values(), fmpq(0)) == 0 for token in found.separating.tokens)


def test_equal_heads_are_merged() -> None:
    """Breaks: two heads with equal scores are one canonical head, however their outputs are divided."""
    spec = spec_of("mha E=4 H=2")
    arrays = drawn(spec)
    arrays["query"][2:], arrays["key"][2:] = arrays["query"][:2], arrays["key"][:2]
    total = arrays["output"][:, :2] @ arrays["value"][:2] + arrays["output"][:, 2:] @ arrays["value"][2:]
    one = replace(spec, heads=1, groups=1, head_size=2, value_size=4)
    new = {"query": arrays["query"][:2], "key": arrays["key"][:2], "value": np.eye(4), "output": total}
    found = compared(spec, arrays, new, one)
    assert found.verdict is Sameness.EQUAL
    assert [head.first for head in found.heads] == [(0, 1)]


def test_heads_under_a_norm_over_all_heads_stay_apart() -> None:
    """Breaks: two heads with equal queries and keys, or one without output, would be merged or dropped where
    the norm still reads them: a layer with other heads twice would be called equal."""
    spec = replace(spec_of("mha E=4 H=3 D=2 qknorm=rms:width eps=1e-6"), causal=False)
    arrays = drawn(spec)
    rows = [slice(2 * k, 2 * k + 2) for k in range(3)]
    new = {name: array.copy() for name, array in arrays.items()}
    for name in ("query", "key", "query norm scale", "key norm scale"):
        arrays[name][rows[1]] = arrays[name][rows[0]]  # heads a, a, b
        new[name][rows[0]] = arrays[name][rows[0]]
        new[name][rows[1]] = arrays[name][rows[2]]  # heads a, b, b
    arrays["value"][rows[1]] = arrays["output"][:, rows[1]] = 0
    for layer in (arrays, new):
        layer["value"], layer["output"] = arrays["value"].copy(), arrays["output"].copy()
    assert compared(spec, arrays, new).verdict is Sameness.DIFFERENT
    assert compared(spec, arrays, arrays).verdict is Sameness.EQUAL


def test_other_sizes_and_factors() -> None:
    """Breaks: a head padded with zeros, and a factor on scores moved into W_Q, keep the function."""
    spec = spec_of("mha E=4 H=2")
    arrays = drawn(spec)
    padded = replace(spec, head_size=8)  # factor 1/√8 = ½·1/√2
    new = {name: array.copy() for name, array in arrays.items()}
    for name, factor in (("query", 2.0), ("key", 1.0)):
        new[name] = np.zeros((16, 4))
        for h in range(2):
            new[name][8 * h : 8 * h + 2] = factor * arrays[name][2 * h : 2 * h + 2]
    assert compared(spec, arrays, new, padded).verdict is Sameness.EQUAL
    new["query"] = new["query"] / 2
    assert compared(spec, arrays, new, padded).verdict is Sameness.DIFFERENT


def test_layers_of_other_kinds() -> None:
    """Breaks: layers without forms in common would be equal or different without a proof."""
    spec = spec_of("mha E=4 H=2 R=2")
    arrays = drawn(spec)
    assert compared(spec, arrays, arrays, replace(spec, rotary=None)).verdict is Sameness.UNKNOWN
    known = replace(spec, rotary=replace(spec.rotary, base=fmpq(10)))  # type: ignore[type-var]
    assert compared(known, arrays, arrays, replace(spec, rotary=None)).verdict is Sameness.DIFFERENT
    wider = spec_of("mha E=6 H=2")
    found = compare_layers((spec, arrays), (wider, drawn(wider)))
    assert (found.verdict, found.reason) == (Sameness.UNKNOWN, "the layers have different widths")


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_rounding_is_within_its_bound(kind: Any) -> None:
    """Breaks: a copy rounded to its type would be called different, or one that is off more would pass."""
    spec = spec_of("gqa E=8 H=4 G=2 D=4 R=2 bias=qkvo")
    spec = replace(spec, rotary=replace(spec.rotary, base=fmpq(10)))  # type: ignore[type-var]
    rng = np.random.default_rng(2)
    arrays = {name: rng.standard_normal(shape) for name, shape in parameter_shapes(spec).items()}
    rounded = {name: array.astype(kind).astype(np.float64) for name, array in arrays.items()}
    share = rounding_share(fmpq(1, 1 << (np.finfo(kind).nmant + 1)))
    found = compare_layers((spec, arrays), (spec, rounded), share)
    assert found.verdict is Sameness.WITHIN
    assert 0 < found.share < share
    assert compare_layers((spec, arrays), (spec, rounded)).verdict is Sameness.DIFFERENT
    off = {**rounded, "query": rounded["query"].copy()}
    off["query"][0] *= -1
    assert compare_layers((spec, arrays), (spec, off), share).verdict is Sameness.DIFFERENT


small = st.integers(-4, 4)


@settings(max_examples=40, deadline=None)
@given(st.lists(small, min_size=32, max_size=32), st.booleans())
def test_distances_are_those_of_the_products(numbers: list[int], turned: bool) -> None:
    """Breaks: every verdict: the distance read off Gram matrices is not that of the forms."""
    L, R, L2, R2 = np.array(numbers, dtype=float).reshape(4, 4, 2)
    forms = [Form(Dyadic.of(a / 2), Dyadic.of(b), turned) for a, b in ((L, R), (L2, R2))]

    def products(a: Any, b: Any) -> list[Any]:
        if not turned:
            return [a.T @ b]
        return [
            m
            for p in (0, 2)
            for m in (
                np.outer(a[p], b[p]) + np.outer(a[p + 1], b[p + 1]),
                np.outer(a[p], b[p + 1]) - np.outer(a[p + 1], b[p]),
            )
        ]

    expected = sum(float(((x - y) ** 2).sum()) for x, y in zip(products(L, R), products(L2, R2), strict=True))
    assert forms[0].distance_squared(forms[1]) == fmpq(int(expected)) / 4
    assert forms[0].squared <= 2 * forms[0].factors_squared
