"""Transformers on the command line: model new --neurons, model show, and recover."""

from __future__ import annotations

from pathlib import Path

from flint import fmpq

from exactattn.certificate import transformer_certificate, write_certificate
from exactattn.cli.console import conclude, facts_table, number_text, print_json, stdout
from exactattn.cli.recover_options import TRANSFORMER_OPTIONS, RecoverOptions
from exactattn.cli.recover_sources import black_box, missing_written
from exactattn.exceptions import InputError
from exactattn.model.random_transformer import random_transformer
from exactattn.model.relu_form import flat
from exactattn.model.transformer import Transformer
from exactattn.model.transformer_files import form_json, load_transformer, save_transformer
from exactattn.numbers import rational
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery.relu import TransformerRecovery, recover_transformer

__all__ = ["new_transformer", "recover_and_show", "show_transformer"]

SHOWN = 8


def new_transformer(
    heads: int, dim: int, neurons: int, output: Path, *, seed: int, size: int, residual: bool, bypass: bool
) -> None:
    """Writes a random Transformer."""
    model = random_transformer(heads, dim, neurons, seed=seed, size=size, residual=residual, bypass=bypass)
    save_transformer(model, output)
    stdout.print(f"wrote {output}: {_summary(model)}, seed {seed}", highlight=False, markup=False)


def show_transformer(file: Path, *, json_output: bool) -> None:
    """Shows sizes and the canonical form of a Transformer."""
    model = load_transformer(file)
    form = model.canonical()
    if json_output:
        print_json({"name": model.name, "neurons": len(model.neurons), "canonical": form_json(form)})
        return
    stdout.print(facts_table(str(file), [("Transformer", _summary(model)), ("name", model.name or "–")]))
    rows = [("v", ", ".join(number_text(x) for x in flat(form.linear)))]
    rows += [
        (f"{'+' if sign > 0 else '−'}|D_{k}·Z|", ", ".join(number_text(x) for x in flat(D)))
        for k, (sign, D) in enumerate(form.kinks[:SHOWN], 1)
    ]
    stdout.print(facts_table("\nF = ½(v·Z + Σ σ_k |D_k·Z|)", rows))
    if len(form.kinks) > SHOWN:
        stdout.print(f"… and {len(form.kinks) - SHOWN} more neurons")


def recover_and_show(options: RecoverOptions) -> bool | None:
    """Recovers a Transformer, prints the result, and says whether it is that of FILE (None: no FILE).

    Without options the numbers of heads and neurons are those of the model. Raises InputError if a number is
    missing or wrong, or an option belongs to layers without a network.
    """
    options.refuse_others(TRANSFORMER_OPTIONS, "Transformers")
    if options.numbers not in (None, "lattice"):
        raise InputError("a Transformer is recovered on the lattice", field="--numbers")
    model = None if options.file is None else load_transformer(options.file)
    if model is not None and options.residual:
        raise InputError("goes without FILE, which says whether there is a residual", field="--residual")
    heads = options.heads_bound
    if heads is None and model is None:
        raise InputError("give the number of heads, or an upper bound", field="--heads-bound")
    with (
        black_box(options, None if model is None else TransformerOracle(model)) as oracle,
        missing_written(options.missing),
    ):
        result = recover_transformer(
            oracle,
            max(1, len(model.matrices)) if heads is None and model is not None else heads or 0,
            neurons=_neurons(options.neurons, options.kink_spacing, model),
            kink_spacing=_spacing(options),
            residual=options.residual if model is None else model.residual,
            denominator=options.denominator or (1 if model is None else model.denominator()),
            seed=options.seed,
            transcript=options.transcript,
        )
    verdict = None if model is None else result.matches(model)
    conclude(
        options.certificate,
        options.json_output,
        certify=lambda path: write_certificate(transformer_certificate(result, model), path),
        summary=lambda: {**result.to_json(), "matches_model": verdict},
        show=lambda: _show(result, verdict),
    )
    return verdict


def _spacing(options: RecoverOptions) -> fmpq | None:
    if options.kink_spacing is None:
        return None
    if options.neurons not in (None, "unknown"):
        options.refuse({"--kink-spacing"}, "a number of --neurons")
    try:
        spacing = rational(options.kink_spacing)
    except InputError as error:
        raise InputError(str(error), field="--kink-spacing") from None
    if spacing <= 0:
        raise InputError(f"must be more than 0, not {spacing}", field="--kink-spacing")
    return spacing


def _neurons(text: str | None, kink_spacing: str | None, model: Transformer | None) -> int | None:
    if text is None:
        return len(model.canonical().kinks) if model is not None and kink_spacing is None else None
    if text == "unknown":
        return None
    if not text.isdecimal():
        raise InputError(f"must be a number or unknown, not {text!r}", field="--neurons")
    return int(text)


def _show(result: TransformerRecovery, verdict: bool | None) -> None:
    words = {True: "yes, exactly", False: "NO", None: "no model to compare with"}
    facts = [*result.facts(), ("seed", str(result.seed)), ("the same function as the model", words[verdict])]
    stdout.print(facts_table("recovery of a Transformer", facts))
    rows = [
        (f"{number_text(n.a)} · ReLU", ", ".join(number_text(x) for x in flat(n.beta)))
        for n in result.neurons[:SHOWN]
    ]
    if result.bypass is not None:
        rows.append(("linear path", ", ".join(number_text(x) for x in flat(result.bypass))))
    stdout.print(facts_table("\nneurons, by blocks of the heads", rows))
    if len(result.neurons) > SHOWN:
        stdout.print(f"… and {len(result.neurons) - SHOWN} more neurons")


def _summary(model: Transformer) -> str:
    form = model.canonical()
    parts = [
        f"{len(model.matrices)} heads of token size {model.dim} and {len(model.neurons)} neurons",
        *(["a residual"] if model.residual else []),
        *(["a linear path"] if model.bypass is not None else []),
    ]
    return f"{', '.join(parts)}; {len(form.matrices)} heads and {len(form.kinks)} neurons in canonical form"
