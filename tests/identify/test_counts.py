"""Counts: the published ratio for all sizes, stated examples, formulas against numbers, refusals by name."""

from __future__ import annotations

import pytest
import sympy
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from published_configs import part

from exactattn.exceptions import InputError
from exactattn.identify import (
    AttentionSpec,
    Count,
    Part,
    count_block,
    count_layer,
    count_model,
    parse_variant,
)
from exactattn.identify.symbols import product_fibre


def variant(text: str) -> AttentionSpec:
    return parse_variant(text).layers[0].attention


def counted(text: str) -> Count:
    return count_block(variant(text))


def test_published_ratio_for_all_sizes() -> None:
    """The ratio 1 − 1/(2H) of plain heads with D = C = E/H would hold at some sizes only.

    The formulas are those of the regime D ≤ E, which holds whenever D = E/H, so they are valid for all H | E.
    """
    count = count_layer(AttentionSpec.of(12, 3))
    D, H = sympy.Symbol("D", integer=True, positive=True), sympy.Symbol("H", integer=True, positive=True)
    E = next(symbol for symbol in count.values if str(symbol) == "E")
    ratio = 1 - (count.unidentified_formula / count.parameters_formula).subs(E, H * D)
    assert sympy.simplify(ratio - (1 - 1 / (2 * H))) == 0
    queries = next(each for each in count.parts if each.name == "query/key")
    assert sympy.simplify((queries.unidentified / queries.parameters).subs(E, H * D) - 1 / (2 * H)) == 0


@given(st.integers(1, 40), st.integers(1, 40))
def test_ratio_of_plain_heads(heads: int, size: int) -> None:
    """The number printed for plain heads would not be 1 − 1/(2H)."""
    assert count_layer(AttentionSpec.of(heads * size, heads)).ratio == 1 - fmpq(1, 2 * heads)


def test_stated_examples() -> None:
    """64 heads in 8 groups of size 128: 131 072 for the grouping alone, 1 024 with full rotation; 6 heads:
    91.7 %.
    """
    grouped = counted("gqa E=8192 H=64 G=8")
    rotated = counted("gqa E=8192 H=64 G=8 R=all")
    assert part(grouped, "query/key") == 8 * 128**2 == 131_072
    assert part(rotated, "query/key") == 8 * 128 == 1_024
    assert count_layer(AttentionSpec.of(384, 6)).ratio == fmpq(11, 12)


def test_no_inert_bias_with_rotation_and_without_output_bias() -> None:
    """Query, key and value biases under full rotation, no output bias: each bias number would matter."""
    count = counted("gqa E=64 H=8 G=2 R=all bias=qkv")
    assert [part(count, f"{name} bias") for name in ("query", "key", "value")] == [0, 0, 0]


def test_head_size_apart_from_the_width() -> None:
    """A decoupled head size D would change the share from 1 − D/(2E); D = E gives 1/2 for any H."""
    for heads in (1, 3, 8):
        for size in (1, 5, 12):
            ratio = count_layer(AttentionSpec.of(12, heads, head_size=size)).ratio
            assert ratio == 1 - fmpq(size, 24)


@given(*[st.integers(1, 30)] * 4)
def test_product_fibre_counts_what_products_do_not_fix(size: int, left: int, right: int, extra: int) -> None:
    """Fibres would be negative, exceed the parameters, or not be symmetric in the two factors."""

    def fibre(size: int, left: int, right: int) -> int:
        numbers = [sympy.Integer(x) for x in (size, left, right, min(size, left, right))]
        return int(product_fibre(*numbers))

    value = fibre(size, left, right)
    assert value == fibre(size, right, left)
    assert size * (left + right) - value <= left * right
    assert fibre(size + extra, left, right) >= value >= min(size, left, right) ** 2


def test_formulas_give_the_numbers() -> None:
    """A formula printed beside a number would not be the number's."""
    for text in (
        "gqa E=48 H=8 G=4 D=10 C=6 R=4 bias=qkvo sinks=learned",
        "mla E=64 H=4 D=24 R=8 C=16 r=32 r_q=40 latentnorm=rms eps=1e-6",
        "mha E=16 H=2 D=20 C=18",
        "gqa E=60 H=4 G=2 D=10 qknorm=rms:width eps=0 R=all",
    ):
        count = counted(text)
        for formula, number in (
            (count.parameters_formula, count.parameters),
            (count.unidentified_formula, count.unidentified),
            (count.unidentified_at_zero_formula, count.unidentified_at_zero),
        ):
            by_name = {str(symbol): value for symbol, value in count.values.items()}
            assert eval(str(formula).replace("/2", "//2"), {}, by_name) == number


def test_eps_changes_only_sizes() -> None:
    """ε > 0 would break more, or less, than the pure scale directions: H + G, the latents' sizes, the size
    of W_O.
    """
    for text, broken in (
        ("gqa E=32 H=4 G=2 qknorm=rms:shared R=all", 4 + 2),
        ("gqa E=64 H=4 G=2 D=8 qknorm=rms:width", 2),
        ("mla E=32 H=4 r=8 latentnorm=rms", 1),
        ("mla E=32 H=4 r=8 r_q=6 latentnorm=rms", 2),
        ("mha E=32 H=4 after=rms", 1),
        ("mha E=32 H=4 before=rms", 0),
    ):
        strict, zero = counted(f"{text} eps=1e-6"), counted(f"{text} eps=0")
        assert strict.unidentified_at_zero == zero.unidentified
        assert zero.unidentified - strict.unidentified == broken
        assert zero.unidentified == zero.unidentified_at_zero


def test_only_the_bare_layer_forgets_the_norms_around_it() -> None:
    """The count of the bare layer would include the norms, or that of the block lack them."""
    spec = variant("mha E=16 H=4 bias=qkvo before=layer+shift eps=1e-5")
    assert count_layer(spec).parameters == 4 * 16 * 16 + 4 * 16
    block = count_block(spec)
    assert block.parameters == count_layer(spec).parameters + 2 * 16
    assert block.unidentified == count_layer(spec).unidentified + 2 * 16 + 3 * 16


def test_a_shared_table_is_counted_once() -> None:
    """Without sharing each layer has its own table: the totals would not differ by the tables."""
    own = count_model(parse_variant("mha E=16 H=4 relbias=8 distance=20 layers=3"))
    assert own.parameters == 3 * (4 * 256 + 32)
    assert own.unidentified == 3 * (2 * 4 * 16 + 4)


REFUSED = {
    "query_key_norm": (
        "mha E=4 H=2 D=5 qknorm=rms:shared eps=0",
        "mha E=8 H=4 D=4 qknorm=rms:width eps=0",
        "mha E=8 H=2 D=4 qknorm=layer:width eps=0",
        "mha E=8 H=2 D=3 qknorm=layer:shared eps=0",
        "mha E=8 H=2 D=4 qknorm=layer+shift:shared eps=0 sinks=learned",
    ),
    "key_value_latent": ("mla E=8 H=2 r=9", "mla E=8 H=1 D=1 C=1 r=3"),
    "query_latent": ("mla E=8 H=1 D=2 r=4 r_q=5",),
    "query_bias": ("mla E=8 H=2 r=4 bias=q",),
    "window": ("mha E=16 H=2 R=all window=8", "mha E=8 H=2 relbias=4 distance=9 window=5"),
    "sinks": ("mha E=8 H=2 tie=query=key sinks=learned",),
    "norm_before": ("mla E=8 H=2 r=4 before=layer eps=0",),
    "norm_after": ("mha E=8 H=1 D=2 C=2 after=rms eps=0",),
}


@pytest.mark.parametrize("field", REFUSED)
def test_refusals_name_the_field(field: str) -> None:
    """A combination without a derived count would get a number all the same."""
    for text in REFUSED[field]:
        with pytest.raises(InputError, match="no count is derived") as caught:
            counted(text)
        assert caught.value.field == field


def test_parts_say_what_is_free() -> None:
    """A part with free directions would give no reason."""
    count = counted("gqa E=48 H=8 G=4 D=10 C=6 R=4 bias=qkvo")
    assert all(isinstance(each, Part) and each.reason for each in count.parts)
