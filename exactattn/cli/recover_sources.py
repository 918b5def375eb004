"""The black box that recover asks: a model of one's own, a command, or recorded answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exactattn.cli.plan import query_line
from exactattn.cli.recover_options import RecoverOptions
from exactattn.exceptions import InputError, MissingAnswers
from exactattn.model.files import write_file
from exactattn.oracle import CommandOracle, Oracle, RecordedOracle

__all__ = ["black_box", "missing_written"]


def black_box(options: RecoverOptions, model: Oracle | None) -> Oracle:
    """The oracle of FILE's own model, or else of the command or the recording."""
    if model is None and options.answers is None:
        if options.dim is None:
            raise InputError("is needed with --oracle-command", field="--dim")
        return CommandOracle(str(options.oracle_command), options.dim, timeout=options.oracle_timeout)
    oracle = RecordedOracle.from_jsonl(options.answers) if model is None and options.answers else model
    assert oracle is not None
    if options.dim not in (None, oracle.dim):
        raise InputError(
            f"is {options.dim}, but the token size of {options.file or options.answers} is {oracle.dim}",
            field="--dim",
        )
    return oracle


@contextmanager
def missing_written(path: Path | None) -> Iterator[None]:
    """Queries that a recording has no answer for (non-generic ones were drawn again) go to a file."""
    try:
        yield
    except MissingAnswers as error:
        if path is None:
            raise MissingAnswers(f"{error}: add --missing FILE to have them written", error.queries) from None
        write_file("".join(query_line(query) for query in error.queries), path)
        raise MissingAnswers(
            f"{path}: wrote {len(error.queries)} queries without an answer; add their answers to the "
            "recording and run again",
            error.queries,
        ) from None
