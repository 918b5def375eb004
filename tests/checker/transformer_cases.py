"""Certificates of recovered Transformers for tests, and false ones made of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

from exactattn.certificate import recovery_certificate, transformer_certificate
from exactattn.certificate.recovery import sealed_recovery
from exactattn.certificate.transformer import sealed_transformer
from exactattn.model import Attention, Head
from exactattn.model.random_transformer import random_transformer
from exactattn.oracle import ExactOracle
from exactattn.oracle.transformer import TransformerOracle
from exactattn.recovery import recover
from exactattn.recovery.relu import recover_transformer

Content = dict[str, Any]

# heads, token size, neurons, options of the model, options of the recovery
MODELS: dict[str, tuple[int, int, int, Content, Content]] = {
    "one": (1, 2, 1, {}, {}),
    "one with a residual": (1, 2, 1, {"residual": True}, {}),
    "two heads": (2, 2, 2, {}, {}),
    "more neurons than numbers": (2, 2, 8, {}, {}),
    "residual": (1, 2, 2, {"residual": True}, {}),
    "residual and linear path": (1, 2, 2, {"residual": True, "bypass": True}, {}),
    "spacing": (1, 2, 2, {}, {"neurons": None, "kink_spacing": "1/1000"}),
    "bound above": (1, 2, 2, {}, {"heads": 2}),
    "hidden head": (2, 2, 3, {"plant": "hidden head"}, {}),
    "no antisymmetric queries": (2, 2, 2, {}, {"antisymmetric": False}),
    "duplicates": (2, 2, 3, {"plant": "duplicate neuron"}, {}),
    "equal heads": (2, 2, 2, {"plant": "duplicate head"}, {}),
    "near-parallel": (1, 2, 2, {"plant": "near-parallel pair", "gap": 10}, {}),
    "only linear": (1, 2, 2, {"plant": "linear pair"}, {}),
}


@cache
def _made(name: str, public: bool) -> Content:
    heads, dim, neurons, planted, options = MODELS[name]
    model = random_transformer(heads, dim, neurons, seed=2, **planted)
    stated = {"heads": heads, "neurons": len(model.canonical().kinks), "residual": model.residual}
    result = recover_transformer(TransformerOracle(model), **{**stated, **options})
    return transformer_certificate(result, model if public else None)


def certificate(name: str, *, public: bool = True) -> Content:
    """A certificate that the checker accepts, to be changed at will."""
    return copy.deepcopy(_made(name, public))


def _answer_altered(x: Content) -> None:
    x["asked"][5]["answer"] = "12345/678"


def _line_altered(x: Content) -> None:
    x["pieces"][1]["line"][0] += "1"


def _piece_missing(x: Content) -> None:
    del x["pieces"][1], x["regions"][1]


def _lines_swapped(x: Content) -> None:
    first, second = x["pieces"][:2]
    first["line"], second["line"] = second["line"], first["line"]


def _piece_over_a_kink(x: Content) -> None:
    first, second = x["pieces"][:2]
    first["abscissae"] += second["abscissae"][:1]


def _piece_of_two_places(x: Content) -> None:
    x["pieces"][0]["abscissae"] = x["pieces"][0]["abscissae"][:2]


def _end_not_reached(x: Content) -> None:
    x["pieces"][-1]["abscissae"].pop()
    while len(x["pieces"][-1]["abscissae"]) < 3:
        x["pieces"][-1]["abscissae"].append(x["pieces"][-1]["abscissae"][-1])


def _region_of_another_piece(x: Content) -> None:
    x["regions"][0] = x["regions"][1]


def _query_outside_its_region(x: Content) -> None:
    x["regions"][0] = sorted({*x["regions"][0], *x["regions"][1]})


def _region_of_low_rank(x: Content) -> None:
    n = {tuple(q["last"]): k for k, q in enumerate(x["asked"]) if not q["runs"]}
    x["regions"][0] = [k for k in x["regions"][0] if k in n.values()] * 3
    x["regions"][0] = sorted({*x["regions"][0]}) + x["regions"][0][:2]


def _region_without_its_piece(x: Content) -> None:
    single = [k for k, q in enumerate(x["asked"]) if not q["runs"]]
    x["regions"][0] = [k for k in x["regions"][0] if k not in single]


def _orientation_reversed(x: Content) -> None:
    beta = x["neurons"][0]["beta"]
    x["neurons"][0]["beta"] = [[negative(y) for y in row] for row in beta]


def _sign_reversed(x: Content) -> None:
    """Of a kink and of its neuron: another function, whose form is canonical."""
    kink = x["kinks"][0]
    size = next(y for row in kink["direction"] for y in row if y != "0")
    for neuron in x["neurons"]:
        if next(y for row in neuron["beta"] for y in row if y != "0").strip("-") == size:
            neuron["a"] = negative(neuron["a"])
    kink["sign"] *= -1
    x["kinks"].sort(key=by_order)


def _further_parallel_neuron(x: Content) -> None:
    """2 ReLU(s) = ReLU(s) + ReLU(s): the same function, but not canonical."""
    x["neurons"].append(copy.deepcopy(x["neurons"][0]))
    x["neurons"][0]["a"] = x["neurons"][-1]["a"] = x["neurons"][0]["a"] + "/2"


def _further_parallel_kink(x: Content) -> None:
    extra = copy.deepcopy(x["kinks"][0])
    extra["direction"] = [[doubled(y) for y in row] for row in extra["direction"]]
    x["kinks"] = sorted([*x["kinks"], extra], key=by_order)


def _dead_head(x: Content) -> None:
    x["heads_bound"] += 1
    x["matrices"].insert(0, [["-99", "0"], ["0", "0"]])
    for row in [x["linear"], *(k["direction"] for k in x["kinks"]), *(n["beta"] for n in x["neurons"])]:
        row.insert(0, ["0", "0"])
    x["attention"] = x["model"] = None


def _direction_not_oriented(x: Content) -> None:
    x["kinks"][0]["direction"] = [[negative(y) for y in row] for row in x["kinks"][0]["direction"]]


def _kinks_out_of_order(x: Content) -> None:
    x["kinks"].reverse()


def _more_neurons_stated(x: Content) -> None:
    x["stated"]["neurons"] += 1


def _spacing_too_small(x: Content) -> None:
    x["stated"] = {"kink_spacing": "1/1000000000000"}


def _attention_of_another_layer(x: Content) -> None:
    x["attention"] = certificate("more neurons than numbers")["attention"]


def _attention_altered(x: Content) -> None:
    x["attention"]["answers"][0] += "1"


def _attention_of_other_answers(x: Content) -> None:
    x["attention"]["answers"][3] += "1"
    x["attention"] = sealed_recovery(x["attention"])


def _attention_of_other_heads(x: Content) -> None:
    """A true certificate of another layer, with the matrices of this one."""
    heads = [Head.of(W, [1, k + 2]) for k, W in enumerate(x["matrices"])]
    layer = Attention.of(heads)
    x["attention"] = recovery_certificate(recover(ExactOracle(layer), 2))


def _attention_of_another_kind(x: Content) -> None:
    x["attention"] = copy.deepcopy({**x, "attention": None})


def _negative_not_asked(x: Content) -> None:
    """The negative of the plan's first query is missing (it belongs to no piece and no region)."""
    first = [*map(negative, x["attention"]["b"][0])]
    place = next(k for k, q in enumerate(x["asked"]) if q["last"] == first and not q["runs"])
    del x["asked"][place]
    x["queries"] -= 1
    x["regions"] = [[n - (n > place) for n in region] for region in x["regions"]]


def _asked_twice(x: Content) -> None:
    x["asked"].append(x["asked"][0])
    x["queries"] += 1


def _other_model(x: Content) -> None:
    x["model"]["neurons"][0]["a"] += "1"


def _count_altered(x: Content) -> None:
    x["queries"] += 1


def _path_within_a_line(x: Content) -> None:
    x["path"]["corner"] = x["path"]["start"]


def by_order(kink: Content) -> tuple[int, ...]:
    """The place of a kink with integral entries."""
    return (kink["sign"], *(int(x) for row in kink["direction"] for x in row))


def negative(text: str) -> str:
    """The negative of a canonical number."""
    return text if text == "0" else text[1:] if text[0] == "-" else f"-{text}"


def doubled(text: str) -> str:
    return str(2 * int(text))


# name: the change of the certificate "two heads", and words of the reason
REFUSED: dict[str, tuple[Callable[[Content], None], str]] = {
    "answer altered": (_answer_altered, "asked[5].answer: is not the value"),
    "wrong line": (_line_altered, "pieces[1].line: is not the form's line"),
    "missing piece": (_piece_missing, "pieces: must be a list of 3 items"),
    "lines swapped": (_lines_swapped, "pieces[0].line"),
    "piece over a kink": (_piece_over_a_kink, "pieces[0]"),
    "piece of two places": (_piece_of_two_places, "must be a list of 3"),
    "end not reached": (_end_not_reached, "pieces"),
    "region of another piece": (_region_of_another_piece, "regions[0]: holds no place"),
    "query outside its region": (_query_outside_its_region, "regions[0]: a kink has another sign"),
    "region repeats queries": (_region_of_low_rank, "regions[0]"),
    "region without its piece": (_region_without_its_piece, "regions[0]"),
    "orientation reversed": (_orientation_reversed, "neurons: are not those"),
    "sign reversed": (_sign_reversed, ""),
    "further parallel neuron": (_further_parallel_neuron, "neurons: are not those"),
    "further parallel kink": (_further_parallel_kink, "kinks: two are parallel"),
    "dead head": (_dead_head, "matrices: block 0 has no effect"),
    "direction not oriented": (_direction_not_oriented, "first non-zero entry is positive"),
    "kinks out of order": (_kinks_out_of_order, "ascending order"),
    "more neurons stated": (_more_neurons_stated, "stated.neurons"),
    "spacing too small": (_spacing_too_small, "not closer than the stated spacing"),
    "attention of another layer": (_attention_of_another_layer, "attention.heads"),
    "attention altered": (_attention_altered, "digest"),
    "attention of other answers": (_attention_of_other_answers, "is not the value of the listed heads"),
    "attention of other heads": (_attention_of_other_heads, "not the antisymmetric part"),
    "attention of another kind": (_attention_of_another_kind, "attention.kind"),
    "negative not asked": (_negative_not_asked, "or its negative, was not asked"),
    "asked twice": (_asked_twice, "must be a new query"),
    "other model": (_other_model, "model: has another canonical form"),
    "count altered": (_count_altered, "queries: is"),
    "path within a line": (_path_within_a_line, "path: its two tokens"),
}


def refused(name: str) -> Content:
    """A false certificate, with the sentences and the digest that belong to its content."""
    content = certificate("two heads")
    REFUSED[name][0](content)
    return sealed_transformer(content)
