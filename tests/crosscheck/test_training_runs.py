"""Short training runs: what the proved laws say must show up to rounding, and what breaks them must too."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from exactattn.certificate.report import Report, read_training, report_html, report_markdown
from exactattn.cli import command_line
from exactattn.crosscheck.training import experiments, figures, run_all, store, train
from exactattn.crosscheck.training.character_model import CharacterModel, Shape
from exactattn.crosscheck.training.text import Text
from exactattn.exceptions import InputError

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

pytestmark = pytest.mark.crosscheck

SEEDS, STEPS = 2, 60
(PAPER,) = experiments(["optimisers"], seeds=SEEDS, steps=STEPS)
OPTIMISERS = replace(PAPER, runs=tuple(replace(run, record_every=6, batch=4) for run in PAPER.runs))
TINY = replace(OPTIMISERS.runs[0], heads=(2,), width=8, context=8, batch=4, steps=4, record_every=2)


def of_heads(run: Any, name: str) -> list[float]:
    """A measure of all heads of all layers at all records."""
    return [x for record in run["records"] for layer in record["layers"] for x in layer[name]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The four runs of the identification paper, short, by name."""
    found = run_all([OPTIMISERS], tmp_path_factory.mktemp("runs"), workers=1)["optimisers"]
    return {seeds[0]["settings"]["label"]: seeds for seeds in found}


@pytest.mark.parametrize("label", ["SGD", "SGD with decay"])
def test_balance_of_gradient_descent_follows_its_law(runs: dict[str, list[Any]], label: str) -> None:
    """B ← (1 − ηλ)² B + η²(…) is proved (I-5.3-step); a run off it would mean wrong gradients or measures."""
    for run in runs[label]:
        assert max(of_heads(run, "law")) < 1e-12
        assert max(of_heads(run, "drift")) > 1e-6  # there is something to predict


def test_updates_of_gradient_descent_avoid_the_free_directions(runs: dict[str, list[Any]]) -> None:
    """Gradients are orthogonal to changes of basis (I-5.1, I-5.1-biases); Adam's steps are not."""
    for plain, adam in zip(runs["SGD"], runs["AdamW"], strict=True):
        assert max(of_heads(plain, "rho")) < 1e-20
        assert statistics.fmean(of_heads(adam, "rho")) > 1e-3


def test_adam_moves_the_balance_and_gradient_descent_hardly(runs: dict[str, list[Any]]) -> None:
    """The paper's observation, at every seed of a short run."""
    for plain, adam in zip(runs["SGD"], runs["AdamW"], strict=True):
        last = [
            statistics.fmean(x for layer in run["records"][-1]["layers"] for x in layer["drift"])
            for run in (plain, adam)
        ]
        assert last[1] > 3 * last[0]


def test_key_bias_gradients_vanish(runs: dict[str, list[Any]]) -> None:
    """They are exactly 0 (I-5.3-key-bias): more than rounding would be an error of the model."""
    for seeds in runs.values():
        for run in seeds:
            assert (
                max(of_heads(run, "key_bias_gradient"))
                < 1e-14 * max(of_heads(run, "query_bias_gradient")) + 1e-16
            )
            assert max(of_heads(run, "query_bias_gradient")) > 1e-4


def test_rebalancing_sets_beta_to_zero_and_keeps_the_loss(runs: dict[str, list[Any]]) -> None:
    """I-5.2 in floating point: the loss moves by rounding only, and β right after is 0."""
    for run in runs["AdamW, rebalanced"]:
        assert run["largest_rebalancing_change"] < 1e-12
        # rebalanced after step 6k − 1, so record 6k sees fresh weights
        for record in run["records"]:
            if record["step"] and record["step"] % 6 == 0:
                assert max(x for layer in record["layers"] for x in layer["beta"]) < 1e-12


def test_loss_falls(runs: dict[str, list[Any]]) -> None:
    """A model that learns nothing would show nothing."""
    for seeds in runs.values():
        for run in seeds:
            assert run["records"][-1]["held_out"] < run["records"][0]["held_out"] - 0.5


def test_drift_of_a_step_is_of_second_order() -> None:
    """Half the rate, a quarter of the drift of one step, to rounding (I-5.3-step)."""
    wide, narrow = (train(replace(TINY, rate=rate, steps=1)) for rate in (0.5, 0.25))
    for a, b in zip(*(run["records"][0]["layers"][0]["drift"] for run in (wide, narrow)), strict=True):
        assert a == pytest.approx(4 * b, rel=1e-9)


def test_same_seed_same_run() -> None:
    """Seeds are stored so that a figure can be had again."""
    first, second, other = train(TINY), train(TINY), train(replace(TINY, seed=1))
    assert first["records"] == second["records"] != other["records"]


def test_letters_do_not_see_the_future() -> None:
    """A leaking mask would make the loss meaningless."""
    model = CharacterModel(Shape(8, (2, 1), 6), letters=5, seed=0)
    letters = torch.tensor([[0, 1, 2, 3, 4, 0], [0, 1, 2, 4, 3, 3]])
    first, second = model.logits(letters).detach()
    assert torch.equal(first[:3], second[:3])
    assert not torch.equal(first[3:], second[3:])


def test_text_is_split_without_overlap() -> None:
    """Held-out text that is trained on would hold nothing out."""
    text = Text.drawn(50)
    assert text.training + text.held_out == text.numbers
    assert "".join(text.alphabet[k] for k in text.numbers) == text.letters


def test_finished_runs_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours of training would be lost with an interrupted run."""
    chosen = [replace(OPTIMISERS, runs=(TINY,), seeds=(0, 1))]
    made = []
    monkeypatch.setattr(store, "train", lambda run: made.append(run.seed) or train(run))
    first = run_all(chosen, tmp_path, workers=1)
    (tmp_path / "optimisers" / replace(TINY, seed=1).file_name).unlink()
    assert run_all(chosen, tmp_path, workers=1)["optimisers"][0][0] == first["optimisers"][0][0]
    assert made == [0, 1, 1]
    assert not list(tmp_path.rglob("*.tmp"))


def test_interrupted_runs_leave_no_half_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-written file would be taken for a finished run."""

    def broken(run: Any) -> Any:
        if run.seed == 1:
            raise KeyboardInterrupt
        return train(run)

    monkeypatch.setattr(store, "train", broken)
    with pytest.raises(KeyboardInterrupt):
        run_all([replace(OPTIMISERS, runs=(TINY,), seeds=(0, 1))], tmp_path, workers=1)
    assert [path.name for path in (tmp_path / "optimisers").iterdir()] == ["sgd-seed-0.json"]


@pytest.mark.parametrize("content", ["", "{}", '{"format": "exactattn training run", "settings": {}}', "[1]"])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    """Figures of other settings must not be mixed in."""
    (tmp_path / "optimisers").mkdir()
    (tmp_path / "optimisers" / TINY.file_name).write_text(content)
    with pytest.raises(InputError, match="remove it, or choose another folder"):
        run_all([replace(OPTIMISERS, runs=(TINY,), seeds=(0,))], tmp_path, workers=1)


def test_figures_are_means_and_spreads_over_seeds(runs: dict[str, list[Any]]) -> None:
    """A figure that is not the statistic it says would mislead."""
    found = figures([OPTIMISERS], {"optimisers": list(runs.values())})["experiments"][0]["runs"]
    losses = [run["records"][-1]["held_out"] for run in runs["AdamW"]]
    curve = found[2]["curves"]["held_out"]
    assert curve["mean"][-1] == pytest.approx(sum(losses) / SEEDS)
    assert curve["spread"][-1] == pytest.approx(abs(losses[0] - losses[1]) / 2**0.5)
    assert found[2]["chance_share"] == 1 / 8
    assert "law" in found[0]["curves"]
    assert "law" not in found[2]["curves"]


def test_command_and_report(tmp_path: Path) -> None:
    """From runs to a page: two processes, the figures file, its charts and its table."""
    arguments = ["train", str(tmp_path), "--experiment", "rates", "--seeds", "1", "--steps", "1"]
    result = CliRunner().invoke(command_line(["train"]), arguments)
    assert result.exit_code == 0, result.output
    assert "gradient descent at four learning rates, 1 seed" in result.stdout
    again = CliRunner().invoke(command_line(["train"]), [*arguments, "--json"])
    assert json.loads(again.stdout)["experiments"][0]["name"] == "rates"
    file = read_training(tmp_path / "figures.json")
    page = report_html(Report.of(trainings=[file]))
    assert page.count("<svg") >= 1
    assert "a cross-check, not a verdict" in page
    assert "SGD, rate 0.0625" in page
    assert "gradient descent at four learning rates" in report_markdown(Report.of(trainings=[file]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "a"}, "format: must be 'exactattn training figures'"),
        ({"experiments": []}, "experiments: must be a list of 1"),
        ({"experiments": [3]}, "experiments[0].name: is missing"),
        ({"experiments": [{"name": "a", "title": "a", "seeds": [0], "runs": [{}]}]}, "label: is missing"),
    ],
)
def test_figures_files_are_read_strictly(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    """A damaged file would end in a traceback or in a chart of something else."""
    path = tmp_path / "figures.json"
    path.write_text(json.dumps({"format": "exactattn training figures", "experiments": []} | change))
    with pytest.raises(InputError) as refused:
        read_training(path)
    assert words in str(refused.value)


@pytest.mark.parametrize("value", [float("inf"), "1", None, True])
def test_curves_hold_finite_numbers(tmp_path: Path, value: Any) -> None:
    """Infinite numbers would break the charts."""
    found = figures([replace(OPTIMISERS, runs=(TINY,), seeds=(0,))], {"optimisers": [[train(TINY)]]})
    found["experiments"][0]["runs"][0]["curves"]["rho"]["mean"][0] = value
    path = tmp_path / "figures.json"
    path.write_text(json.dumps(found))
    with pytest.raises(InputError, match="must be a finite number"):
        read_training(path)


def test_unknown_experiments_are_refused() -> None:
    """A misspelt name would silently train nothing."""
    with pytest.raises(InputError, match="choose from optimisers, rates, schedules"):
        experiments(["optimizers"], seeds=1, steps=1)
