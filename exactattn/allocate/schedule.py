"""Progressive head schedules: how many heads each layer of a model has, and the rules they should keep.

The rules are those of the published progressive schedules (arXiv 2606.27449): head counts divide the width,
never fall, end at the base count, at least half the layers have it, and every stage before it is 2 to 4
layers long. "3,3,6,6,8,8,12x6" is 3 heads in two layers, 6 in two, 8 in two, 12 in six.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from types import MappingProxyType

from exactattn.exceptions import InputError

__all__ = ["PUBLISHED", "HeadSchedule", "Rule"]

MAX_LAYERS = 10_000
MAX_WIDTH = 10**9
SHORTEST_STAGE, LONGEST_STAGE = 2, 4

_PART = re.compile(r"([0-9]{1,9})(?:\s*[x×*]\s*([0-9]{1,5}))?")


@dataclass(frozen=True)
class Rule:
    """One rule: what it says, whether the schedule keeps it, and where it does not.

    ``by_definition``: it holds only because nothing else was given (the base count is the last one).
    """

    name: str
    says: str
    holds: bool
    detail: str
    by_definition: bool = False


@dataclass(frozen=True)
class HeadSchedule:
    """Head counts of the layers, from the first to the last, in a model of a given width.

    ``base``: the head count the schedule should end at; None takes the last one.

    >>> schedule = HeadSchedule.parse("3,3,6,6,8,8,12x6", width=768)
    >>> schedule.layers, sum(schedule.heads), all(rule.holds for rule in schedule.rules())
    (12, 106, True)
    """

    width: int
    heads: tuple[int, ...]
    base: int | None = None
    name: str = ""

    @classmethod
    def parse(cls, text: str, width: int, base: int | None = None) -> HeadSchedule:
        """From head counts separated by commas, each with "x" and a number of layers if it repeats.

        Raises InputError for other text, and for sizes out of range.
        """
        heads: list[int] = []
        for part in text.split(","):
            match = _PART.fullmatch(part.strip())
            if match is None:
                raise InputError(
                    f"{part.strip()[:40]!r} is not a head count; write for example 3,3,6,6,8,8,12x6",
                    field="schedule",
                )
            heads += [int(match[1])] * min(int(match[2] or 1), MAX_LAYERS + 1)
            if len(heads) > MAX_LAYERS:
                raise InputError(f"has more than {MAX_LAYERS} layers", field="schedule")
        return cls(width, tuple(heads), base)

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MAX_WIDTH:
            raise InputError(f"must be from 1 to 10⁹, not {self.width}", field="width")
        if not self.heads:
            raise InputError("has no layers; write for example 3,3,6,6,8,8,12x6", field="schedule")
        for count in (*self.heads, *([] if self.base is None else [self.base])):
            if not 1 <= count <= self.width:
                raise InputError(
                    f"a layer of width {self.width} cannot have {count} heads; use 1 to {self.width}",
                    field="schedule",
                )

    @property
    def layers(self) -> int:
        """L, the number of layers."""
        return len(self.heads)

    @property
    def base_heads(self) -> int:
        """The head count the schedule should end at."""
        return self.heads[-1] if self.base is None else self.base

    @property
    def stages(self) -> tuple[tuple[int, int], ...]:
        """(head count, layers) of each run of equal layers."""
        return tuple((count, len(list(run))) for count, run in groupby(self.heads))

    @property
    def text(self) -> str:
        """The schedule in the notation that :meth:`parse` reads."""
        return ",".join(f"{count}x{length}" if length > 1 else str(count) for count, length in self.stages)

    def uniform(self) -> HeadSchedule:
        """The layout it is compared with: the base head count in every layer."""
        return HeadSchedule(self.width, (self.base_heads,) * self.layers, self.base_heads, "uniform")

    def rules(self) -> tuple[Rule, ...]:
        """The five rules, kept or broken."""
        base = self.base_heads
        unfit = sorted({h for h in self.heads if self.width % h})
        falls = [f"{a} then {b}" for a, b in pairwise(self.heads) if b < a]
        at_base = self.heads.count(base)
        stages = [(h, n) for h, n in self.stages if h != base]
        wrong = [f"{n} of {h} heads" for h, n in stages if not SHORTEST_STAGE <= n <= LONGEST_STAGE]
        return (
            Rule(
                "divisible",
                f"every head count divides the width {self.width}",
                not unfit,
                f"{', '.join(map(str, unfit))} do not" if unfit else "all do",
            ),
            Rule(
                "monotone",
                "head counts never fall from layer to layer",
                not falls,
                ", ".join(falls) if falls else "none falls",
            ),
            Rule(
                "ends at base",
                f"the last layer has the base count {base}",
                self.heads[-1] == base,
                f"it has {self.heads[-1]}",
                by_definition=self.base is None,
            ),
            Rule(
                "half at base",
                "at least half the layers have the base count",
                2 * at_base >= self.layers,
                f"{at_base} of {self.layers}",
            ),
            Rule(
                "stage length",
                f"every stage before the base has {SHORTEST_STAGE} to {LONGEST_STAGE} layers",
                not wrong,
                ", ".join(wrong) if wrong else f"{len(stages)} stages",
                by_definition=not stages,
            ),
        )


def _published() -> Mapping[str, HeadSchedule]:
    """The three schedules of arXiv 2606.27449 by the number of parameters of their models."""
    rows = {
        "prism-124m": ("3x2,6x2,8x2,12x6", 768, 12),
        "prism-354m": ("4x3,8x3,16x18", 1024, 16),
        "prism-757m": ("6x3,12x3,16x18", 1536, 16),
    }
    found = {}
    for name, (text, width, base) in rows.items():
        parsed = HeadSchedule.parse(text, width, base)
        found[name] = HeadSchedule(width, parsed.heads, base, name)
    return MappingProxyType(found)


PUBLISHED = _published()
