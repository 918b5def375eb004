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
        """Raises InputError unless there is one black box, with options of its kind, and the options of one
        job."""
        if sum(source is not None for source in (self.file, self.oracle_command, self.answers)) != 1:
            raise InputError("give exactly one of FILE, --oracle-command and --answers")
        if self.oracle_command is None:
            self.refuse({"--oracle-timeout"}, "without --oracle-command")
        if self.answers is None:
            self.refuse({"--missing"}, "without --answers")
        if self.layer_number is None:
            self.refuse(LAYER_ONLY, "without --layer")
        elif self.file is None:
            raise InputError("needs FILE, a checkpoint", field="--layer")

    def refuse_others(self, allowed: Iterable[str], job: str) -> None:
        """Raises InputError, with the job in words, if options were given that are not among these."""
        self.refuse(self.given - frozenset(allowed), job)

    def refuse(self, unwanted: Iterable[str], job: str) -> None:
        """Raises InputError, with the job in words, if one of these options was given."""
        found = sorted(self.given & frozenset(unwanted))
        if found:
            names = " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
            raise InputError(f"{names} {'do' if len(found) > 1 else 'does'} not go {job}")

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
