"""The layer that a rank certificate describes, read strictly; where its learned numbers are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from .check import count, items, number, record, refuse, shown

__all__ = [
    "MAX_PARAMETERS",
    "MAX_TOKENS",
    "Spec",
    "bucket",
    "independent_angles",
    "keeps_factor",
    "rank_shapes",
    "read_primes",
    "read_sizes",
    "read_spec",
    "rotation_pairs",
]

MAX_PARAMETERS, MAX_TOKENS = 1 << 14, 1 << 14

Spec = dict[str, Any]


def truth(x: Any, path: str) -> bool:
    if type(x) is not bool:
        refuse(path, f"is {shown(x)}, must be true or false")
    return x


def choice(x: Any, path: str, *words: str) -> str:
    if type(x) is not str or x not in words:
        refuse(path, f"is {shown(x)}, must be one of {', '.join(words)}")
    return x


def optional(x: Any, path: str, read: Callable[..., Any], *more: Any) -> Any:
    return None if x is None else read(x, path, *more)


def positive(x: Any, path: str) -> Fraction:
    value = number(x, path)
    return value if value > 0 else refuse(path, "must be positive")


def size(x: Any, path: str) -> int:
    return count(x, path, 1, MAX_PARAMETERS)


def read_norm(x: Any, path: str) -> dict[str, Any]:
    record(x, path, {"kind", "eps", "scale", "shift"})
    eps = number(x["eps"], f"{path}.eps")
    if eps < 0:
        refuse(f"{path}.eps", "must be at least 0")
    norm = {"kind": choice(x["kind"], f"{path}.kind", "rms", "layer"), "eps": eps}
    norm |= {key: truth(x[key], f"{path}.{key}") for key in ("scale", "shift")}
    if norm["shift"] and not (norm["scale"] and norm["kind"] == "layer"):
        refuse(f"{path}.shift", "needs a layer norm with scales")
    return norm


def read_latent(x: Any, path: str) -> dict[str, Any]:
    record(x, path, {"rank", "norm", "bias"})
    norm = optional(x["norm"], f"{path}.norm", read_norm)
    return {"rank": size(x["rank"], f"{path}.rank"), "norm": norm, "bias": truth(x["bias"], f"{path}.bias")}


def read_rotary(x: Any, path: str) -> dict[str, Any]:
    record(x, path, {"size", "pairing", "base", "rule", "shared_key"})
    base = optional(x["base"], f"{path}.base", positive)
    if size(x["size"], f"{path}.size") % 2 or (base is not None and base <= 1):
        refuse(path, "must have an even size and a base above 1")
    if x["rule"] is not None and (
        type(x["rule"]) is not str or not re.fullmatch(r"[a-z0-9_-]{1,40}", x["rule"])
    ):
        refuse(f"{path}.rule", "must be a word or null")
    pairing = choice(x["pairing"], f"{path}.pairing", "half-split", "interleaved")
    base = base if x["rule"] is None else None
    return {
        "size": x["size"],
        "pairing": pairing,
        "base": base,
        "shared": truth(x["shared_key"], f"{path}.shared_key"),
    }


def read_query_key_norm(x: Any, path: str) -> dict[str, Any]:
    record(x, path, {"norm", "scope"})
    scope = choice(x["scope"], f"{path}.scope", "shared", "separate", "width")
    return {**read_norm(x["norm"], f"{path}.norm"), "scope": scope}


def read_relative_bias(x: Any, path: str) -> dict[str, Any]:
    record(x, path, {"buckets", "max_distance", "bidirectional"})
    both = truth(x["bidirectional"], f"{path}.bidirectional")
    buckets = count(x["buckets"], f"{path}.buckets", 4 if both else 2, MAX_PARAMETERS)
    distance = count(x["max_distance"], f"{path}.max_distance", 1, MAX_TOKENS)
    one_way = buckets // 2 if both else buckets
    if (both and buckets % 2) or distance <= one_way // 2:
        refuse(path, "has an odd number of buckets for two directions, or too small a distance")
    return {"buckets": buckets, "distance": distance, "both": both, "one_way": one_way}


POSITIONAL = ("rotary", "alibi", "relative_bias", "causal", "window")
TIES = ("key=value", "query heads", "query=key")
SPEC_READERS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("width", "heads", "groups", "head_size", "value_size"), size),
    **dict.fromkeys(("source_width", "window"), lambda x, path: optional(x, path, size)),
    **dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "alibi", "causal"), truth),
    **dict.fromkeys(("query_latent", "key_value_latent"), lambda x, path: optional(x, path, read_latent)),
    **dict.fromkeys(("soft_cap", "scale_squared"), lambda x, path: optional(x, path, positive)),
    **dict.fromkeys(("norm_before", "norm_after"), lambda x, path: optional(x, path, read_norm)),
    "rotary": lambda x, path: optional(x, path, read_rotary),
    "query_key_norm": lambda x, path: optional(x, path, read_query_key_norm),
    "relative_bias": lambda x, path: optional(x, path, read_relative_bias),
    "sinks": lambda x, path: optional(x, path, choice, "learned", "one"),
    "ties": lambda x, path: [choice(y, at, *TIES) for at, y in items(x, path, 0, 3)],
}


def read_spec(x: Any) -> Spec:
    """The layer described, every field read, and what follows from them."""
    record(x, "spec", set(SPEC_READERS))
    s: Spec = {key: read(x[key], f"spec.{key}") for key, read in SPEC_READERS.items()}
    rotary, latent, norm, ties = s["rotary"], s["key_value_latent"], s["query_key_norm"], s["ties"]
    s["R"] = rotary["size"] if rotary else 0
    s["shared"] = s["R"] if rotary and rotary["shared"] else 0
    s["cross"] = s["source_width"] is not None
    s["key_width"] = s["source_width"] or s["width"]
    s["query_heads"] = s["groups"] if "query heads" in ties else s["heads"]
    s["key"] = "query" if "query=key" in ties else "key"
    s["value"] = s["key"] if "key=value" in ties else "value"
    s["square"] = s["scale_squared"] or Fraction(1, s["head_size"])
    wrong = {
        "groups": s["heads"] % s["groups"] or (latent and s["groups"] != s["heads"]),
        "rotary": s["R"] > s["head_size"] or (s["shared"] and not latent),
        "query_key_norm": norm and (latent or s["query_latent"]),
        "soft_cap": s["soft_cap"] and (s["alibi"] or s["relative_bias"]),
        "relative_bias": s["relative_bias"] and s["window"],
        "source_width": s["cross"] and any(s[k] for k in POSITIONAL),
        "ties": ties != sorted(set(ties))
        or (ties and bool(norm or latent or s["query_latent"] or s["sinks"])),
        "norm_before": ties and s["norm_before"] and s["norm_before"]["kind"] == "layer",
    }
    if "query=key" in ties:
        wrong["ties"] |= (
            s["groups"] != s["heads"] or s["query_bias"] != s["key_bias"] or s["key_width"] != s["width"]
        )
    if "key=value" in ties:
        wrong["ties"] |= s["head_size"] != s["value_size"] or s["key_bias"] != s["value_bias"]
    for key, is_wrong in wrong.items():
        if is_wrong:
            refuse(f"spec.{key}", "does not go with the rest of the layer, or is not known to this checker")
    check_normed_sizes(s)
    return s


def check_normed_sizes(s: Spec) -> None:
    """A norm needs at least 2 numbers, layer norm 3, for the roots of different norms to be independent."""
    latents = [(s[key]["norm"], s[key]["rank"]) for key in ("query_latent", "key_value_latent") if s[key]]
    seen = min(s["width"], s["heads"] * s["value_size"] + s["output_bias"])
    around = [(s["norm_before"], s["width"]), (s["norm_after"], seen), (s["query_key_norm"], s["head_size"])]
    for norm, numbers_ in latents + around:
        if norm and numbers_ < 2 + (norm["kind"] == "layer"):
            refuse("spec", "a norm covers too few numbers")


def read_sizes(x: Any, s: Spec) -> list[tuple[int, int]]:
    """Lengths of the sequences, and of the other ones of cross-attention."""
    sizes = []
    for path, pair in items(x, "sizes", 1, MAX_TOKENS):
        (at, n), (other, m) = items(pair, path, 2, 2)
        least = int(s["cross"])
        sizes.append((count(n, at, 1, MAX_TOKENS), count(m, other, least, least * MAX_TOKENS)))
    return sizes


def read_primes(x: Any, s: Spec) -> list[int]:
    """p = 2q + 1, q, and q = 2l + 1, l where scores are capped; all 3 modulo 4, p between 2^30 and 2^31."""
    primes = [count(y, at, 1 << 28, 1 << 31) for at, y in items(x, "primes", 2, 3)]
    if len(primes) != 2 + (s["soft_cap"] is not None) or primes[0] <= 1 << 30:
        refuse("primes", "must be p, q, and l where scores are capped, with p > 2^30")
    for p in primes:
        if p % 4 != 3 or not all(p % d for d in range(3, math.isqrt(p) + 1, 2)):
            refuse("primes", f"{p} is not a prime of the form 4k + 3")
    if any(p != 2 * q + 1 for p, q in pairwise(primes)):
        refuse("primes", "each must be twice the next one plus 1")
    return primes


def rank_shapes(s: Spec) -> dict[str, tuple[int, int]]:
    """Rows and columns of every array of learned numbers, in their order."""
    found: dict[str, tuple[int, int]] = {}

    def linear(name: str, rows: int, columns: int, bias: bool) -> None:
        if rows:
            found[name] = (rows, columns)
            if bias:
                found[f"{name} bias"] = (rows, 1)

    def norm(name: str, norm: dict[str, Any] | None, length: int) -> None:
        for kind in ("scale", "shift"):
            if norm and norm[kind]:
                found[f"{name} {kind}"] = (length, 1)

    E, F, H, G, D, C = (
        s[key] for key in ("width", "key_width", "heads", "groups", "head_size", "value_size")
    )
    query, latent = s["query_latent"], s["key_value_latent"]
    norm("before", s["norm_before"], E)
    for name, each, width in (("query", query, E), ("key/value", latent, F)):
        if each:
            linear(f"{name} down", each["rank"], width, each["bias"])
            norm(f"{name} latent", each["norm"], each["rank"])
    if s["shared"]:
        linear("rotated key", s["R"], F, latent["bias"])
    inner = latent["rank"] if latent else F
    linear("query", s["query_heads"] * D, query["rank"] if query else E, s["query_bias"])
    if s["key"] == "key":
        linear("key", G * (D - s["shared"]), inner, s["key_bias"])
    if s["value"] == "value":
        linear("value", G * C, inner, s["value_bias"])
    linear("output", E, H * C, s["output_bias"])
    if s["query_key_norm"]:
        shared = s["query_key_norm"]["scope"] == "shared"
        norm("query norm", s["query_key_norm"], D if shared else s["query_heads"] * D)
        norm("key norm", s["query_key_norm"], D if shared else G * D)
    if s["sinks"] == "learned":
        found["sinks"] = (H, 1)
    if s["relative_bias"]:
        found["relative bias"] = (H, s["relative_bias"]["buckets"])
    norm("after", s["norm_after"], E)
    return found


def rotation_pairs(s: Spec) -> list[tuple[int, int]]:
    """The two dimensions of each rotation plane of a head."""
    planes = s["R"] // 2
    if planes and s["rotary"]["pairing"] == "interleaved":
        return [(2 * k, 2 * k + 1) for k in range(planes)]
    return [(k, k + planes) for k in range(planes)]


def keeps_factor(s: Spec) -> bool:
    """Whether no learned number absorbs the factor on the scores."""
    return bool(s["query_key_norm"]) and not s["query_key_norm"]["scale"]


def independent_angles(base: Fraction, planes: int) -> tuple[int, Fraction]:
    """The least d with b^(d/planes) rational, and that number: d of the angles are independent over Q."""
    for d in range(1, planes + 1):
        if planes % d == 0:
            roots = [integer_root(x, planes // d) for x in (base.numerator, base.denominator)]
            if all(
                root ** (planes // d) == x for root, x in zip(roots, base.as_integer_ratio(), strict=True)
            ):
                break
    return d, Fraction(*roots)


def integer_root(x: int, degree: int) -> int:
    """The greatest r with r^degree <= x."""
    low, high = 0, 1 << (x.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pow(middle, degree) <= x else (low, middle)
    return low


def bucket(table: dict[str, Any], offset: int) -> int:
    """The bucket of a key this many tokens after the query: one distance each, then logarithmic ones."""
    one_way: int = table["one_way"]
    both: bool = table["both"]
    start, distance = (one_way if both and offset > 0 else 0), (abs(offset) if both else max(-offset, 0))
    single = one_way // 2
    if distance < single or single == 0:
        return start + min(distance, one_way - 1)
    steps, step = one_way - single, 0
    while (
        step < steps - 1
        and distance**steps * single ** (step + 1) >= table["distance"] ** (step + 1) * single**steps
    ):
        step += 1
    return start + single + step
