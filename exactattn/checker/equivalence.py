"""Certificates on whether two attention layers are the same function, version 1: plain or grouped heads,
biases, rotary positions.

A layer maps tokens x_1 ... x_n to outputs b_O + sum_h W_O^h sum_j p_j (W_V y_j + b_V), where the p_j are the
softmax of f (W_Q x + b_Q)^T R (W_K y_j + b_K); R turns each rotation plane by an angle that depends on the
distance of the two tokens, f^2 is the given factor. Both layers are written out in full.

Why equal forms make equal functions. The score of x and y is a sum of (x,1)^T M y for the dimensions that are
not rotated, plus a number that is the same for all y (the part of the key bias), which the softmax does not
see; and, for each plane with relative angle t, of cos t (x,1)^T A (y,1) + sin t (x,1)^T B (y,1). M, A and B
are the score forms of a head. The weights p_j sum to 1, so the head adds (W_O W_V) sum_j p_j y_j + W_O b_V.
So heads with equal score forms act together through the sum of their W_O W_V, and the constants add up to
b_O + sum_h W_O b_V. These matrices and this vector are recomputed here, exactly, and compared.

Why the input shows a difference: both outputs are enclosed there by fractions with directed rounding, and
the two enclosures are disjoint.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from .check import (
    Kind,
    cleared,
    count,
    digest,
    dot,
    items,
    number,
    numbers,
    record,
    refuse,
    sentences,
)

__all__ = ["EQUIVALENCE", "equivalence_texts"]

MAX_NUMBERS, MAX_SIZE, MAX_TOKENS, MAX_SCORE, BITS = 1 << 16, 1 << 10, 1 << 6, 1 << 12, 256
PROJECTIONS = ("query", "key", "value", "output")
LAYER_KEYS = {"heads", "groups", "head_size", "value_size", "factor_squared", *PROJECTIONS}
LAYER_KEYS |= {f"{name}_bias" for name in PROJECTIONS}

Matrix = list[list[int]]


class Layer(NamedTuple):
    """Projections with the bias as last column, as integers over one denominator each; b_O likewise."""

    heads: int
    share: int
    head_size: int
    value_size: int
    factor_squared: Fraction
    rows: dict[str, list[tuple[int, ...]]]
    units: dict[str, int]


def read_layer(x: Any, path: str, width: int, rotated: int) -> Layer:
    record(x, path, LAYER_KEYS)
    sizes = {
        key: count(x[key], f"{path}.{key}", 1, MAX_SIZE)
        for key in ("heads", "groups", "head_size", "value_size")
    }
    heads, groups, D, C = sizes.values()
    if heads % groups or rotated > D:
        refuse(path, "has groups that do not divide its heads, or more rotated dimensions than a head has")
    if (heads + groups) * (D + C) * width > MAX_NUMBERS:
        refuse(path, f"has more than {MAX_NUMBERS} numbers")
    factor = number(x["factor_squared"], f"{path}.factor_squared")
    if factor <= 0:
        refuse(f"{path}.factor_squared", "must be positive")
    shapes = {"query": (heads * D, width), "key": (groups * D, width)}
    shapes |= {"value": (groups * C, width), "output": (width, heads * C)}
    rows, units = {}, {}
    for name, shape in shapes.items():
        bias = x[f"{name}_bias"]
        given = numbers(x[name], f"{path}.{name}", *shape)
        column = (Fraction(0),) * shape[0]
        if bias is not None:
            column = numbers(bias, f"{path}.{name}_bias", shape[0])
        joined = tuple((*row, b) for row, b in zip(given, column, strict=True))
        rows[name], units[name] = cleared(joined, f"{path}.{name}")
    return Layer(heads, heads // groups, D, C, factor, rows, units)


def outer(left: list[tuple[int, ...]], right: list[tuple[int, ...]]) -> Matrix:
    """The sum of products of the columns: left^T right."""
    columns = list(zip(*right, strict=True))
    return [[dot(x, y) for y in columns] for x in zip(*left, strict=True)]


def score_forms(layer: Layer, h: int, rotated: int) -> tuple[list[Matrix], int]:
    """M if there are dimensions that are not rotated, A and B of every plane; their common denominator."""
    D = layer.head_size
    query = layer.rows["query"][h * D : (h + 1) * D]
    group = h // layer.share
    key = layer.rows["key"][group * D : (group + 1) * D]
    forms = [outer(query[rotated:], [row[:-1] for row in key[rotated:]])] if rotated < D else []
    for a in range(0, rotated, 2):
        q, (k, m) = query[a : a + 2], key[a : a + 2]
        forms += [outer(q, [k, m]), outer(q, [m, tuple(-y for y in k)])]
    return forms, layer.units["query"] * layer.units["key"]


def output_form(layer: Layer, heads: list[int]) -> tuple[Matrix, int]:
    """The sum of W_O [W_V, b_V] over heads, and its denominator."""
    C = layer.value_size
    left: list[tuple[int, ...]] = []
    right: list[tuple[int, ...]] = []
    columns = list(zip(*layer.rows["output"], strict=True))
    for h in heads:
        group = h // layer.share
        left += columns[h * C : (h + 1) * C]
        right += layer.rows["value"][group * C : (group + 1) * C]
    return outer(left, right), layer.units["output"] * layer.units["value"]


def apart(first: Matrix, a: Fraction, second: Matrix, b: Fraction) -> Fraction:
    """The sum of squares of the entries of a*first - b*second."""
    common = math.lcm(a.denominator, b.denominator)
    p, q = int(a * common), int(b * common)
    total = sum(
        (p * x - q * y) ** 2 for r, s in zip(first, second, strict=True) for x, y in zip(r, s, strict=True)
    )
    return Fraction(total, common**2)


def scores_apart(one: Layer, h: int, other: Layer, g: int, rotated: int, ratio: Fraction) -> Fraction:
    """The distance of the score forms of two heads, squared, the first ones times ratio."""
    (first, p), (second, q) = score_forms(one, h, rotated), score_forms(other, g, rotated)
    if len(first) != len(second):
        refuse("layers", "one has dimensions that are not rotated, the other has none")
    return sum(
        (apart(x, ratio / p, y, Fraction(1, q)) for x, y in zip(first, second, strict=True)), Fraction(0)
    )


def check_equivalence(data: dict[str, Any]) -> str:
    """Verifies the content of a certificate; returns the summary of its statement."""
    width = count(data["width"], "width", 1, MAX_SIZE)
    rotated = count(data["rotated"], "rotated", 0, MAX_SIZE)
    if rotated % 2:
        refuse("rotated", "must be even")
    first, second = (read_layer(x, path, width, rotated) for path, x in items(data["layers"], "layers", 2, 2))
    if data["verdict"] == "different":
        items(data["classes"], "classes", 0, 0)
        if data["constant"] is not None or rotated:
            refuse("verdict", "a difference has no classes and no constant, and no rotated dimensions")
        gap = check_input(data["input"], first, second, width)
        return f"two layers of width {width} are different: an input with outputs at least {gap} apart"
    if data["verdict"] not in ("equal", "within") or data["input"] is not None:
        refuse("verdict", "must be equal, within or different, with an input for different alone")
    distances = list(check_classes(data["classes"], (first, second), rotated))
    distances.append(check_constant(data["constant"], first, second))
    if (data["verdict"] == "equal") != (max(distances) == 0):
        refuse("verdict", "must be equal if all distances are 0, else within")
    if data["verdict"] == "equal":
        return (
            f"two layers of width {width} with {first.heads} and {second.heads} heads are the same function"
        )
    return f"the forms of two layers of width {width} are at most sqrt({max(distances)}) apart"


def check_classes(given: Any, layers: tuple[Layer, Layer], rotated: int) -> Iterator[Fraction]:
    """Every class of heads; heads in no class must add nothing. The squared distances."""
    ratio = rational_root(layers[0].factor_squared / layers[1].factor_squared)
    taken: tuple[set[int], set[int]] = (set(), set())
    for path, each in items(given, "classes", 0, MAX_SIZE):
        record(each, path, {"first", "second", "scores", "outputs"})
        members = []
        for name, layer, seen in zip(("first", "second"), layers, taken, strict=True):
            heads = [
                count(h, at, 0, layer.heads - 1) for at, h in items(each[name], f"{path}.{name}", 1, MAX_SIZE)
            ]
            if len(set(heads)) < len(heads) or seen & set(heads):
                refuse(f"{path}.{name}", "names a head twice")
            seen |= set(heads)
            if any(scores_apart(layer, heads[0], layer, h, rotated, Fraction(1)) for h in heads[1:]):
                refuse(f"{path}.{name}", "has heads with different score forms")
            members.append(heads)
        scores = scores_apart(layers[0], members[0][0], layers[1], members[1][0], rotated, ratio)
        (x, p), (y, q) = (output_form(layer, heads) for layer, heads in zip(layers, members, strict=True))
        x, y = ([row[:-1] for row in matrix] for matrix in (x, y))
        outputs = apart(x, Fraction(1, p), y, Fraction(1, q))
        for name, distance in (("scores", scores), ("outputs", outputs)):
            if number(each[name], f"{path}.{name}") != distance:
                refuse(f"{path}.{name}", "is not the squared distance")
            yield distance
    for layer, seen in zip(layers, taken, strict=True):
        for h in set(range(layer.heads)) - seen:
            if any(x for row in output_form(layer, [h])[0] for x in row[:-1]):
                refuse("classes", f"leave out head {h}, which adds to the output")


def rational_root(square: Fraction) -> Fraction:
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if root * root != square:
        refuse("layers", "the ratio of the factors on scores is irrational")
    return root


def constant(layer: Layer) -> tuple[list[int], int]:
    """b_O + sum_h W_O b_V and its denominator."""
    form, unit = output_form(layer, list(range(layer.heads)))
    scale = layer.units["value"]
    return [row[-1] + scale * o[-1] for row, o in zip(form, layer.rows["output"], strict=True)], unit


def check_constant(given: Any, first: Layer, second: Layer) -> Fraction:
    (x, p), (y, q) = constant(first), constant(second)
    distance = apart([x], Fraction(1, p), [y], Fraction(1, q))
    if number(given, "constant") != distance:
        refuse("constant", "is not the squared distance")
    return distance


# ---- an input at which outputs differ: enclosures with directed rounding ----

Interval = tuple[Fraction, Fraction]
ONE = 1 << BITS


def check_input(given: Any, first: Layer, second: Layer, width: int) -> Fraction:
    """The outputs at the input are at least the stated gap apart."""
    record(given, "input", {"tokens", "coordinate", "gap"})
    tokens = [
        (*numbers(x, path, width), Fraction(1))
        for path, x in items(given["tokens"], "input.tokens", 1, MAX_TOKENS)
    ]
    coordinate = count(given["coordinate"], "input.coordinate", 0, width - 1)
    gap = number(given["gap"], "input.gap")
    if gap <= 0:
        refuse("input.gap", "must be positive")
    (low, high), (least, most) = (output(layer, tokens, coordinate) for layer in (first, second))
    if max(least - high, low - most) < gap:
        refuse("input.gap", "is more than what the outputs are shown to be apart")
    return gap


def output(layer: Layer, tokens: list[tuple[Fraction, ...]], coordinate: int) -> Interval:
    """An enclosure of one coordinate of the output at the last token."""
    row = layer.rows["output"][coordinate]
    low = high = Fraction(row[-1], layer.units["output"])
    D, C = layer.head_size, layer.value_size
    f = layer.factor_squared
    root = math.isqrt((f.numerator << 2 * BITS) // f.denominator)
    factor = (Fraction(root, ONE), Fraction(root + 1, ONE))
    for h in range(layer.heads):
        group = h // layer.share
        unit = layer.units["query"] * layer.units["key"]
        query = [dot(q, tokens[-1]) for q in layer.rows["query"][h * D : (h + 1) * D]]
        keys = layer.rows["key"][group * D : (group + 1) * D]
        reader = [dot(query, column) for column in zip(*keys, strict=True)]
        scores = [Fraction(dot(reader, x), unit) for x in tokens]
        top = max(scores)
        weights = [exponential((score - top) * factor[1], (score - top) * factor[0]) for score in scores]
        values = layer.rows["value"][group * C : (group + 1) * C]
        reader = [dot(row[h * C : (h + 1) * C], column) for column in zip(*values, strict=True)]
        seen = [Fraction(dot(reader, x), layer.units["output"] * layer.units["value"]) for x in tokens]
        # a mean of values, counted from the least of them, so that all terms have one sign
        least = min(seen)
        parts = [x - least for x in seen]
        for k, up in ((0, 1), (1, 0)):
            above = sum((w[k] * x for w, x in zip(weights, parts, strict=True)), Fraction(0))
            bound = least + above / sum((w[up] for w in weights), Fraction(0))
            low, high = (low, high + bound) if k else (low + bound, high)
    return low, high


def exponential(low: Fraction, high: Fraction) -> Interval:
    """Fractions around e^x for all x from low to high, at most 0."""
    if low < -MAX_SCORE:
        refuse("input.tokens", f"a score is more than {MAX_SCORE} below the largest one")
    return Fraction(power(low, 0), ONE), Fraction(power(high, 1), ONE)


def power(x: Fraction, up: int) -> int:
    """e^x times 2^BITS, rounded down or up, for -MAX_SCORE <= x <= 0."""
    steps = MAX_SCORE.bit_length() + 1
    # y = x/2^steps, rounded the same way, is between -1/4 and 0
    bottom = x.denominator << steps
    y = -((-x.numerator << BITS) // bottom) if up else (x.numerator << BITS) // bottom
    term = total = ONE
    error = 0
    for n in range(1, 64):
        term = (term * y >> BITS) // n
        total += term
        error += 2
    # each term is off by less than 2, and the rest of the series is below 4^-64/64! < 2^-BITS
    value = total + error + 2 if up else total - error - 2
    for _ in range(steps):
        value = (value * value >> BITS) + up if value > 0 else 0
    return value + up


STATEMENT = """
* equal | The two layers of width {width} written out here (first {first}, second {second}) are the same
function: for every sequence of tokens and every position their outputs are equal.
* equal | For each class of heads listed, the score forms of its heads in both layers are equal, and so are
the sums of W_O W_V over its heads in the first and in the second layer; heads in no class have W_O W_V = 0;
the constants b_O + sum of W_O b_V are equal.
* within | The two layers of width {width} written out here (first {first}, second {second}) have forms that
are close: for each class of heads listed, the sum of squares of the differences of all entries of the score
forms is exactly "scores" (those of the first layer times the ratio of the factors on scores), that of the
sums of W_O W_V is exactly "outputs", and that of the constants b_O + sum of W_O b_V is exactly {constant}.
* different | The two layers of width {width} written out here (first {first}, second {second}) are different
functions: after the {tokens} tokens listed, read at the last, coordinate {coordinate} (from 0) of their
outputs differs by at least {gap}.
"""
HYPOTHESES = """
* plain | assumed | Both layers are a softmax of scores over the tokens that a position sees, the same ones in
both, without sinks, caps, norms of queries and keys, or terms that depend on positions in another way than
listed here; the last token sees all tokens.
* rotated | angles | assumed | In both layers the first {rotated} dimensions of each query and key are turned
in planes (0, 1), (2, 3), ... after biases are added, by the same angles.
"""
LIMITS = """
* That any program which is said to compute these layers does so.
* Anything about computation in floating point.
* within | That the layers are the same function, or how far apart their outputs can be.
* different | How far apart outputs are at other inputs, or that the difference matters.
* forms | Anything about other parts of the models that the layers are from.
"""


def equivalence_texts(data: dict[str, Any]) -> dict[str, Any]:
    """The sentences of a certificate, from its content."""
    verdict, shown = data["verdict"], data["input"]
    facts = {"width": data["width"], "rotated": data["rotated"], "constant": data["constant"]}
    facts |= {name: digest(x) for name, x in zip(("first", "second"), data["layers"], strict=True)}
    if shown is not None:
        facts |= {"tokens": len(shown["tokens"]), "coordinate": shown["coordinate"], "gap": shown["gap"]}
    conditions = {name: verdict == name for name in ("equal", "within", "different")}
    conditions |= {"rotated": data["rotated"] > 0, "forms": verdict != "different"}
    return sentences((STATEMENT, HYPOTHESES, LIMITS), facts, conditions)


KEYS = "verdict width rotated layers classes constant input"
EQUIVALENCE = Kind(KEYS, check_equivalence, equivalence_texts)
