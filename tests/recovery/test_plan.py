"""The published plan: counts, lengths, validity, draws."""

from __future__ import annotations

import hashlib

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.exceptions import InputError
from exactattn.numbers import to_matrix
from exactattn.recovery import PublishedPlan, TokenRange
from exactattn.recovery.draw import draw_vector
from exactattn.recovery.genericity import vectors_to_replace

plans = st.builds(
    PublishedPlan.draw,
    heads=st.integers(1, 5),
    dim=st.integers(1, 6),
    seed=st.integers(0, 10**9),
    tokens=st.builds(TokenRange, st.integers(1, 4), st.integers(4, 60), st.integers(1, 8)),
)


@settings(max_examples=60)
@given(plans)
def test_counts_and_lengths(plan: PublishedPlan) -> None:
    """Breaks: 4Hd² − 2H + 1 distinct queries of at most 2H + 1 tokens, from the plan itself."""
    queries = plan.queries()
    H, d = plan.heads, plan.dim
    assert len(queries) == len({q.key for q in queries}) == 4 * H * d * d - 2 * H + 1
    assert max(q.length for q in queries) == 2 * H + 1
    assert len(plan.probes) == 2 * d * d - 1


@settings(max_examples=60)
@given(plans)
def test_matrices_are_invertible(plan: PublishedPlan) -> None:
    """Breaks: assembly."""
    assert to_matrix(plan.b).det() != 0
    assert to_matrix(plan.u).det() != 0


@settings(max_examples=40)
@given(plans, st.data())
def test_redraw_replaces_what_failed_and_keeps_the_rest(plan: PublishedPlan, data: st.DataObject) -> None:
    """Breaks: redraws. Every failed probe changes; queries without the replaced vectors stay the same."""
    failed = data.draw(st.lists(st.sampled_from(plan.probes), min_size=1, max_size=4))
    replaced = vectors_to_replace(plan, failed)
    again = plan.redrawn(replaced)
    changed = {v for v in (("b", i) for i in range(1, plan.dim + 1)) if plan.b[v[1] - 1] != again.b[v[1] - 1]}
    changed |= {
        v for v in (("u", j) for j in range(1, plan.dim + 1)) if plan.u[v[1] - 1] != again.u[v[1] - 1]
    }
    assert replaced <= changed | {v for v, n in again.versions if n}
    for old, new in zip(plan.probes, again.probes, strict=True):
        same = (old.last, old.difference) == (new.last, new.difference)
        if old in failed:
            assert not same or plan.dim == 1
        if not old.vectors & changed:
            assert same


def test_draw_is_the_stated_hash() -> None:
    """Breaks: a stranger's re-derivation of the tokens from the seed (recomputed with hashlib)."""
    digest = hashlib.sha256(b"exactattn draw 1|7|u|2|1|0").digest()
    want = fmpq(int.from_bytes(digest, "big") % (2 * 20 + 1) - 20, 3)
    assert draw_vector(7, "u", 2, 1, 1, 10, 3) == (want,)


def test_small_ranges_still_give_a_valid_plan() -> None:
    """Breaks: vectors are replaced until B, U are invertible, before anything is asked."""
    for seed in range(30):
        plan = PublishedPlan.draw(2, 4, seed, TokenRange(1, 1))
        assert to_matrix(plan.b).det() != 0


@pytest.mark.parametrize("arguments", [(0, 2), (2, 0), (10**6, 10**6)])
def test_bad_sizes_are_named(arguments: tuple[int, int]) -> None:
    """Breaks: one clear sentence instead of a memory error."""
    with pytest.raises(InputError):
        PublishedPlan.draw(*arguments, 0, TokenRange(1, 8))
