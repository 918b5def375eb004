"""Certificates of every kind of lattice run: written, accepted, and refused with one clear sentence."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq

from exactattn.certificate import general_certificate, lattice_certificate, write_certificate
from exactattn.certificate.report import Report, report_html
from exactattn.checker import check_data
from exactattn.exceptions import CertificateError
from exactattn.model import Attention, Head, evaluate, random_layer
from exactattn.model.affine import AffineAttention, AffineHead
from exactattn.model.vector import VectorAttention, VectorHead
from exactattn.oracle import ExactOracle
from exactattn.oracle.affine import AffineOracle
from exactattn.recovery import recover
from exactattn.recovery.outputs import recover_outputs

STAGED = ("optimal", "consistent")


def low_rank(heads: int, dim: int, rank: int, seed: int, *, bias: bool) -> Attention | AffineAttention:
    """Heads of small integers; W = AB of rank at most ``rank``, with a query bias if wanted."""
    rng = random.Random(f"{heads} {dim} {rank} {seed}")
    found = []
    for _ in range(heads):
        A = [[rng.randint(-3, 3) for _ in range(rank)] for _ in range(dim + bias)]
        B = [[rng.randint(-3, 3) for _ in range(dim)] for _ in range(rank)]
        W = [[sum(x * row[j] for x, row in zip(a, B, strict=True)) for j in range(dim)] for a in A]
        found.append((W, [rng.randint(1, 5) * rng.choice((-1, 1)) for _ in range(dim)]))
    if bias:
        return AffineAttention.of([AffineHead.of(W, v) for W, v in found], fmpq(3, 2))
    return Attention.of([Head.of(W, v) for W, v in found])


def run(layer: Attention | AffineAttention, bound: int | None, **options: Any) -> Any:
    if isinstance(layer, AffineAttention):
        return recover(AffineOracle(layer), bound, bias=True, **options)
    return recover(ExactOracle(layer), bound, **options)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("method", STAGED)
@pytest.mark.parametrize("rank", [1, 2, "auto", None])
def test_ranks(method: str, rank: Any, bias: bool) -> None:
    """Breaks: runs with a given or unknown rank, half probes, shared probes, with and without biases."""
    for heads, dim in ((1, 2), (2, 3), (3, 4)):
        of_rank = {"auto": 2, None: dim}.get(rank, rank)
        layer = low_rank(heads, dim, min(of_rank, dim), 1, bias=bias)
        content = general_certificate(run(layer, heads, method=method, rank=rank), layer)
        assert check_data(content).code == 0
        assert content["queries"] == content["planned"] + len(content["others"])
        assert content["rank"] <= of_rank
        if rank == "auto":
            assert content["planned"] >= content["formula"]
        else:
            assert content["planned"] == content["formula"]


@pytest.mark.parametrize("method", [*STAGED, "published"])
def test_heads_found_out(method: Any) -> None:
    """Breaks: runs without a bound; the certificate says how many heads would have been seen."""
    for bias in (False, True):
        layer = low_rank(2, 2, 2, 3, bias=bias)
        content = general_certificate(run(layer, None, method=method), layer)
        assert content["counted"] >= 2 * len(content["heads"]) + 2
        assert any("has exactly the poles and residues" in text for text in content["statement"])


@pytest.mark.parametrize("method", [*STAGED, "published"])
def test_fewer_heads_than_the_bound(method: Any) -> None:
    """Breaks: a bound above the number of heads leaves the hypothesis that all were seen."""
    content = general_certificate(run(random_layer(1, 2, seed=1), 2, method=method))
    assert {h["id"]: h["status"] for h in content["hypotheses"]}["all-heads-seen"] == "assumed"


@pytest.mark.parametrize("method", [*STAGED, "published"])
def test_several_outputs(method: Any) -> None:
    """Breaks: layers with vectors as answers, every output reproduced."""
    layer = VectorAttention.of(
        [
            VectorHead.of([[1, 2], [3, 4]], [[1, 0], [2, 5]]),
            VectorHead.of([[0, 2], [-3, 1]], [[1, 7], [0, 5]]),
        ]
    )
    units = [(fmpq(1), fmpq(0)), (fmpq(0), fmpq(1))]
    found = recover_outputs(
        lambda q, s: [evaluate(layer.output(e), q, s) for e in units], 2, 2, 2, method=method
    )
    content = lattice_certificate(found, layer)
    assert len(content["answers"]) == 2
    other = VectorAttention.of([layer.heads[0], VectorHead.of([[0, 2], [-3, 1]], [[1, 7], [0, 6]])])
    with pytest.raises(CertificateError, match="canonical form"):
        lattice_certificate(found, other)


def test_heads_with_equal_outputs() -> None:
    """Breaks: two heads share v, so that the published method takes over; its certificate lists what the
    other method asked before."""
    layer = Attention.of([Head.of([[1, 2], [3, 1]], [1, 2]), Head.of([[0, 4], [-1, 2]], [1, 2])])
    content = lattice_certificate(run(layer, 2, method="optimal"), layer)
    assert (content["method"], content["version"]) == ("published", 2)
    assert content["others"]


def test_versions() -> None:
    """Breaks: plain published runs keep version 1; duplicates and denominators work in version 2."""
    layer = random_layer(4, 2, seed=8, duplicates=2, denominator=6)
    for method, version in (("published", 1), ("optimal", 2), ("consistent", 2)):
        result = recover(ExactOracle(layer), 2, method=method, denominator=6)  # type: ignore[arg-type]
        content = lattice_certificate(result, layer)
        assert content["version"] == version
        assert len(content["heads"]) == 2


def test_report_shows_them(tmp_path: Path) -> None:
    """Breaks: the page does not show a certificate of version 2, or has no chart of its exponents."""
    files = []
    for name, layer, options in (
        ("staged", low_rank(2, 3, 1, 1, bias=True), {"method": "optimal", "rank": 1}),
        ("published", low_rank(2, 2, 2, 3, bias=True), {"method": "published"}),
    ):
        files.append(tmp_path / f"{name}.json")
        write_certificate(lattice_certificate(run(layer, 2, **options)), files[-1])
    page = report_html(Report.of(certificates=files))
    assert page.count('aria-label="poles of the recovery"') == 2
    assert "matrices of rank at most 1" in page


def test_what_cannot_be_certified_is_named() -> None:
    """Breaks: one clear sentence for runs over balls, the zero function, and another layer."""
    layer = random_layer(2, 2, seed=1)
    with pytest.raises(CertificateError, match="exact answers"):
        general_certificate(recover(ExactOracle(layer), 2, method="optimal", numbers="balls"))
    for bound in (1, None):
        with pytest.raises(CertificateError, match="no heads were seen"):
            general_certificate(recover(ExactOracle(Attention.of([], 2)), bound, method="optimal"))
    with pytest.raises(CertificateError, match="canonical form"):
        general_certificate(recover(ExactOracle(layer), 2, method="optimal"), random_layer(2, 2, seed=2))
