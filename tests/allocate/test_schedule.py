"""Head schedules: notation, rules, and what the ablation's schedules break."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactattn.allocate import PUBLISHED, HeadSchedule, schedule_chart
from exactattn.exceptions import InputError


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20))
def test_text_and_schedule(heads: list[int]) -> None:
    """Breaks: the notation; a schedule written down is read back."""
    schedule = HeadSchedule(12, tuple(heads))
    assert HeadSchedule.parse(schedule.text, 12).heads == schedule.heads
    assert HeadSchedule.parse(", ".join(map(str, heads)), 12).heads == schedule.heads


def test_signs_for_times() -> None:
    """Breaks: x, × and * all mean layers."""
    assert HeadSchedule.parse("2x2, 4 × 3,8*1", 8).heads == (2, 2, 4, 4, 4, 8)


@pytest.mark.parametrize(
    ("text", "width", "base", "broken"),
    [
        ("3,3,6,6,8,8,12x6", 768, 12, set()),
        ("12x12", 768, 12, set()),
        ("5,5,12,12", 768, 12, {"divisible"}),
        ("8,8,6,6,12x4", 768, 12, {"monotone"}),
        ("3,3,6,6", 768, 12, {"ends at base", "half at base"}),
        ("3,3,6,6,8,8,12x5", 768, 12, {"half at base"}),
        ("3,6,8,12x9", 768, 12, {"stage length"}),
        ("6x5,12x7", 768, 12, {"stage length"}),
        ("7,6,12", 12, 24 // 2, {"divisible", "monotone", "half at base", "stage length"}),
    ],
)
def test_each_rule_can_be_broken(text: str, width: int, base: int, broken: set[str]) -> None:
    """Breaks: a rule that never fails, or that fails together with another."""
    schedule = HeadSchedule.parse(text, width, base)
    assert {rule.name for rule in schedule.rules() if not rule.holds} == broken
    assert not next(rule for rule in schedule.rules() if rule.name == "ends at base").by_definition


def test_what_holds_by_definition_is_marked() -> None:
    """Breaks: without a base the last head count is taken, so that rule says nothing."""
    rules = {rule.name: rule for rule in HeadSchedule.parse("3,3,12,12", 768).rules()}
    assert rules["ends at base"].by_definition
    assert rules["ends at base"].holds
    uniform = {rule.name: rule for rule in HeadSchedule.parse("12x4", 768, 12).rules()}
    assert uniform["stage length"].by_definition


@pytest.mark.parametrize(
    ("text", "width", "base", "message"),
    [
        ("3,,6", 768, None, "'' is not a head count"),
        ("three", 768, None, "'three' is not a head count"),
        ("-3", 768, None, "'-3' is not a head count"),
        ("0,3", 768, None, "cannot have 0 heads"),
        ("3x0", 768, None, "has no layers"),
        ("9", 8, None, "a layer of width 8 cannot have 9 heads"),
        ("3x99999", 8, None, "has more than 10000 layers"),
        ("3", 0, None, "must be from 1 to"),
        ("3", 8, 0, "cannot have 0 heads"),
        ("12x6y", 768, None, "is not a head count"),
    ],
)
def test_what_is_no_schedule(text: str, width: int, base: int | None, message: str) -> None:
    """Breaks: one sentence for each way to be no schedule."""
    with pytest.raises(InputError, match=message):
        HeadSchedule.parse(text, width, base)


def test_the_chart_is_the_same_each_time() -> None:
    """Breaks: a picture without labels, or one that changes; gaps where a share is not defined."""
    text = schedule_chart(PUBLISHED["prism-124m"])
    assert text == schedule_chart(PUBLISHED["prism-124m"])
    for label in ("heads", "exponentials / T²", "unidentified, %", "uniform", "prism-124m"):
        assert label in text
    assert "<svg" in schedule_chart(HeadSchedule.parse("5,8", 8))
