"""Options of the tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Before numpy is imported: matrices in tests are small, and BLAS threads would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-goldens", action="store_true", help="Write tests/identify/goldens.json anew."
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "crosscheck: compares with another library, needs an extra")


# A slow or busy machine must not fail a test: times are for benchmarks.
settings.register_profile("exactattn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("exactattn")
