"""Where the published configs and their goldens are, for several tests."""

from __future__ import annotations

from pathlib import Path

from exactattn.identify import AttentionSpec, Count, read_config

HERE = Path(__file__).parent
CONFIGS = sorted((HERE / "configs").glob("*.json"))
GOLDENS = HERE / "goldens.json"


def config(name: str) -> Path:
    """The file of one model."""
    return HERE / "configs" / f"{name}.json"


def load(name: str) -> list[AttentionSpec]:
    """The different layers of a published model."""
    return [group.attention for group in read_config(config(name)).layers]


def part(count: Count, name: str, *, at_zero: bool = False) -> int:
    """Unidentified numbers of the parts with this beginning of a name; 0 if the layer has none."""
    return sum(
        count.number(each.unidentified_at_zero if at_zero else each.unidentified)
        for each in count.parts
        if each.name.startswith(name)
    )
