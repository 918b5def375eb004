"""Architectures: sizes that contradict each other are refused, relative buckets are exact."""

from __future__ import annotations

import math

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from exactattn.exceptions import InputError
from exactattn.identify import (
    AttentionSpec,
    Latent,
    Layers,
    ModelSpec,
    Norm,
    NormKind,
    Pairing,
    QueryKeyNorm,
    RelativeBias,
    Rotary,
    Scope,
    Tie,
)

RMS = Norm(kind=NormKind.RMS, eps=fmpq(0))
HALF = Pairing.HALF_SPLIT


def layer(**features: object) -> AttentionSpec:
    return AttentionSpec.of(8, 4, **features)  # type: ignore[arg-type]


CONTRADICTIONS = {
    "heads": lambda: AttentionSpec.of(10, 4),
    "groups": lambda: layer(groups=3),
    "width": lambda: AttentionSpec.of(0, 1),
    "head_size": lambda: layer(head_size=-1),
    "rotary size": lambda: layer(rotary=Rotary(size=4, pairing=HALF)),
    "shared_key": lambda: layer(rotary=Rotary(size=2, pairing=HALF, shared_key=True)),
    "soft_cap": lambda: layer(soft_cap=fmpq(-1)),
    "window": lambda: layer(window=0),
    "rotary": lambda: layer(source_width=8, causal=False, rotary=Rotary(size=2, pairing=HALF)),
    "causal": lambda: layer(source_width=8),
    "query_key_norm": lambda: layer(
        key_value_latent=Latent(rank=2), query_key_norm=QueryKeyNorm(norm=RMS, scope=Scope.SHARED)
    ),
    "ties": lambda: layer(groups=2, ties=frozenset({Tie.QUERY_KEY})),
    "eps": lambda: Norm(kind=NormKind.RMS, eps=fmpq(-1)),
    "shift": lambda: Norm(kind=NormKind.RMS, eps=fmpq(0), shift=True),
    "rank": lambda: Latent(rank=0),
    "buckets": lambda: RelativeBias(buckets=5, max_distance=9, bidirectional=True),
    "max_distance": lambda: RelativeBias(buckets=8, max_distance=3, bidirectional=False),
}


@pytest.mark.parametrize("field", CONTRADICTIONS)
def test_contradictions_name_their_field(field: str) -> None:
    """A layer that cannot exist would be counted, or refused without naming what to mend."""
    with pytest.raises(InputError) as caught:
        CONTRADICTIONS[field]()
    assert caught.value.field == field


def test_odd_rotation_is_refused() -> None:
    """Three dimensions would be rotated in pairs."""
    with pytest.raises(InputError, match="3 is odd"):
        Rotary(size=3, pairing=HALF)


def test_models_name_their_layers_once_and_share_equal_tables() -> None:
    """Two groups of one name, or one table of two shapes, would be counted as one."""
    with pytest.raises(InputError, match="one name"):
        ModelSpec(name="m", family="f", layers=(Layers(name="a", attention=layer()),) * 2)
    small = RelativeBias(buckets=4, max_distance=8, bidirectional=False)
    large = RelativeBias(buckets=8, max_distance=9, bidirectional=False)
    groups = tuple(
        Layers(name=name, attention=layer(relative_bias=table))
        for name, table in (("a", small), ("b", large), ("c", None))
    )
    for shared in ({"a", "b"}, {"c"}, {"d"}):
        with pytest.raises(InputError) as caught:
            ModelSpec(name="m", family="f", layers=groups, shared_relative_bias=(frozenset(shared),))
        assert caught.value.field == "shared_relative_bias"


def logarithmic(offset: int, buckets: int, distance: int, bidirectional: bool) -> tuple[float, int]:
    """The bucket by its formula in floats: the number before rounding, and where its direction starts."""
    start = 0
    if bidirectional:
        buckets //= 2
        start = buckets if offset > 0 else 0
        away = abs(offset)
    else:
        away = max(-offset, 0)
    exact = buckets // 2
    if away < exact:
        return float(away), start
    real = exact + math.log(away / exact) / math.log(distance / exact) * (buckets - exact)
    return min(real, buckets - 1.0), start


@given(
    st.integers(-300, 300),
    st.sampled_from([4, 6, 8, 16, 32, 64]),
    st.integers(40, 256),
    st.booleans(),
)
def test_buckets_follow_the_logarithmic_formula(
    offset: int, buckets: int, distance: int, bidirectional: bool
) -> None:
    """A distance would fall in another bucket than in the models; borders are left to exact arithmetic."""
    table = RelativeBias(buckets=buckets, max_distance=distance, bidirectional=bidirectional)
    real, start = logarithmic(offset, buckets, distance, bidirectional)
    found = table.bucket(offset) - start
    assert found in {math.floor(real - 1e-9), math.floor(real + 1e-9)}


def test_reached_buckets() -> None:
    """A bucket nothing falls in would count as learned, or one in use as dead."""
    both = RelativeBias(buckets=32, max_distance=128, bidirectional=True)
    past = RelativeBias(buckets=32, max_distance=128, bidirectional=False)
    assert set(range(32)) - both.reached(causal=False) == {16}
    assert past.reached(causal=True) == past.reached(causal=False) == set(range(32))
    assert both.reached(causal=True) == set(range(16))
