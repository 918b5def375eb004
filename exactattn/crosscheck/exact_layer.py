"""One attention layer by this package's own evaluation, on balls, at given inputs and tables of angles."""

from __future__ import annotations

import numpy as np
from flint import arb

from exactattn.crosscheck.rounding import each
from exactattn.exceptions import InputError
from exactattn.identify import AttentionSpec
from exactattn.identify.array_numbers import BallArrays
from exactattn.identify.layer import Constants, LayerRun
from exactattn.identify.parameters import Array, Parameters

__all__ = ["layer_outputs"]


def layer_outputs(
    spec: AttentionSpec, parameters: Parameters, tokens: Array, tables: tuple[Array, Array] | None
) -> Array:
    """Outputs (token × width) at tokens given as balls (token × width), in the context's precision.

    ``parameters``: arrays of rationals. ``tables``: cosines and sines (position × plane) of a layer with
    rotations. Raises InputError if they are missing.

    >>> from flint import fmpq
    >>> from exactattn.identify.parameters import parameter_shapes
    >>> spec = AttentionSpec.of(width=2, heads=1)
    >>> ones = {name: np.full(shape, fmpq(1)) for name, shape in parameter_shapes(spec).items()}
    >>> layer_outputs(spec, ones, np.full((3, 2), arb(1)), None)[0, 0].contains(4)
    True
    """
    if spec.rotated and tables is None:
        raise InputError("a layer with rotations needs cosines and sines", field="tables")
    none = np.zeros((len(tokens), 0), dtype=object)
    cosines, sines = tables if tables is not None and spec.rotated else (none, none)
    slopes = np.full((spec.heads,), arb(0), dtype=object)
    constants = Constants(cosines, sines, slopes, arb(spec.score_scale_squared).sqrt())
    balls = {name: each(arb, array) for name, array in parameters.items()}
    run = LayerRun(spec, BallArrays(), balls, constants, lambda _, x: each(lambda y: y.exp(), x))
    return run.outputs(tokens, None, list(range(len(tokens)))).value
