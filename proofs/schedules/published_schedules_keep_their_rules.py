"""P-4: the three published schedules keep the rules of the paper."""

from sympy import Integer

from exactattn.allocate import PUBLISHED, HeadSchedule
from exactattn.ledger import Claim, Outcome, Paper, Verdict, cases, equal, holds, proved_for

# the ablation's ramps before layers of 12 heads, width 768, and the rules they break
ABLATION = {
    "3,6,8,12x9": {"stage length"},
    "6,6,8,8,12x8": set(),
    "4,4,8,8,12x8": set(),
    "6x4,12x8": set(),
    "2,4,6,8,12x8": {"stage length"},
    "3,3,6,6,12x8": set(),
    "2,2,4,4,8,8,12x6": set(),
}


def broken(text: str) -> set[str]:
    return {rule.name for rule in HeadSchedule.parse(text, 768, 12).rules() if not rule.holds}


def establish() -> Outcome:
    steps = []
    for name, schedule in PUBLISHED.items():
        for rule in schedule.rules():
            steps.append(holds(f"{name}: {rule.says}", rule.holds, rule.detail))
        steps.append(
            equal(f"{name}: its first heads have size 256", Integer(schedule.width) / schedule.heads[0], 256)
        )
    steps.append(
        cases(
            "a schedule that falls, ends early or has unfit heads is recognised",
            ("8,8,6,6,12x8", "6,6,12x7,6", "5,5,12x10", "3x4,6x4,12x4"),
            lambda text: bool(broken(text)),
        )
    )
    steps.append(
        cases(
            "of the seven other ramps of the ablation two break the rule on stages, and no other rule",
            ABLATION,
            lambda text: broken(text) == ABLATION[text],
        )
    )
    return proved_for(
        [f"{name}: {schedule.text}, width {schedule.width}" for name, schedule in PUBLISHED.items()],
        "each rule evaluated on each schedule",
        steps,
    )


claim = Claim(
    id="P-4",
    paper=Paper.SCHEDULES,
    place="rules of a schedule, table of the three models",
    says="The three published schedules keep the paper's rules: head counts divide the width, never fall, "
    "end at the base count, at least half the layers have it, stages are 2 to 4 layers long.",
    hypotheses=["the rule on stages is about those before the base count, whose stage is half the model"],
    establish=establish,
    expected=Verdict.PROVED_FOR,
    does_not_establish=[
        "that the rules help: the ablation has no falling schedule and no uniform one of few heads"
    ],
)
