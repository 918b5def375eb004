"""Layers in files: what is written comes back, and what is not a model is refused by file and field."""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import sys
import tempfile
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from exactattn.exceptions import InputError
from exactattn.model import Attention, Head, layer_json, load_layer, model_schema, random_layer, save_layer
from exactattn.model import files as files_module
from exactattn.model.exact_json import NumberText, parse_json

VALIDATOR = jsonschema.Draft202012Validator(model_schema())


@st.composite
def layers(draw: st.DrawFn) -> Attention:
    dim = draw(st.integers(1, 3))
    entry = st.one_of(
        st.integers(-9, 9).map(fmpq),
        st.fractions().map(lambda x: fmpq(x.numerator, x.denominator)),
        st.floats(allow_nan=False, allow_infinity=False).map(lambda x: fmpq(*x.as_integer_ratio())),
        st.integers(-(10**800), 10**800).map(fmpq),
    )
    row = st.tuples(*[entry] * dim)
    heads = draw(st.lists(st.builds(Head, st.tuples(*[row] * dim), row), max_size=3))
    name = draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
    return Attention.of(heads, dim, name=name)


def document(**changes: Any) -> dict[str, Any]:
    """A good model with two heads, changed at the top level."""
    head = {"W": [["1/2", 0], [-3, "0.25"]], "v": [1, "-2/3"]}
    return {"format": "exactattn-model", "version": 1, "dim": 2, "heads": [head, head], **changes}


def head_document(**changes: Any) -> dict[str, Any]:
    """The same with the second head changed."""
    good = document()
    good["heads"][1] = {**good["heads"][1], **changes}
    return good


def without(key: str) -> dict[str, Any]:
    data = document()
    del data[key]
    return data


def save_text(folder: Path, text: str | bytes, name: str = "model.json") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def refusal(file: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        load_layer(file)
    assert caught.value.file == str(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)
    return caught.value


# what is written comes back


@given(layers())
@settings(max_examples=60, deadline=None)
def test_a_saved_layer_comes_back_and_fits_the_schema(layer: Attention) -> None:
    """Breaks: a model file would be another model, or not in the published format."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        save_layer(layer, file)
        again = load_layer(file)
        assert (again, again.name) == (layer, layer.name)
        VALIDATOR.validate(json.loads(file.read_text()))
        assert os.listdir(folder) == ["model.json"]


def test_a_saved_layer_is_one_readable_line_a_head(tmp_path: Path) -> None:
    """Breaks: the format as people read and write it."""
    file = tmp_path / "model.json"
    save_layer(Attention.of([Head.of([[1, "1/2"], [0, 2**60]], [3, -4])], name="two by two"), file)
    assert file.read_text().splitlines() == [
        "{",
        '  "format": "exactattn-model",',
        '  "version": 1,',
        '  "name": "two by two",',
        '  "dim": 2,',
        '  "heads": [',
        '    {"W": [[1, "1/2"], [0, "1152921504606846976"]], "v": [3, -4]}',
        "  ]",
        "}",
    ]


def test_entries_are_read_as_the_numbers_they_say(tmp_path: Path) -> None:
    """Breaks: 0.1 in a file would become the binary float next to 1/10."""
    entries = ["0.1", '"0.1"', '"1/10"', '"2/20"', "1E-1", '"0x1/0xa"', '" 1/10 "']
    heads = ",".join(f'{{"W": [[{text}]], "v": [1]}}' for text in entries)
    file = save_text(tmp_path, f'{{"format": "exactattn-model", "version": 1, "dim": 1, "heads": [{heads}]}}')
    assert {head.W[0][0] for head in load_layer(file).heads} == {fmpq(1, 10)}
    long_integer = "7" * 5000
    file = save_text(tmp_path, json.dumps(document()).replace("-3", long_integer))
    assert load_layer(file).heads[0].W[1][0].p.bit_length() > 16000


def test_no_heads_is_the_zero_function(tmp_path: Path) -> None:
    """Breaks: the zero function could not be given, or would lose its token size."""
    layer = load_layer(save_text(tmp_path, json.dumps(document(heads=[], dim=5))))
    assert (layer.heads, layer.dim) == ((), 5)


def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: a full disk would leave half a model in place of a whole one."""
    file = tmp_path / "model.json"
    first = random_layer(2, 2, seed=1)
    save_layer(first, file)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files_module.os, "fsync", full)
    with pytest.raises(InputError, match=r"model\.json: cannot be written: No space left on device"):
        save_layer(random_layer(3, 2, seed=2), file)
    assert load_layer(file) == first
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.parametrize("name", ["model.npz", "model.safetensors", "no/such/folder/model.json", "."])
def test_places_that_cannot_be_written_are_named(tmp_path: Path, name: str) -> None:
    """Breaks: a file that load_layer would read as another format, or a traceback."""
    with pytest.raises(InputError) as caught:
        save_layer(random_layer(1, 1, seed=1), tmp_path / name)
    assert caught.value.file == str(tmp_path / name)


# JSON that is no model

# Text that is not even JSON in the strict sense: a schema never sees it.
NOT_JSON = {
    "empty": ("", "is not JSON"),
    "cut off": (json.dumps(document())[:-5], "is not JSON"),
    "binary": (b"\x80\x81\xfe\xff" * 9, "UTF-8"),
    "NaN": (json.dumps(document()).replace("-3", "NaN"), "NaN is not a number"),
    "infinity": (json.dumps(document()).replace("-3", "-Infinity"), "-Infinity is not a number"),
    "a key twice": (json.dumps(document()).replace('"dim": 2', '"dim": 2, "dim": 2'), "'dim' appears twice"),
    "a key of a head twice": (json.dumps(document()).replace('"v":', '"v": 1, "v":', 1), "'v' appears twice"),
    "deep": ("[" * 200_000, "too deeply"),
    "two documents": (json.dumps(document()) * 2, "is not JSON"),
}

# JSON that the schema refuses, with the field and a word of the message.
AGAINST_SCHEMA = {
    "a list": ([1], None, "must be an object"),
    "a number": (7, None, "must be an object"),
    "no format": (without("format"), None, "'format' is missing"),
    "no version": (without("version"), None, "'version' is missing"),
    "no dim": (without("dim"), None, "'dim' is missing"),
    "no heads": (without("heads"), None, "'heads' is missing"),
    "unknown key": (document(biases=[]), None, "'biases' is not known"),
    "other format": (document(format="onnx"), "format", "exactattn-model"),
    "version 2": (document(version=2), "version", "reads version 1"),
    "version as text": (document(version="1"), "version", "reads version 1"),
    "version true": (document(version=True), "version", "reads version 1"),
    "dim 0": (document(dim=0, heads=[]), "dim", "at least 1"),
    "dim 2.5": (document(dim=2.5), "dim", "at least 1"),
    "dim true": (document(dim=True), "dim", "at least 1"),
    "dim as text": (document(dim="2"), "dim", "at least 1"),
    "name is a number": (document(name=3), "name", "must be a text"),
    "heads is an object": (document(heads={}), "heads", "list"),
    "a head is a list": (document(heads=[[]]), "heads[0]", "must be an object"),
    "a head without v": (document(heads=[{"W": [[1, 2], [3, 4]]}]), "heads[0]", "'v' is missing"),
    "a head with a bias": (head_document(b=[0, 0]), "heads[1]", "'b' is not known"),
    "W is a number": (head_document(W=3), "heads[1].W", "list of 2 rows"),
    "W is empty": (head_document(W=[]), "heads[1].W", "0 rows"),
    "a row is a number": (head_document(W=[1, 2]), "heads[1].W[0]", "list of 2 entries"),
    "a row is text": (head_document(W=["12", "34"]), "heads[1].W[0]", "list of 2 entries"),
    "v is empty": (head_document(v=[]), "heads[1].v", "0 entries"),
    "an entry is null": (head_document(v=[1, None]), "heads[1].v[1]", "not a number"),
    "an entry is true": (head_document(v=[True, 1]), "heads[1].v[0]", "truth value"),
    "an entry is a list": (head_document(v=[1, [2]]), "heads[1].v[1]", "not a number"),
    "an entry is a word": (head_document(W=[[1, "one"], [1, 2]]), "heads[1].W[0][1]", "not a number"),
    "NaN as text": (head_document(v=["nan", 1]), "heads[1].v[0]", "not a number"),
    "infinity as text": (head_document(v=[1, "-inf"]), "heads[1].v[1]", "not a number"),
    "denominator 0": (head_document(v=["1/0", 1]), "heads[1].v[0]", "denominator 0"),
    "denominator 0x00": (head_document(v=["1/0x00", 1]), "heads[1].v[0]", "denominator 0"),
    "negative denominator": (head_document(v=["1/-2", 1]), "heads[1].v[0]", "not a number"),
    "a decimal point alone": (head_document(v=[".", 1]), "heads[1].v[0]", "not a number"),
    "an empty entry": (head_document(v=["", 1]), "heads[1].v[0]", "not a number"),
}

# What a schema cannot say: sizes that must agree, and limits of the reader.
BEYOND_SCHEMA = {
    "too few rows": (head_document(W=[[1, 2]]), "heads[1].W", "has 1 rows, but dim is 2"),
    "a short row": (head_document(W=[[1, 2], [3]]), "heads[1].W[1]", "has 1 entries, but dim is 2"),
    "a long v": (head_document(v=[1, 2, 3]), "heads[1].v", "has 3 entries, but dim is 2"),
    "another dim": (document(dim=3), "heads[0].W", "has 2 rows, but dim is 3"),
    "a huge exponent": (head_document(v=["1e999999", 1]), "heads[1].v[0]", "exponent"),
}


@pytest.mark.parametrize("case", NOT_JSON)
def test_text_that_is_not_json_is_refused(case: str, tmp_path: Path) -> None:
    """Breaks: a damaged file would be read as something, or end in a traceback."""
    text, words = NOT_JSON[case]
    assert words in str(refusal(save_text(tmp_path, text)))


@pytest.mark.parametrize("case", AGAINST_SCHEMA)
def test_the_reader_and_the_schema_refuse_the_same_files(case: str, tmp_path: Path) -> None:
    """Breaks: a file that the published schema refuses would be accepted, or the other way round."""
    data, field, words = AGAINST_SCHEMA[case]
    error = refusal(save_text(tmp_path, json.dumps(data)))
    assert error.field == field
    assert words in str(error)
    assert not VALIDATOR.is_valid(data)


@pytest.mark.parametrize("case", BEYOND_SCHEMA)
def test_the_reader_refuses_what_no_schema_can_say(case: str, tmp_path: Path) -> None:
    """Breaks: matrices of wrong size would be accepted; the schema must stay as wide as it claims to be."""
    data, field, words = BEYOND_SCHEMA[case]
    error = refusal(save_text(tmp_path, json.dumps(data)))
    assert error.field == field
    assert words in str(error)
    assert VALIDATOR.is_valid(data)


@given(
    st.one_of(st.text("0123456789+-/.eEx af", max_size=8), st.fractions().map(str), st.decimals().map(str))
)
@settings(max_examples=300, deadline=None)
def test_reader_and_schema_agree_on_every_entry(text: str) -> None:
    """Breaks: the pattern of numbers in the schema would not be the one of the reader."""
    data = document(dim=1, heads=[{"W": [[1]], "v": [text]}])
    try:
        files_module.layer_from_json(data)
        accepted = True
    except InputError as error:
        accepted = "exponent" in str(error)  # a limit of the reader, no matter of form
    assert VALIDATOR.is_valid(data) is accepted


def test_the_schema_is_a_schema() -> None:
    """Breaks: validators would refuse or misread the published schema."""
    jsonschema.Draft202012Validator.check_schema(model_schema())
    VALIDATOR.validate(layer_json(random_layer(2, 3, seed=1, denominator=7)))


def test_files_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: a wrong path, a directory or an enormous file would end in a traceback or fill the memory."""
    assert "no such file" in str(refusal(tmp_path / "absent.json"))
    assert "directory" in str(refusal(tmp_path))
    assert "cannot be read" in str(refusal(tmp_path / ("x" * 300)))
    file = tmp_path / "large.json"
    with file.open("wb") as stream:
        stream.truncate(files_module.MAX_BYTES + 1)
    assert "larger than the limit of 64 MB" in str(refusal(file))


# array files


def npz(folder: Path, **arrays: Any) -> Path:
    file = folder / "model.npz"
    np.savez(file, **arrays)
    return file


def safetensors(folder: Path, tensors: dict[str, tuple[str, tuple[int, ...], bytes]]) -> Path:
    """A file written from its published layout: header length, JSON header, data."""
    header, data = {}, b""
    for name, (kind, shape, raw) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return save_text(folder, struct.pack("<Q", len(text)) + text + data, "model.safetensors")


def dyadic(x: float) -> fmpq:
    exact = Fraction(x)
    return fmpq(exact.numerator, exact.denominator)


NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "uint8": "U8"}


@pytest.mark.parametrize("kind", [*NAMES, ">f8"])
def test_array_files_are_exact(kind: str, tmp_path: Path) -> None:
    """Breaks: weights of a real model would be rounded when read; Fraction is the second opinion."""
    rng = np.random.default_rng(5)
    W, v = rng.normal(size=(3, 2, 2)) * 50, rng.normal(size=(3, 2)) * 50
    if kind == "uint8":
        W, v = abs(W), abs(v)
    W, v = W.astype(kind), v.astype(kind)
    layer = load_layer(npz(tmp_path, W=W, v=v))
    if kind in NAMES:  # safetensors files are little-endian
        raw = {"W": (NAMES[kind], W.shape, W.tobytes()), "v": (NAMES[kind], v.shape, v.tobytes())}
        assert load_layer(safetensors(tmp_path, raw)) == layer
    assert len(layer.heads) == 3
    for h, head in enumerate(layer.heads):
        assert [list(row) for row in head.W] == [[dyadic(float(x)) for x in row] for row in W[h]]
        assert list(head.v) == [dyadic(float(x)) for x in v[h]]


def test_safetensors_files_of_the_package_are_read(tmp_path: Path) -> None:
    """Breaks: files written by the safetensors package itself."""
    from safetensors.numpy import save_file

    arrays = {"W": np.full((1, 1, 1), 0.1), "v": np.full((1, 1), -2.5, dtype=np.float32)}
    save_file(arrays, tmp_path / "model.safetensors")
    assert load_layer(tmp_path / "model.safetensors").heads == (Head.of([[0.1]], [-2.5]),)


def test_bfloat16_is_read_without_torch(tmp_path: Path) -> None:
    """Breaks: the usual type of published weights; bfloat16 is the upper half of a float32."""
    W = struct.pack("<H", 0x3E00)  # 0.125
    v = struct.pack("<H", 0xC049)  # -3.140625
    layer = load_layer(safetensors(tmp_path, {"W": ("BF16", (1, 1, 1), W), "v": ("BF16", (1, 1), v)}))
    assert layer.heads == (Head.of([["1/8"]], ["-3.140625"]),)
    nan = struct.pack("<H", 0x7FC0)
    file = safetensors(tmp_path, {"W": ("BF16", (1, 1, 1), W), "v": ("BF16", (1, 1), nan)})
    assert refusal(file).field == "v[0][0]"


ONES = {"W": np.ones((2, 3, 3)), "v": np.ones((2, 3))}
INFINITE = np.ones((2, 3, 3))
INFINITE[1, 0, 2] = -np.inf

BAD_ARRAYS: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "no v": ({"W": ONES["W"]}, None, "'v' is missing"),
    "no W": ({"v": ONES["v"]}, None, "'W' is missing"),
    "another array": ({**ONES, "b": np.ones(2)}, None, "'b' is not known"),
    "W not square": ({**ONES, "W": np.ones((2, 3, 4))}, "W", "(2, 3, 4)"),
    "W flat": ({**ONES, "W": np.ones((2, 9))}, "W", "(2, 9)"),
    "W without entries": ({"W": np.ones((2, 0, 0)), "v": np.ones((2, 0))}, "W", "d at least 1"),
    "v too long": ({**ONES, "v": np.ones((2, 4))}, "v", "so it must be (2, 3)"),
    "v flat": ({**ONES, "v": np.ones(6)}, "v", "so it must be (2, 3)"),
    "NaN": ({**ONES, "v": np.full((2, 3), np.nan)}, "v[0][0]", "is nan"),
    "infinity": ({**ONES, "W": INFINITE}, "W[1][0][2]", "is -inf"),
    "complex": ({**ONES, "W": np.ones((2, 3, 3), dtype=complex)}, "W", "complex128"),
    "truth values": ({**ONES, "v": np.ones((2, 3), dtype=bool)}, "v", "bool"),
    "text": ({**ONES, "v": np.full((2, 3), "1")}, "v", "use float64"),
    "Python objects": ({**ONES, "v": np.full((2, 3), {})}, None, "Python objects"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_npz_files_are_named(case: str, tmp_path: Path) -> None:
    """Breaks: wrong shapes, missing arrays, NaN or infinite weights would be taken for a model."""
    arrays, field, words = BAD_ARRAYS[case]
    error = refusal(npz(tmp_path, **arrays))
    assert error.field == field
    assert words in str(error)


def test_damaged_npz_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: a file that is no archive, is cut off, changed, or unpacks to more than memory holds."""
    good = npz(tmp_path, **ONES).read_bytes()
    damaged = bytearray(good)
    damaged[len(good) // 3] ^= 0xFF
    single = io.BytesIO()
    np.save(single, ONES["W"])
    for data in (b"", b"not an archive", good[: len(good) // 2], bytes(damaged), single.getvalue()):
        assert ".npz file" in str(refusal(save_text(tmp_path, data, "bad.npz")))
    lying = io.BytesIO()
    with zipfile.ZipFile(lying, "w") as archive:
        for name in ("W.npy", "v.npy"):
            member = io.BytesIO()
            np.lib.format.write_array_header_1_0(
                member, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**5)}
            )
            archive.writestr(name, member.getvalue())
    assert ".npz file" in str(refusal(save_text(tmp_path, lying.getvalue(), "bad.npz")))
    monkeypatch.setattr("exactattn.model.arrays.MAX_BYTES", 100)
    assert "unpacks to more than" in str(refusal(tmp_path / "model.npz"))
    monkeypatch.undo()
    monkeypatch.setattr("exactattn.model.arrays.MAX_ENTRIES", 10)
    assert "18 entries" in str(refusal(tmp_path / "model.npz"))


def test_bad_safetensors_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks: damaged files, types without exact values here, or a missing package."""
    one = struct.pack("<d", 1.0)
    good = {"W": ("F64", (1, 1, 1), one), "v": ("F64", (1, 1), one)}
    assert load_layer(safetensors(tmp_path, good)).heads == (Head.of([[1]], [1]),)
    for data in (
        b"",
        b"\xff" * 40,
        b"not tensors at all",
        (tmp_path / "model.safetensors").read_bytes()[:-3],
    ):
        assert "not a .safetensors file" in str(refusal(save_text(tmp_path, data, "bad.safetensors")))
    assert "'v' is missing" in str(refusal(safetensors(tmp_path, {"W": good["W"]})))
    assert "'x' is not known" in str(refusal(safetensors(tmp_path, {**good, "x": good["v"]})))
    error = refusal(safetensors(tmp_path, {**good, "W": ("F8_E4M3", (1, 1, 1), b"\x01")}))
    assert (error.field, "F8_E4M3" in str(error)) == ("W", True)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    assert "pip install 'exactattn[weights]'" in str(refusal(safetensors(tmp_path, good)))


# the JSON reader


@given(st.decimals(allow_nan=False, allow_infinity=False).filter(lambda x: abs(x.adjusted()) < 500))
@settings(max_examples=100, deadline=None)
def test_json_numbers_keep_their_text(number: Any) -> None:
    """Breaks: decimals in JSON would pass through binary floats."""
    value = parse_json(str(number).lower())
    assert Fraction(value) == Fraction(number)
    assert isinstance(value, int) or (isinstance(value, NumberText) and value.is_decimal)
