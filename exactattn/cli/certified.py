"""exactattn count --certify: the formulas of layers proved by rank certificates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from exactattn.cli.console import stderr
from exactattn.exceptions import InputError
from exactattn.identify import ModelCount
from exactattn.identify.certified_formula import CertifiedFormula, certify_formula
from exactattn.identify.rank_certificate import RankCertificate

__all__ = ["CertifiedLayers", "certified_layers"]


@dataclass(frozen=True)
class CertifiedLayers:
    """Equal layers of a model, and what was certified for one of them."""

    name: str
    found: CertifiedFormula
    files: tuple[Path, ...]

    def data(self) -> dict[str, Any]:
        """For machines."""
        return {
            "layers": self.name,
            "proved": self.found.proved,
            "at_the_given_sizes": self.found.given,
            "certificates": [_numbers(each) for each in self.found.certificates],
            "files": [str(path) for path in self.files],
        }

    def sentence(self) -> str:
        """For people."""
        sizes = "; ".join(
            f"{_sizes(each)}: {_enclosure(each)} of {each.parameters} identified"
            for each in self.found.certificates
        )
        how = "the count is" if self.found.given else "too large to certify; the formula is"
        where = "at these sizes" if self.found.given else "at smaller sizes like these"
        return f"{self.name}: {how} {'proved' if self.found.proved else 'NOT proved'} {where} ({sizes})"


def certified_layers(counts: Sequence[ModelCount], folder: Path | None) -> list[list[CertifiedLayers]]:
    """The certificates of all layers of each model, written to a folder if one is given.

    Raises InputError if the folder cannot be made, CertificateError for layers that cannot be certified.
    """
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", file=folder) from None
    known: dict[Any, CertifiedFormula] = {}
    proofs = []
    with Progress(console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        groups = [(each, group) for each in counts for group in each.layers if "table of" not in group.name]
        task = bar.add_task("certifying", total=len(groups))
        for each in counts:
            found = []
            for group in [group for owner, group in groups if owner is each]:
                spec = group.count.spec
                if spec not in known:
                    known[spec] = certify_formula(spec)
                files = (
                    () if folder is None else _write(folder, f"{each.model.name} {group.name}", known[spec])
                )
                found.append(CertifiedLayers(group.name, known[spec], files))
                bar.advance(task)
            proofs.append(found)
    return proofs


def _write(folder: Path, name: str, found: CertifiedFormula) -> tuple[Path, ...]:
    stem = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")
    paths = []
    for number, certificate in enumerate(found.certificates, 1):
        paths.append(folder / f"{stem}-{number}.json")
        certificate.write(paths[-1])
    return tuple(paths)


def _sizes(certificate: RankCertificate) -> str:
    spec = certificate.spec
    names = {"E": spec.width, "H": spec.heads, "G": spec.groups, "D": spec.head_size, "C": spec.value_size}
    if spec.rotated:
        names["R"] = spec.rotated
    return " ".join(f"{name}={size}" for name, size in names.items())


def _enclosure(certificate: RankCertificate) -> str:
    if certificate.at_least == certificate.at_most:
        return str(certificate.at_least)
    return f"{certificate.at_least} to {certificate.at_most}"


def _numbers(certificate: RankCertificate) -> dict[str, Any]:
    spec = certificate.spec
    return {
        "width": spec.width,
        "heads": spec.heads,
        "groups": spec.groups,
        "head_size": spec.head_size,
        "value_size": spec.value_size,
        "rotated": spec.rotated,
        "parameters": certificate.parameters,
        "at_least": certificate.at_least,
        "at_most": certificate.at_most,
        "verdict": certificate.verdict,
        "digest": certificate.content["digest"],
    }
