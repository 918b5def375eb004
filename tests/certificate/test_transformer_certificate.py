"""Certificates of Transformers as the package writes and shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from exactattn.certificate import digest, read_certificate, transformer_certificate, write_certificate
from exactattn.certificate.report import Report, report_html
from exactattn.exceptions import CertificateError
from exactattn.model.random_transformer import random_transformer
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery.relu import TransformerRecovery, recover_transformer

MODEL = random_transformer(1, 2, 2, seed=2)


@pytest.fixture(scope="module")
def result() -> TransformerRecovery:
    return recover_transformer(TransformerOracle(MODEL), 1, neurons=2)


def test_written_read_and_shown(result: TransformerRecovery, tmp_path: Path) -> None:
    """Breaks: a file that is written is not the certificate, or the page lacks its statement or its walk."""
    content = transformer_certificate(result, MODEL)
    write_certificate(content, tmp_path / "c.json")
    assert read_certificate(tmp_path / "c.json") == content
    assert content["digest"] == digest({key: x for key, x in content.items() if key != "digest"})
    page = report_html(Report.of(certificates=[tmp_path / "c.json"]))
    assert page.count('aria-label="walk of the recovery"') == 1
    assert "functionally equal under the stated hypotheses" in page
    assert "with at most 1 heads followed by a ReLU network without biases" in page


def test_content_is_the_run(result: TransformerRecovery) -> None:
    """Breaks: queries are left out, or pieces and regions are not those of the run."""
    content = transformer_certificate(result)
    assert content["queries"] == result.queries == len(content["asked"])
    assert len(content["pieces"]) == len(content["regions"]) == len(result.form.kinks) + 1
    assert content["attention"]["queries"] == 15
    assert content["model"] is None


def test_what_cannot_be_certified_is_named(result: TransformerRecovery) -> None:
    """Breaks: one clear sentence where completeness is unknown, where weights were frozen, and for another
    function."""
    with pytest.raises(CertificateError, match="state --neurons or --kink-spacing"):
        transformer_certificate(recover_transformer(TransformerOracle(MODEL), 1))
    with pytest.raises(CertificateError, match="not the model's"):
        transformer_certificate(result, random_transformer(1, 2, 2, seed=3))
    hidden = random_transformer(2, 3, 3, seed=1, plant="zero block sum")
    frozen = recover_transformer(TransformerOracle(hidden), 2, neurons=len(hidden.canonical().kinks))
    assert frozen.matches(hidden)
    with pytest.raises(CertificateError, match="frozen weights"):
        transformer_certificate(frozen, hidden)
