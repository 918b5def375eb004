"""The ledger: every claim file of the folder ``proofs``, loaded, and decided by running its evidence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import perf_counter

import exactattn
from exactattn.exceptions import ExactAttnError, InputError
from exactattn.ledger.claim import Claim
from exactattn.ledger.outcome import Outcome
from exactattn.ledger.step import Step
from exactattn.ledger.verdict import Verdict

__all__ = ["Decided", "decide", "load_claim", "load_claims", "proofs_folder", "select"]


@dataclass(frozen=True)
class Decided:
    """A claim with the outcome of its evidence and the seconds it took."""

    claim: Claim
    outcome: Outcome
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the one written in the claim's file and every step holds."""
        return self.outcome.verdict is self.claim.expected and not self.outcome.failed


def proofs_folder() -> Path:
    """The folder of claim files: in the package (installed) or beside it (a checkout).

    Raises InputError if there is none.
    """
    package = Path(exactattn.__file__).parent
    for folder in (package / "proofs", package.parent / "proofs"):
        if folder.is_dir():
            return folder
    raise InputError("the folder proofs is missing; install exactattn again", file=package)


def load_claim(file: Path) -> Claim:
    """The claim of one file. Raises InputError if the file has none, or cannot be run."""
    spec = spec_from_file_location(f"exactattn_proofs_{file.parent.name}_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise InputError("is not a claim file (a Python file)", file=file)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ExactAttnError as error:
        raise InputError(str(error), file=file) from error
    claim = getattr(module, "claim", None)
    if not isinstance(claim, Claim):
        raise InputError("defines no claim; end it with claim = Claim(...)", file=file)
    if claim.paper.folder != file.parent.name:
        raise InputError(f"belongs in the folder {claim.paper.folder}", file=file)
    return claim


@cache
def load_claims(folder: Path | None = None) -> Mapping[str, Claim]:
    """All claims by id, in the order of papers and ids. Raises InputError if two have one id, or if one
    depends on an id that does not exist.

    >>> claims = load_claims()
    >>> claims["I-4.1"].place
    'Lemma 4.1'
    """
    claims: dict[str, Claim] = {}
    for file in sorted((folder or proofs_folder()).glob("*/*.py")):
        claim = load_claim(file)
        if claim.id in claims:
            raise InputError(f"two claims have the id {claim.id}", file=file)
        claims[claim.id] = claim
    for claim in claims.values():
        for needed in claim.depends_on:
            if needed not in claims:
                raise InputError(f"{claim.id} depends on {needed}, which does not exist", field="depends_on")
    order = list(type(next(iter(claims.values())).paper)) if claims else []
    return dict(sorted(claims.items(), key=lambda item: (order.index(item[1].paper), _natural(item[0]))))


def _natural(id_: str) -> tuple[tuple[int, int | str], ...]:
    """Numbers in an id by size: Q-2 before Q-10."""
    parts = id_.replace("-", ".").split(".")
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in parts)


def select(claims: Mapping[str, Claim], ids: Sequence[str] = (), paper: str | None = None) -> list[Claim]:
    """The claims with these ids (all if none is given) and of this paper: its letter, folder or arXiv
    number. Raises InputError for names that are not known.

    >>> [claim.id for claim in select(load_claims(), ["i-4.1"])]
    ['I-4.1']
    """
    known = {id_.lower(): claim for id_, claim in claims.items()}
    for id_ in ids:
        if id_.lower() not in known:
            close = get_close_matches(id_.lower(), known, n=3, cutoff=0.4)
            hint = f"; did you mean {' or '.join(known[c].id for c in close)}?" if close else ""
            raise InputError(f"there is no claim {id_[:40]!r}{hint}", field="id")
    chosen = [known[id_.lower()] for id_ in dict.fromkeys(ids)] or list(claims.values())
    if paper is None:
        return chosen
    matching = [
        c for c in chosen if paper.lower() in (c.paper.letter.lower(), c.paper.folder, c.paper.arxiv or None)
    ]
    if not matching:
        names = ", ".join(dict.fromkeys(c.paper.letter for c in claims.values()))
        raise InputError(f"no claim of the paper {paper[:40]!r}; papers are {names}", field="paper")
    return matching


def decide(
    chosen: Sequence[Claim],
    claims: Mapping[str, Claim] | None = None,
    begun: Callable[[Claim], None] | None = None,
) -> Iterator[Decided]:
    """Runs the evidence of each claim, and of those it depends on (once), in order.

    ``begun`` is called before each evidence runs. A claim that depends on one that is not proved gets a
    failing step. An error in the evidence is a failing step too: nothing is decided by a crash.

    >>> [decided.outcome.verdict.value for decided in decide(select(load_claims(), ["I-4.1"]))]
    ['proved']
    """
    known = load_claims() if claims is None else claims
    done: dict[str, Decided] = {}

    def run(claim: Claim, above: tuple[str, ...]) -> Decided:
        if claim.id in above:
            raise InputError(f"{claim.id} depends on itself", field="depends_on")
        if claim.id not in done:
            needed = [run(known[id_], (*above, claim.id)) for id_ in claim.depends_on]
            if begun is not None:
                begun(claim)
            start = perf_counter()
            outcome = _with_dependencies(_established(claim), needed)
            done[claim.id] = Decided(claim, outcome, perf_counter() - start)
        return done[claim.id]

    for claim in chosen:
        yield run(claim, ())


def _established(claim: Claim) -> Outcome:
    try:
        return claim.establish()
    except Exception as error:
        failure = Step(
            "the evidence runs to its end", False, "exact evaluation", f"{type(error).__name__}: {error}"
        )
        return Outcome(Verdict.UNKNOWN, "the evidence broke off", (failure,))


def _with_dependencies(outcome: Outcome, needed: Sequence[Decided]) -> Outcome:
    """The outcome with one more step for each claim it depends on."""
    steps = []
    for other in needed:
        verdict = other.outcome.verdict
        # what holds for all sizes cannot rest on what was checked for some
        enough = verdict is Verdict.PROVED or (verdict.positive and outcome.verdict is not Verdict.PROVED)
        steps.append(
            Step(f"{other.claim.id} holds", enough, "another claim", f"{verdict.value}: {other.claim.says}")
        )
    result = replace(outcome, steps=(*outcome.steps, *steps))
    return replace(result, verdict=Verdict.UNKNOWN) if result.failed else result
