"""Every row of the tables of theory, section 8, certified; the checker; what cannot be certified."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq
from jsonschema import Draft202012Validator
from rank_variants import CASES, SHARED, VARIANTS, biases, latent, layer, normed, of, rms, rotary

from exactattn import checker
from exactattn.checker import check_data
from exactattn.exceptions import CertificateError, PrecisionExhausted
from exactattn.identify import AttentionSpec, count_block
from exactattn.identify.parameters import parameter_count
from exactattn.identify.rank_certificate import RankCertificate, certify_count, rank_schema
from exactattn.identify.rank_witness import rank_witness
from exactattn.identify.real_point import confirmed_in_balls

NAMES = [name for name, _ in CASES]
SPECS = [spec for _, spec in CASES]


def slow_beyond(parameters: int, spec: AttentionSpec) -> Any:
    """The larger sizes of a row are for the slow suite."""
    return spec if parameter_count(spec) <= parameters else pytest.param(spec, marks=pytest.mark.slow)


def rechecked(certificate: RankCertificate) -> checker.Verdict:
    return check_data(json.loads(json.dumps(certificate.content)))


def test_each_row_has_three_sizes() -> None:
    """A row certified at fewer sizes would fall short of what is promised."""
    for row, specs in VARIANTS.items():
        assert len({(s.width, s.heads, s.groups, s.head_size, s.value_size) for s in specs}) >= 3, row


@pytest.mark.parametrize("spec", [slow_beyond(130, spec) for spec in SPECS], ids=NAMES)
def test_count_is_proved(spec: AttentionSpec) -> None:
    """The printed count and the certified rank are worked out apart: one of them would be wrong."""
    witness, count = rank_witness(spec), count_block(spec)
    assert witness.at_least == witness.at_most == count.identified
    assert witness.parameters == count.parameters


@pytest.mark.parametrize("spec", [slow_beyond(60, spec) for spec in SPECS], ids=NAMES)
def test_checker_accepts(spec: AttentionSpec) -> None:
    """The checker has its own layer, symmetries and elimination; where they disagree it refuses."""
    certificate = certify_count(spec, deterministic=True)
    verdict = rechecked(certificate)
    assert (verdict.code, certificate.verdict) == (0, "proved"), verdict.reason
    assert verdict.reason == f"{certificate.at_least} of {certificate.parameters} parameters are identified"


@pytest.mark.parametrize("row", sorted(VARIANTS))
def test_checker_accepts_solutions(row: str) -> None:
    """The same by solutions instead of elimination."""
    assert rechecked(certify_count(VARIANTS[row][0], deterministic=False)).code == 0


@pytest.mark.parametrize("row", sorted(VARIANTS))
def test_balls_confirm(row: str) -> None:
    """Interval elimination at a real point, without any prime: the specialisation would be unsound."""
    spec = min(VARIANTS[row], key=parameter_count)
    assert confirmed_in_balls(rank_witness(spec))


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS, ids=NAMES)
def test_balls_confirm_all(spec: AttentionSpec) -> None:
    """The same at all sizes."""
    assert confirmed_in_balls(rank_witness(spec))


def test_balls_refuse_dependent_rows() -> None:
    """Outputs of single tokens show no scores: balls must not call their rows independent."""
    witness = rank_witness(of(2, 1))
    point = replace(witness.point, sizes=((1, 0),) * 4, versions=((0,) * 4,) * 2)
    with pytest.raises(PrecisionExhausted):
        confirmed_in_balls(replace(witness, point=point, rows=tuple(range(8))), bits=512)


def test_probability_is_stated() -> None:
    """Solutions to hashed systems prove up to a stated probability; hiding it would overstate the proof."""
    spec = of(4, 2, **biases("qk"))
    sure, likely = certify_count(spec), certify_count(spec, deterministic=False)
    assert sure.content["solutions"] is None
    assert [h["status"] for h in sure.content["hypotheses"]].count("verified with probability") == 0
    stated = next(h["text"] for h in likely.content["hypotheses"] if h["id"] == "invertible")
    assert "2^-120" in stated
    assert rechecked(likely).code == 0


def test_undecided_counts_give_both_numbers() -> None:
    """A symmetry that is not known (here, layer norm on a latent) must leave the verdict open, not wrong."""
    spec = of(4, 2, key_value_latent=latent(3, layer()))
    certificate = certify_count(spec)
    assert certificate.verdict == "unknown"
    assert confirmed_in_balls(rank_witness(spec))
    assert certificate.at_least < certificate.at_most
    verdict = rechecked(certificate)
    assert verdict.code == 0
    assert verdict.reason.startswith(f"between {certificate.at_least} and {certificate.at_most} of ")


@pytest.mark.parametrize(
    "spec",
    [
        of(4, 2, head_size=1, query_key_norm=normed(SHARED, rms())),
        of(2, 1, norm_before=layer()),
        of(1, 1, head_size=1, norm_after=rms()),
    ],
)
def test_norms_of_too_few_numbers_are_not_certified(spec: AttentionSpec) -> None:
    """The roots of such norms are rational, so a choice of roots modulo p would not be free."""
    with pytest.raises(CertificateError, match="at least"):
        certify_count(spec)


def test_another_seed_proves_the_same() -> None:
    """Bounds that depend on the seed would be no bounds."""
    spec = of(4, 2, rotary=rotary(2), **biases("qkvo"))
    found = {(c.at_least, c.at_most) for c in (certify_count(spec, seed=seed) for seed in range(1, 6))}
    assert found == {(count_block(spec).identified,) * 2}


def test_checker_folder_runs_alone(tmp_path: Path) -> None:
    """A copy of the folder needs nothing but Python: an import of the package would fail here."""
    shutil.copytree(Path(checker.__file__).parent, tmp_path / "alone")
    certificate = certify_count(of(4, 2, rotary=rotary(2, base=fmpq(10000))))
    certificate.write(tmp_path / "rank.json")
    command = [sys.executable, "-S", "-E", "-m", "alone", "rank.json"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout == "valid: rank.json: 52 of 64 parameters are identified\n", run.stderr
    assert run.returncode == 0


@pytest.mark.parametrize("row", sorted(VARIANTS))
def test_schema_describes_certificates(row: str) -> None:
    """The published schema and the writer must name the same fields and values."""
    validator = Draft202012Validator(rank_schema())
    content = certify_count(VARIANTS[row][0], deterministic=False).content
    assert sorted(error.message for error in validator.iter_errors(content)) == []
    for key in content:
        if key not in ("made_by", "statement", "does_not_establish"):
            assert not validator.is_valid({k: x for k, x in content.items() if k != key})
    assert not validator.is_valid({**content, "added": 1})
    assert not validator.is_valid({**content, "spec": {**content["spec"], "added": 1}})


@pytest.mark.slow
def test_five_thousand_parameters(tmp_path: Path) -> None:
    """The promised size: a certificate below 1 MB, re-checked without elimination."""
    certificate = certify_count(of(36, 4))
    assert (certificate.verdict, certificate.parameters, certificate.at_least) == ("proved", 5184, 4536)
    certificate.write(tmp_path / "rank.json")
    assert (tmp_path / "rank.json").stat().st_size < 1_000_000
    assert rechecked(certificate).code == 0


@pytest.mark.slow
def test_five_hundred_parameters_without_probability() -> None:
    """The promised deterministic size."""
    certificate = certify_count(of(11, 1, **biases("qkvo")))
    assert (certificate.parameters, certificate.content["solutions"]) == (528, None)
    assert rechecked(certificate).code == 0
