"""From a published config.json to the architecture of its attention layers."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from exactattn.exceptions import InputError
from exactattn.identify.config_fields import Fields
from exactattn.identify.config_file import load_object
from exactattn.identify.readers import READERS
from exactattn.identify.spec import ModelSpec

__all__ = ["read_config"]


def read_config(path: str | Path) -> ModelSpec:
    """The attention part of the model a config describes; its name is that of the file.

    Families are told apart by model_type. What configs leave out (which projections have biases, which
    norms there are, how dimensions are paired) is known per family; fields that are absent have the
    family's defaults, sizes without a default must be there. Raises InputError, one sentence with file,
    field and mend.
    """
    try:
        data = load_object(path)
        fields = Fields(data)
        family = fields.text("model_type")
        if not family:
            raise InputError("is missing; add it (for example llama)", field="model_type")
        if family not in READERS:
            close = get_close_matches(family, READERS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(READERS)}"
            raise InputError(f"{family[:40]!r} is not a known family; {hint}", field="model_type")
        model = READERS[family](fields, Path(path).stem)
        fields.finish(family)
        return model
    except InputError as error:
        raise error if error.file else error.in_file(path) from None
