"""Float cross-check of counts: parameters − unidentified equals the float64 rank of the layer's Jacobian.

Not a proof: the rank certificates are. The evaluator is independent of the counts and differentiates the
layer as written, at random points; the spectrum must show a clear gap.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from float_rank import float_rank, parameter_shapes
from random_architecture import at_zero, random_architecture

from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec, count_block, parse_variant

SMALL, LARGE = 160, 420
GAP = 1e5

# theory, section 8, and what lies between its rows; each line at one small size
ROWS = (
    "mha E=4 H=2",
    "mha E=6 H=3 C=1",
    "gqa E=5 H=4 G=2 D=3 C=2",
    "mqa E=5 H=3 D=2 C=3",
    "mha E=3 H=2 D=4 C=2",
    "mha E=3 H=2 D=2 C=5",
    "gqa E=3 H=4 G=2 D=4 C=4",
    "gqa E=3 H=6 G=2 D=5 C=2 bias=q",
    "mha E=5 H=2 D=4 C=2 R=all",
    "mha E=5 H=2 D=4 C=2 R=2",
    "gqa E=5 H=4 G=2 D=6 C=2 R=4 bias=qkvo",
    "gqa E=5 H=4 G=2 D=4 C=2 R=2 bias=qkv pairing=interleaved",
    "mqa E=4 H=3 D=2 C=2 R=all bias=kvo",
    "mha E=5 H=2 D=3 C=2 bias=qkvo",
    "mha E=5 H=2 D=3 C=2 bias=qkv",
    "mha E=3 H=2 D=2 C=3 bias=v",
    "mha E=4 H=2 C=6 F=2 D=2 bias=v",
    "mha E=4 H=2 D=2 C=2 bias=kv sinks=learned",
    "mha E=4 H=2 D=2 C=2 bias=qkvo sinks=learned",
    "gqa E=5 H=4 G=2 D=4 C=2 R=2 bias=qkvo sinks=learned",
    "mha E=3 H=2 D=5 C=2 bias=qk sinks=learned",
    "mha E=4 H=2 D=2 C=2 bias=qkvo sinks=one",
    "mha E=4 H=2 D=2 C=2 bias=qkvo softcap=2",
    "gqa E=4 H=2 G=1 D=2 C=2 bias=k softcap=2 R=all",
    "mha E=4 H=2 D=2 C=2 alibi bias=qkvo",
    "mha E=5 H=2 D=3 C=2 qknorm=rms:shared eps=0",
    "gqa E=5 H=4 G=2 D=4 C=2 qknorm=rms:shared eps=0 R=2 bias=qkvo",
    "gqa E=5 H=4 G=2 D=4 C=2 qknorm=rms:shared eps=1/3 R=all",
    "gqa E=5 H=4 G=2 D=4 C=2 qknorm=rms:separate eps=0",
    "gqa E=6 H=4 G=2 D=4 C=2 qknorm=layer:separate eps=0 R=all",
    "gqa E=6 H=2 G=2 D=4 C=2 qknorm=layer:separate eps=1/3",
    "mha E=6 H=2 D=4 C=2 qknorm=layer:shared eps=0 bias=qk",
    "mha E=6 H=2 D=4 C=2 qknorm=layer+shift:shared eps=1/3 R=2 bias=qkvo",
    "mha E=6 H=2 D=4 C=2 qknorm=layer+shift:shared eps=0",
    "gqa E=8 H=4 G=2 D=2 C=1 qknorm=rms:width eps=0",
    "gqa E=9 H=4 G=2 D=2 C=1 qknorm=rms:width eps=0 R=all bias=qkvo",
    "mha E=8 H=2 D=4 C=1 qknorm=rms:width eps=1/3 R=2",
    "mla E=6 H=3 D=3 C=2 r=4",
    "mla E=6 H=3 D=3 C=2 r=4 latentnorm=rms eps=0",
    "mla E=6 H=3 D=3 C=2 r=4 latentnorm=rms eps=1/3",
    "mla E=6 H=2 D=5 C=2 r=4 R=2 latentnorm=rms eps=0",
    "mla E=6 H=3 D=5 C=2 r=3 r_q=4 R=2 latentnorm=rms eps=0",
    "mla E=6 H=3 D=5 C=2 r=3 r_q=4 R=2 bias=o",
    "mha E=4 H=2 relbias=4 distance=5",
    "mha E=4 H=2 relbias=6 distance=5 bidirectional",
    "mha E=4 H=2 relbias=4 distance=5 sinks=learned bias=qkvo",
    "mha E=4 H=2 relbias=4 distance=5 sinks=one",
    "mha E=4 H=2 after=rms eps=0 bias=qkvo",
    "mha E=4 H=2 after=rms eps=1/3",
    "mha E=4 H=2 before=rms eps=0 bias=qkv",
    "mha E=5 H=2 D=2 before=layer eps=0",
    "mha E=5 H=2 D=2 before=layer+shift eps=1/3",
    "mha E=5 H=2 D=2 before=layer+shift eps=0 bias=qkvo",
    "gqa E=5 H=4 G=2 D=4 C=2 R=2 before=layer+shift eps=0 bias=qkv",
    "mha E=5 H=2 D=2 before=layer+shift eps=0 bias=qvo F=4",
    "mha E=5 H=2 D=2 before=layer after=layer+shift eps=0",
    "gqa E=5 H=4 G=2 D=2 C=2 R=all window=4",
    "mha E=5 H=2 D=3 C=2 tie=query=key bias=qk",
    "mha E=5 H=2 D=4 C=2 tie=query=key R=2",
    "gqa E=5 H=4 G=2 D=3 tie=key=value bias=kvo",
    "gqa E=5 H=4 G=2 D=4 tie=key=value R=2 bias=kvo",
    "gqa E=5 H=4 G=2 D=3 C=2 tie=heads bias=qkvo",
)


def check(spec: AttentionSpec, seed: int) -> None:
    count = count_block(spec)
    parameters, rank, gap = float_rank(spec, seed)
    assert gap > GAP, "no clear gap in the spectrum"
    assert (parameters, parameters - rank) == (count.parameters, count.unidentified)


@pytest.mark.parametrize("row", ROWS)
def test_rows(row: str) -> None:
    """The derived count of a variant would not be the rank that its outputs show."""
    check(parse_variant(row).layers[0].attention, seed=len(row))


def drawn(seeds: range, largest: int = SMALL) -> Iterator[tuple[int, AttentionSpec]]:
    """The random architectures that have a count and at most so many parameters."""
    for seed in seeds:
        try:
            spec = random_architecture(random.Random(seed))
            if count_block(spec).parameters <= largest:
                yield seed, spec
        except InputError:
            continue


def test_random_architectures() -> None:
    """Two features together would be counted as if they did not meet."""
    tested = 0
    for seed, spec in drawn(range(120)):
        check(spec, seed)
        tested += 1
    assert tested > 30


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_architectures(block: int) -> None:
    """The same over thousands of architectures."""
    for seed, spec in drawn(range(1000 * (block + 1), 1000 * (block + 2)), LARGE):
        check(spec, seed)


def test_the_count_at_zero_is_the_count_of_the_layer_with_zero() -> None:
    """The count beside the exact one would belong to another layer than the one with ε = 0."""
    for _, spec in drawn(range(200)):
        assert count_block(spec).unidentified_at_zero == count_block(at_zero(spec)).unidentified


def test_shapes_have_the_counted_parameters() -> None:
    """The evaluator would hold other parameters than those counted."""
    for _, spec in drawn(range(150)):
        sizes = 0
        for shape in parameter_shapes(spec).values():
            size = 1
            for length in shape:
                size *= length
            sizes += size
        assert sizes == count_block(spec).parameters
