"""The inner functions of the engine: numpy, or compiled by numba (extra ``compiled``) with the same
results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from exactattn.exceptions import InputError
from exactattn.prime.arithmetic import Array, power

if TYPE_CHECKING:
    from exactattn.prime.field import PrimeField

__all__ = ["Flags", "Kernels", "Labels", "kernels"]

Flags = NDArray[np.bool_]
Labels = NDArray[np.uint8]
Table = tuple[Array, Array]  # scores and residues, (K, P) each


@dataclass(frozen=True)
class Kernels:
    """Functions of whole arrays; see the numpy ones for what they compute."""

    sums_of_fractions: Callable[[Array, Array, Array, Array, PrimeField], Array]
    recurrences: Callable[[Array, int, PrimeField], tuple[Array, Flags]]
    root_exponents: Callable[[Array, PrimeField], tuple[Array, Array, Flags]]
    residue_quotients: Callable[[Array, Array, Array, PrimeField], Array]
    labels: Callable[[Table, Table, Table, bool, PrimeField], tuple[Labels, Labels]]
    powers: Callable[[Array, int, PrimeField], Array]


@cache
def kernels(compiled: bool) -> Kernels:
    """The chosen set. Raises InputError if numba is asked for and missing."""
    if not compiled:
        from exactattn.prime.fractions import residue_quotients, sums_of_fractions
        from exactattn.prime.matching import labels_and_partners
        from exactattn.prime.recurrence import recurrences
        from exactattn.prime.roots import root_exponents

        return Kernels(
            sums_of_fractions,
            recurrences,
            root_exponents,
            residue_quotients,
            labels_and_partners,
            lambda x, exponent, field: power(x, exponent, field.p),
        )
    if find_spec("numba") is None:
        raise InputError(
            'compiled kernels need numba: pip install "exactattn[compiled]", or do without them',
            field="compiled",
        )
    from exactattn.prime.compiled import KERNELS

    return KERNELS
