"""The bar chart of identified shares."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from published_configs import CONFIGS

from exactattn.exceptions import InputError
from exactattn.identify import count_model, identified_chart, read_config
from exactattn.identify.notation import percent_text

pytest.importorskip("matplotlib")


def test_one_bar_a_model_with_its_share() -> None:
    """A model would be missing from the chart, or shown with another share than counted."""
    models = [count_model(read_config(path)) for path in CONFIGS[:6]]
    text = identified_chart(models)
    assert ElementTree.fromstring(text).tag.endswith("svg")
    for model in models:
        assert f">{model.model.name}<" in text
        assert f">{percent_text(model.ratio)}<" in text
    assert identified_chart(models) == text


def test_no_models() -> None:
    """An empty chart would be drawn."""
    with pytest.raises(InputError, match="at least one model"):
        identified_chart([])
