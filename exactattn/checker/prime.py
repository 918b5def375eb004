"""Certificates of recoveries in a prime field at the sizes of real layers, version 1: the published method.

The integers are in a companion file; answers are not listed but computed again from them, row by row, and
compared through the root of a hash tree. The full check (of a file) does all of that; the check of the sample
needs no companion: the rows opened in the certificate list the scores that they show.

Why the statement follows from what is verified. The argument is that of recovery certificates (see check.py),
once with real numbers and E(s) = e^(s S), once modulo p with E(s) = g^s; what changes is this.

1. With a bias, last tokens are (1, b), and the answer at b_1 alone is V.b_1 + c with a constant c. From
   V' = V follows c' = c, so that G' = G again in every probe. Row probes have the last token 2b_i - b_1,
   so (1, 2b_i - b_1) = 2 (1, b_i) - (1, b_1), and scores combine in the same way.
2. Modulo p: 2*H0 < p, so that the numbers of copies are distinct; all denominators are defined. g has order
   p - 1, so that poles are distinct if scores are distinct modulo p - 1. The matrices of b and u have
   determinant 1 and inverses of integers, so that scores of all pairs determine W modulo p - 1, and v.u_j
   determine v modulo p.
3. Over the reals: the scores are S times integers, S > 0, and E is injective. Integers that differ modulo
   p - 1, or modulo p, differ, so what is verified modulo p holds for the real layer.
4. All primes: let N' agree with the listed N modulo p_k - 1 in an order s_k of the heads, by 2. Modulo the
   greatest common divisor of p_k - 1 and the least common multiple of those before it, the listed heads are
   distinct (verified), so by induction s_k is the same for all k. Chinese remainders and the ranges do the
   rest.
"""

from __future__ import annotations

import base64
import multiprocessing
import os
import struct
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from .check import MAX_INTEGER, Kind, Vector, count, dot, exactly, items, number, record, refuse
from .prime_companion import SHA256, Heads, Shape, check_companion, read_heads_file
from .prime_plan import Plan, derived_plan, read_primes, residue_field
from .prime_rows import Row, Rows
from .prime_texts import prime_texts
from .prime_tree import leaf, path_of, root_from_path, root_of, sample_rows

__all__ = ["PRIME", "challenge"]

KEYS = "method heads_bound heads dim bias plan unit primes companion answers queries longest"
MAX_HEADS, MAX_DIM, MAX_RADIUS, MAX_SCORES, MAX_ANSWERS = 255, 4096, 1 << 16, 1 << 25, 1 << 26
MAX_UNIT = 1 << 20
ALONE = 1 << 19  # fewer answers than this are not worth more than one process


class Answered(NamedTuple):
    """One prime with its answers: what the JSON says, verified in itself, and what all rows share."""

    plan: Plan
    bound: int
    prime: int
    generator: int
    values: list[list[int]]
    constant: int
    root: bytes
    openings: Any
    path: str

    def rows(self, first: list[int]) -> Rows:
        """What all rows share, with the scores of the first at u_1."""
        field = residue_field(self.prime, self.generator)
        shown = [differences(row, self.plan.u, self.prime) for row in self.values]
        residues = [list(column) for column in zip(*shown, strict=True)]
        return Rows.of(field, self.plan.bias, residues, first, self.alone(0), self.bound)

    def alone(self, i: int) -> int:
        """V.b_i + c modulo p."""
        last = self.plan.last(i)
        total: int = sum(dot(v, last) for v in self.values) + self.constant
        return total % self.prime

    def row(self, i: int, scores: list[list[int]]) -> Row:
        """A row from its scores by heads."""
        return Row(i, [list(column) for column in zip(*scores, strict=True)], self.alone(i))


class Content(NamedTuple):
    """What the JSON says, verified in itself; the rows of the sample."""

    shape: Shape
    primes: list[int]
    answered: list[Answered]
    sample: list[int]


class Opening(NamedTuple):
    row: int
    scores: list[list[int]]
    path: list[bytes]


def differences(row: list[int], factors: tuple[Vector, Vector], modulus: int) -> list[int]:
    """row.u_j for all j: row_j + x'_j (row.y')."""
    x, y = factors
    along = dot(row, y) % modulus
    return [(t + c * along) % modulus for t, c in zip(row, x, strict=True)]


def read_content(data: dict[str, Any]) -> Content:
    exactly(data["method"], "method", "published")
    bound = count(data["heads_bound"], "heads_bound", 1, MAX_HEADS)
    heads = count(data["heads"], "heads", 1, bound)
    dim = count(data["dim"], "dim", 1, MAX_DIM)
    bias = data["bias"]
    if type(bias) is not bool:
        refuse("bias", "must be true or false")
    queries = 2 * bound * ((dim + bias) * 2 * dim - 1) + 1
    if heads * dim * (dim + bias) > MAX_SCORES or queries > MAX_ANSWERS:
        refuse("dim", "the layer is larger than this checker takes")
    exactly(data["queries"], "queries", queries)
    exactly(data["longest"], "longest", 2 * bound + 1)
    given = record(data["plan"], "plan", {"seed", "radius"})
    seed = count(given["seed"], "plan.seed", -MAX_INTEGER)
    plan = derived_plan(seed, count(given["radius"], "plan.radius", 1, MAX_RADIUS), dim, bias=bias)
    check_unit(data["unit"])
    primes = read_primes(data["primes"])
    shape = check_companion(data["companion"], heads, plan.rows, dim)
    answered = []
    before = -1
    for path, x in items(data["answers"], "answers", 1, len(primes)):
        record(x, path, {"prime", "values", "constant", "root", "openings"})
        before = count(x["prime"], f"{path}.prime", before + 1, len(primes) - 1)
        p, g = primes[before]
        values = table(x["values"], f"{path}.values", heads, dim, p)
        constant = count(x["constant"], f"{path}.constant", 0, p - 1 if bias else 0)
        root = sha256(x["root"], f"{path}.root")
        answered.append(Answered(plan, bound, p, g, values, constant, root, x["openings"], path))
    sample = sample_rows(challenge(data), plan.rows)
    return Content(shape, [p for p, _ in primes], answered, sample)


def check_unit(x: Any) -> None:
    record(x, "unit", {"score_exponent", "scale_squared", "value_exponent"})
    for key in ("score_exponent", "value_exponent"):
        count(x[key], f"unit.{key}", -MAX_UNIT, MAX_UNIT)
    if number(x["scale_squared"], "unit.scale_squared") <= 0:
        refuse("unit.scale_squared", "must be positive")


def sha256(x: Any, path: str) -> bytes:
    if type(x) is not str or not SHA256.fullmatch(x):
        refuse(path, "must be 64 hexadecimal digits")
    return bytes.fromhex(x)


def table(x: Any, path: str, heads: int, dim: int, modulus: int) -> list[list[int]]:
    """Residues by heads from base64 of four bytes each, little endian."""
    size = 4 * heads * dim
    if type(x) is not str or len(x) != -(-size // 3) * 4:
        refuse(path, f"must be base64 of {size} bytes")
    try:
        data = base64.b64decode(x, validate=True)
    except ValueError:
        data = b""
    if len(data) != size or base64.b64encode(data).decode("ascii") != x:
        refuse(path, f"must be base64 of {size} bytes")
    entries = struct.unpack(f"<{heads * dim}I", data)
    if max(entries) >= modulus:
        refuse(path, f"holds a number that is not below {modulus}")
    return [list(entries[h * dim : (h + 1) * dim]) for h in range(heads)]


def challenge(data: dict[str, Any]) -> dict[str, Any]:
    """What is stated before the sample is drawn: all but the openings, the sentences and who made it."""
    stated = {key: data[key] for key in KEYS.split()}
    return stated | {"answers": [{k: y for k, y in x.items() if k != "openings"} for x in data["answers"]]}


def read_openings(content: Content, answers: Answered) -> Iterator[Opening]:
    """The rows that the roots choose, in their order."""
    n, rows, shape = len(content.sample), answers.plan.rows, content.shape
    given = items(answers.openings, f"{answers.path}.openings", n, n)
    for (path, x), i in zip(given, content.sample, strict=True):
        record(x, path, {"row", "scores", "path"})
        exactly(x["row"], f"{path}.row", i)
        scores = table(x["scores"], f"{path}.scores", shape.heads, shape.dim, answers.prime - 1)
        nodes = items(x["path"], f"{path}.path", 0, rows.bit_length())
        yield Opening(i, scores, [sha256(y, at) for at, y in nodes])


def check_sample(content: Content) -> str:
    """Verifies the rows opened."""
    for answers in content.answered:
        shared: Rows | None = None
        for found in read_openings(content, answers):
            shared = shared or answers.rows([scores[0] for scores in found.scores])
            hashed = leaf(found.row, shared.answers(answers.row(found.row, found.scores)))
            if root_from_path(found.row, answers.plan.rows, hashed, found.path) != answers.root:
                refuse(
                    f"{answers.path}.openings", f"row {found.row}: its answers are not those under the root"
                )
    return (
        f"SAMPLE ONLY, {len(content.sample)} of {content.shape.rows} rows modulo {len(content.answered)} "
        "primes, companion file not read: their answers are those under the roots and generic; the statement "
        "needs the full check"
    )


class Table(NamedTuple):
    """All rows of scores, from the companion file: rows of the N_h modulo p - 1, y^T N_h and the row of b_1
    (0 without a bias), heads side by side."""

    answers: Answered
    rows: list[Any]
    along: list[int]
    first: list[int]

    @classmethod
    def of(cls, answers: Answered, rows: list[Any]) -> Table:
        plan, n = answers.plan, answers.prime - 1
        along, first = [0] * len(rows[0]), [0] * len(rows[0])
        for i, row in enumerate(rows[plan.bias :]):
            y, c = plan.b[1][i], plan.first[i]
            along = [t + y * x for t, x in zip(along, row, strict=True)]
            if c:
                first = [t + c * x for t, x in zip(first, row, strict=True)]
        if plan.bias:
            first = [(t + x) % n for t, x in zip(first, rows[0], strict=True)]
        return cls(answers, rows, [t % n for t in along], first)

    def scores(self, i: int) -> list[list[int]]:
        """(1, b_i)^T N_h u_j by heads."""
        plan, n = self.answers.plan, self.answers.prime - 1
        images, k, d = self.first, i - plan.bias, plan.dim
        if k >= 0:
            x = plan.b[0][k]
            parts = zip(self.rows[i], self.along, images, strict=True)
            images = [(w + x * t + f) % n for w, t, f in parts]
        starts = range(0, len(images), d)
        return [differences(images[h : h + d], plan.u, n) for h in starts]


def check_all(data: dict[str, Any], content: Content, file: Any) -> str:
    """Verifies every row modulo every prime with answers, from the companion file, which is read once for
    each of them: residues modulo one prime are all that is kept."""
    for answers in content.answered:
        heads = read_heads_file(file, data["companion"], content.shape, content.primes, answers.prime)
        check_values(answers, heads)
        full = Table.of(answers, heads.rows)
        leaves = all_leaves(full)
        if root_of(leaves) != answers.root:
            refuse(f"{answers.path}.root", "is not that of the answers of the listed heads")
        for opening in read_openings(content, answers):
            if opening.scores != full.scores(opening.row) or opening.path != path_of(leaves, opening.row):
                refuse(f"{answers.path}.openings", f"row {opening.row} is not that of the listed heads")
    primes = ", ".join(str(answers.prime) for answers in content.answered)
    return (
        f"recovery of {content.shape.heads} canonical heads; token size {content.shape.dim}, queries "
        f"{data['queries']}; all {content.shape.rows} rows modulo {primes} and the companion file verified; "
        f"integers determined by {len(content.primes)} primes"
    )


def check_values(answers: Answered, heads: Heads) -> None:
    p = answers.prime
    if [x % p for x in heads.values] != [x for row in answers.values for x in row]:
        refuse(f"{answers.path}.values", "are not those of the companion file modulo the prime")
    if heads.constant % p != answers.constant or (heads.constant and not answers.plan.bias):
        refuse(f"{answers.path}.constant", "is not that of the companion file modulo the prime")


def all_leaves(full: Table) -> list[bytes]:
    """Every row's leaf, by as many processes as there are processors if that is worth it."""
    plan = full.answers.plan
    rows = range(plan.rows)
    shared = full.answers.rows([scores[0] for scores in full.scores(0)])
    workers = os.cpu_count() or 1
    if workers == 1 or shared.copies * 2 * plan.dim * len(rows) < ALONE:
        return [row_leaf(full, shared, i) for i in rows]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, begin_worker, (full, shared)) as pool:
        return list(pool.map(leaf_in_worker, rows, chunksize=4))


def row_leaf(full: Table, shared: Rows, i: int) -> bytes:
    return leaf(i, shared.answers(full.answers.row(i, full.scores(i))))


WORK: list[tuple[Table, Rows]] = []  # in a worker process, what it works on


def begin_worker(full: Table, shared: Rows) -> None:
    WORK[:] = [(full, shared)]


def leaf_in_worker(i: int) -> bytes:
    return row_leaf(*WORK[0], i)


def check_in_file(data: dict[str, Any], file: Any, sample: bool) -> str:
    """The full check beside the companion file, or that of the sample."""
    content = read_content(data)
    return check_sample(content) if sample else check_all(data, content, file)


def check_alone(data: dict[str, Any]) -> str:
    refuse("companion", "is a file beside the certificate; check the certificate as a file")


PRIME = Kind(KEYS, check_alone, prime_texts, check_in_file)
