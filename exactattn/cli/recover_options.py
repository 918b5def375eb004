"""What recover was asked for, and which options go together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exactattn.exceptions import InputError
from exactattn.recovery.start import Method

__all__ = ["LAYER_OPTIONS", "TRANSFORMER_OPTIONS", "RecoverOptions"]

SOURCE_OPTIONS = frozenset({"--oracle-command", "--oracle-timeout", "--answers", "--missing", "--dim"})
RUN_OPTIONS = frozenset({"--heads-bound", "--seed", "--certificate", "--json"})
LAYER_ONLY = frozenset(
    {
        "--layer",
        "--config",
        "--output-coordinate",
        "--workers",
        "--dask",
        "--blocks",
        "--compiled",
        "--heads-file",
    }
)
LAYER_OPTIONS = LAYER_ONLY | RUN_OPTIONS | {"--method", "--rank"}
TRANSFORMER_ONLY = frozenset({"--neurons", "--kink-spacing", "--residual"})
TRANSFORMER_OPTIONS = (
    TRANSFORMER_ONLY | SOURCE_OPTIONS | RUN_OPTIONS | {"--numbers", "--denominator", "--transcript"}
)


@dataclass(frozen=True)
class RecoverOptions:
    """The options of one call of recover; ``given`` names those that are there, as they are written."""

    given: frozenset[str]
    file: Path | None
    heads_bound: int | None
    heads: Literal["auto"] | None
    method: Method
    rank: str | None
    bias: bool
    numbers: Literal["lattice", "balls", "prime"] | None
    digits: int
    seed: int
    oracle_command: str | None
    oracle_timeout: float
    answers: Path | None
    missing: Path | None
    dim: int | None
    denominator: int | None
    transcript: Path | None
    output_error: str | None
    robust: bool
    longest: int | None
    layer_number: int | None
    config: Path | None
    output_coordinate: int | None
    workers: int
    dask: str | None
    blocks: Path | None
    compiled: bool
    heads_file: Path | None
    certificate: Path | None
    max_precision: int
    neurons: str | None
    kink_spacing: str | None
    residual: bool
    json_output: bool

    def check_sources(self) -> None:
        """Raises InputError unless there is one black box with options of its kind."""
        if sum(source is not None for source in (self.file, self.oracle_command, self.answers)) != 1:
            raise InputError("give exactly one of FILE, --oracle-command and --answers")
        if self.oracle_command is None:
            self.keep_for("--oracle-command", {"--oracle-timeout"})
        if self.answers is None:
            self.keep_for("--answers", {"--missing"})
        if self.layer_number is None:
            self.keep_for("--layer", LAYER_ONLY)
        elif self.file is None:
            raise InputError("needs FILE, a checkpoint", field="--layer")
        if self.heads_bound is not None and self.heads_bound < 1:
            raise InputError(f"must be at least 1, not {self.heads_bound}", field="--heads-bound")

    def check_outputs(self) -> None:
        """Raises InputError for a file to write that could not be written, or is read or written otherwise,
        before the work begins."""
        used = {path.resolve(): name for name, path in self._inputs() if path is not None}
        for name, path in self._outputs():
            if path is None:
                continue
            place = path.resolve()
            if place in used:
                raise InputError(f"is {used[place]} too; name another file", file=path, field=name)
            if path.is_dir():
                raise InputError("is a directory; name a file", file=path, field=name)
            if not place.parent.is_dir():
                raise InputError("is in a folder that does not exist; create it", file=path, field=name)
            used[place] = name

    def _inputs(self) -> list[tuple[str, Path | None]]:
        return [("FILE", self.file), ("--config", self.config), ("--answers", self.answers)]

    def _outputs(self) -> list[tuple[str, Path | None]]:
        return [
            ("--certificate", self.certificate),
            ("--heads-file", self.heads_file),
            ("--missing", self.missing),
            ("--transcript", self.transcript),
        ]

    def refuse_others(self, allowed: Iterable[str], job: str) -> None:
        """Raises InputError, with the job in words, if options were given that are not among these."""
        self.refuse(self.given - frozenset(allowed), job)

    def refuse(self, unwanted: Iterable[str], job: str) -> None:
        """Raises InputError, with the job in words, if one of these options was given."""
        if found := self.given & frozenset(unwanted):
            names, verb = _listed(found, "does not go", "do not go")
            raise InputError(f"{names} {verb} with {job}")

    def keep_for(self, owner: str, needy: Iterable[str]) -> None:
        """Raises InputError if one of these options was given; they make sense beside ``owner`` alone."""
        if found := self.given & frozenset(needy):
            names, verb = _listed(found, "goes", "go")
            raise InputError(f"{names} {verb} only with {owner}")

    @property
    def wants_transformer(self) -> bool:
        """Whether an option that belongs to Transformers was given."""
        return bool(self.given & TRANSFORMER_ONLY)

    @property
    def rank_bound(self) -> int | Literal["auto"] | None:
        """The rank as a number. Raises InputError if it is neither a number nor auto."""
        if self.rank is None or self.rank == "auto":
            return None if self.rank is None else "auto"
        if not self.rank.isdecimal():
            raise InputError(f"must be auto or a number, not {self.rank!r}", field="--rank")
        return int(self.rank)


def _listed(names: Iterable[str], one: str, many: str) -> tuple[str, str]:
    """Names in words, and the verb of one or many."""
    *first, last = sorted(names)
    return (f"{', '.join(first)} and {last}", many) if first else (last, one)
