"""Options of the identification tests."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-goldens", action="store_true", help="Write tests/identify/goldens.json anew."
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "crosscheck: compares with another library, needs an extra")
