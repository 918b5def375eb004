"""Certificates of layers recovered through prime fields: a JSON file and a companion file of integers.

The words of the sentences and the proof belong to :mod:`exactattn.checker.prime`; what is specific to it here
is that answers are asked and hashed, row by row, modulo primes of its own choice: those of the recovery where
no probe was exceptional, and others until they determine the integers.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from hashlib import sha256
from math import gcd, lcm, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactattn.certificate.canonical import write_certificate
from exactattn.certificate.content import made_by, published_schema, sealed
from exactattn.checker import check_file
from exactattn.checker.prime import MAX_DIM, challenge
from exactattn.checker.prime_companion import HEADER, MAX_WIDTH, NAME
from exactattn.checker.prime_texts import prime_texts
from exactattn.checker.prime_tree import leaf, path_of, root_of, sample_rows
from exactattn.exceptions import CertificateError, InputError
from exactattn.model.files import write_file
from exactattn.numbers import rational_text
from exactattn.numbers.smooth_primes import WORD_PRIMES
from exactattn.prime.arithmetic import UNDEFINED, bits, product
from exactattn.prime.block import answers
from exactattn.prime.dyadic_layer import DyadicLayer
from exactattn.prime.field import PrimeField
from exactattn.prime.layer import PrimeLayer
from exactattn.prime.mend import Oracle
from exactattn.prime.plan import BlockPlan
from exactattn.prime.tokens import RADIUS
from exactattn.prime.trained import TrainedRecovery

__all__ = ["companion_path", "prime_schema", "sealed_prime", "write_prime_certificate"]

LITTLE_ENDIAN = np.dtype("<u4")


def companion_path(path: str | Path) -> Path:
    """The companion file of the certificate ``path``, beside it. Raises InputError for a file name with
    characters that are not portable.

    >>> companion_path("runs/layer-0.json").as_posix()
    'runs/layer-0.json.heads'
    """
    name = f"{Path(path).name}.heads"
    if not NAME.fullmatch(name):
        raise InputError("must be named by letters, digits, dots, dashes and underscores alone", file=path)
    return Path(path).with_name(name)


def write_prime_certificate(
    found: TrainedRecovery, plan: BlockPlan, layer: DyadicLayer, path: str | Path
) -> dict[str, Any]:
    """Writes the certificate of a recovery by the published method, and its companion file; its content.

    ``plan`` is that of the recovery; ``layer`` is the black box, asked again modulo the primes of the
    certificate, and gives the units. The checker has verified both files entirely before this returns;
    otherwise none is left. Raises CertificateError if every prime has an exceptional probe, or with the
    checker's reason; InputError if a file cannot be written.

    >>> import tempfile
    >>> from flint import fmpq
    >>> from exactattn.prime.trained import recover_trained
    >>> W = np.array([[[5**20, 1], [2, -3]], [[7, 2], [1, 1]]], dtype=object)
    >>> layer = DyadicLayer(W, np.array([[1, 2], [-3, 5**15]], dtype=object), 0, -50, -40, fmpq(1, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "layer.json"
    ...     content = write_prime_certificate(recover_trained(layer), BlockPlan(2, 2), layer, file)
    ...     print(check_file(file).word, content["companion"]["bytes"])
    valid 91
    """
    if not 1 <= len(found.W) <= plan.heads or plan.dim > MAX_DIM:
        raise CertificateError("certificates are for layers with 1 to 255 heads and at most 4096 columns")
    companion = companion_path(path)
    data, widths = _companion(found)
    described = {
        "name": companion.name,
        "bytes": len(data),
        "sha256": sha256(data).hexdigest(),
        "score_width": widths[0],
        "value_width": widths[1],
    }
    exceptional = {run.field.prime for run in found.runs if run.mended}
    write_file(data, companion)
    try:
        while True:
            chosen = _chosen_primes(found, exceptional)
            try:
                content = _content(found, plan, layer, chosen, exceptional, described)
            except _Undefined as error:
                exceptional |= {error.prime}
                continue
            write_certificate(content, path)
            verdict = check_file(path)
            if verdict.code == 0:
                return content
            met = {p for p in chosen if p not in exceptional and verdict.reason.endswith(f"modulo {p}")}
            if not met:
                raise CertificateError(
                    f"the checker does not accept what this run would state: {verdict.reason}"
                )
            exceptional |= met
    except BaseException:
        companion.unlink(missing_ok=True)
        Path(path).unlink(missing_ok=True)
        raise


class _Undefined(Exception):
    """An answer is undefined modulo this prime."""

    def __init__(self, prime: int) -> None:
        super().__init__(prime)
        self.prime = prime


def _chosen_primes(found: TrainedRecovery, exceptional: set[int]) -> list[int]:
    """Primes that determine the integers: without exceptional probes as far as there are such. Each p − 1
    shares an odd factor with those before it, by which heads are told apart across primes.

    Raises CertificateError if all primes are exceptional.
    """
    used = [run.field.prime for run in found.runs]
    candidates = [*used, *(p for p in WORD_PRIMES if p not in used)]
    candidates.sort(key=lambda p: p in exceptional)
    if candidates[0] in exceptional:
        raise CertificateError("every prime has an exceptional probe; try another --seed")
    scores, values = (2 * max(map(abs, x)) for x in _integers(found))
    chosen = [candidates[0]]
    while lcm(*(p - 1 for p in chosen)) <= scores or prod(chosen) <= values:
        known = lcm(*(p - 1 for p in chosen))
        rest = [p for p in candidates if p not in chosen]
        rest.sort(key=lambda p: (p in exceptional, gcd(known, p - 1) <= 2))
        if not rest:
            raise CertificateError("the integers are too long for the primes there are")
        chosen.append(rest[0])
    return chosen


def sealed_prime(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the sentences that belong to it, and the digest."""
    return sealed(content, prime_texts(content))


def prime_schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of these certificates, version 1.

    >>> prime_schema()["title"]
    'exactattn prime-field recovery certificate, version 1'
    """
    return published_schema("prime-recovery.v1")


def _content(
    found: TrainedRecovery,
    plan: BlockPlan,
    layer: DyadicLayer,
    primes: list[int],
    exceptional: set[int],
    companion: dict[str, Any],
) -> dict[str, Any]:
    compiled = found.runs[0].field.compiled
    fields = [PrimeField(p, compiled) for p in primes]
    regular = [k for k, p in enumerate(primes) if p not in exceptional]
    layers = [_modulo(found, fields[k]) for k in regular]
    trees = [list(_leaves(plan, layer.modulo(fields[k]), fields[k])) for k in regular]
    content: dict[str, Any] = {
        "format": "exactattn-certificate",
        "version": 1,
        "kind": "prime-recovery",
        "method": "published",
        "heads_bound": plan.heads,
        "heads": len(found.W),
        "dim": plan.dim,
        "bias": plan.bias,
        "plan": {"seed": plan.seed, "radius": RADIUS},
        "unit": {
            "score_exponent": layer.score_exponent,
            "scale_squared": rational_text(layer.scale_squared),
            "value_exponent": layer.value_exponent,
        },
        "primes": [{"prime": f.prime, "generator": f.scalar.generator} for f in fields],
        "companion": companion,
        "answers": [
            {
                "prime": k,
                "values": _base64(recovered.v),
                "constant": recovered.constant,
                "root": root_of(leaves).hex(),
            }
            for k, recovered, leaves in zip(regular, layers, trees, strict=True)
        ],
        "queries": plan.count,
        "longest": 2 * plan.heads + 1,
        "made_by": made_by(),
    }
    sample = sample_rows(challenge(content), plan.rows)
    openings = [
        [_opening(plan, recovered, leaves, row) for row in sample]
        for recovered, leaves in zip(layers, trees, strict=True)
    ]
    content["answers"] = [
        {**item, "openings": opened} for item, opened in zip(content["answers"], openings, strict=True)
    ]
    return sealed_prime(content)


def _modulo(found: TrainedRecovery, field: PrimeField) -> PrimeLayer:
    """The recovered integers over a field."""
    W, v = (found.W % field.order).astype(np.int64), (found.v % field.prime).astype(np.int64)
    return PrimeLayer(field, W, v, found.constant % field.prime)


def _opening(plan: BlockPlan, recovered: PrimeLayer, leaves: list[bytes], row: int) -> dict[str, Any]:
    path = [node.hex() for node in path_of(leaves, row)]
    return {"row": row, "scores": _base64(_scores(plan, recovered, row)), "path": path}


def _leaves(plan: BlockPlan, oracle: Oracle, field: PrimeField) -> Iterator[bytes]:
    """The digests of the answers of all rows, as the oracle gives them over the field."""
    width = 2 * plan.dim - 1
    for block in plan.blocks:
        found = answers(oracle, plan, block)
        if (found == UNDEFINED).any():
            raise _Undefined(field.prime)
        words = np.ascontiguousarray(found.T.astype(LITTLE_ENDIAN))
        for k, row in enumerate(block):
            parts = [words[k * width : (k + 1) * width]]
            if row:
                joined = len(block) * width + k
                parts.append(words[joined : joined + 1])
            alone = b"" if row else int(oracle.alone(plan.b[0])).to_bytes(4, "little")
            yield leaf(row, alone + b"".join(part.tobytes() for part in parts))


def _scores(plan: BlockPlan, recovered: PrimeLayer, row: int) -> NDArray[np.uint64]:
    """b_i^T W_h u_j modulo p − 1, (K, d)."""
    (images,) = recovered.score_rows(plan.b[row : row + 1])
    return product(images, plan.u.T, recovered.field.n, right_bits=bits(plan.u))


def _base64(numbers: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers.astype(LITTLE_ENDIAN)).tobytes()).decode("ascii")


def _integers(found: TrainedRecovery) -> tuple[list[int], list[int]]:
    """Scores and values in the order of the companion file."""
    scores = found.W.transpose(1, 0, 2).ravel().tolist()
    return scores, [*found.v.ravel().tolist(), found.constant]


def _companion(found: TrainedRecovery) -> tuple[bytes, tuple[int, int]]:
    """The bytes of the companion file, and those of one score and one value."""
    scores, values = _integers(found)
    widths = _width(scores), _width(values)
    if max(widths) > MAX_WIDTH:
        raise CertificateError(f"certificates are for integers of at most {MAX_WIDTH} bytes")
    parts = [
        int(x).to_bytes(width, "little", signed=True)
        for numbers, width in zip((scores, values), widths, strict=True)
        for x in numbers
    ]
    return HEADER + b"".join(parts), widths


def _width(numbers: list[int]) -> int:
    return max(map(abs, numbers)).bit_length() // 8 + 1
