"""A run of a torch module, watched: beside every tensor the exact numbers it stands for, and the numbers that
its roundings can reach.

Weights and inputs are taken as the exact dyadic rationals they are. While torch computes, each operation is
carried out twice more on balls: exactly, and with every rounding of the tensor's format allowed for. So the
result comes with a computed bound on its distance from the truth, for modules of any make whose operations
are known (:mod:`exactattn.crosscheck.operations`). Numbers that depend on no weight and no input, such as
masks and tables of angles, are part of the function and taken as computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb, ctx

from exactattn.crosscheck.operations import ARITHMETIC, MOVES, moved, require_known
from exactattn.crosscheck.rounding import WIDER, Rounding, each
from exactattn.crosscheck.torch_package import torch_package
from exactattn.exceptions import CannotTell
from exactattn.identify.parameters import Array

__all__ = ["EnclosedRun", "PartRun", "dyadic", "enclosed_run"]

BITS = 256


def dyadic(tensor: Any) -> Array:
    """The entries of a tensor as balls of radius 0; −∞ (in masks) as −2^2000, whose softmax weight is 0 in
    every format."""
    torch = torch_package()
    rows = tensor.detach().to("cpu", torch.float64)
    minus_infinity = -(arb(2) ** 2000)
    return each(
        lambda x: minus_infinity if x == float("-inf") else arb(x), np.array(rows.tolist(), dtype=object)
    )


@dataclass(frozen=True)
class PartRun:
    """The exact input and output of a module within the one that ran; ``tables`` are the cosines and sines it
    was given, if any (position × plane)."""

    inputs: Array
    exact: Array
    tables: tuple[Array, Array] | None


@dataclass(frozen=True)
class EnclosedRun:
    """What a module computed, the true result, and balls that hold every result roundings can give.

    ``computed``: floats; ``exact`` and ``reach``: balls, all of one shape. ``parts``: the modules inside that
    were asked for.
    """

    computed: Array
    exact: Array
    reach: Array
    parts: dict[str, PartRun] = field(default_factory=dict)

    @property
    def bounds(self) -> Array:
        """Derived bounds on |float − true value|."""
        return each(lambda a, b: (a - b).abs_upper(), self.reach, self.exact)

    @property
    def errors(self) -> Array:
        """Balls that hold |float − true value|."""
        return each(lambda x, y: abs(arb(float(x)) - y), self.computed, self.exact)

    @property
    def holds(self) -> bool:
        """Whether every float is certainly within its bound."""
        return all(bool(e <= b) for e, b in zip(self.errors.flat, self.bounds.flat, strict=True))

    @property
    def largest_error(self) -> arb:
        """The largest distance of a float from the true value, rounded up."""
        largest: arb = max((x.abs_upper() for x in self.errors.flat), key=lambda x: x.fmpq())
        return largest

    @property
    def largest_bound(self) -> arb:
        """The largest bound. Raises CannotTell if there is none."""
        if not all(x.is_finite() for x in self.bounds.flat):
            raise CannotTell(WIDER)
        largest: arb = max(self.bounds.flat, key=lambda x: x.fmpq())
        return largest


def enclosed_run(
    module: Any,
    *args: Any,
    exact: Mapping[str, Array] | None = None,
    pick: Callable[[Any], Any] = lambda result: result,
    parts: Sequence[str] = (),
    bits: int = BITS,
    **kwargs: Any,
) -> EnclosedRun:
    """Runs a module and encloses what it computes; ``pick`` takes the tensor out of what it returns.

    ``exact``: for parameters by name, the exact numbers that the stored floats are roundings of (arrays of
    arb or fmpq); the true result is then that of these. ``parts``: names of modules within (attention layers)
    whose inputs and outputs are wanted too. Raises InputError for operations that are not known,
    and without torch.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> run = enclosed_run(torch.nn.Softmax(-1), torch.tensor([0.5, 1.0, 0.5]))
    >>> run.holds, bool(run.largest_bound < arb(10) ** -5)
    (True, True)
    """
    torch = torch_package()
    exact = exact or {}
    with ctx.workprec(bits), torch.no_grad():
        watcher = _Watcher(torch)
        for name, parameter in module.named_parameters():
            true = each(arb, exact[name]) if name in exact else None
            watcher.know(parameter, true)
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                watcher.know(value, None)
        hooks = [
            module.get_submodule(part).register_forward_hook(watcher.hook(part), with_kwargs=True)
            for part in parts
        ]
        try:
            with watcher.mode():
                result = pick(module(*args, **kwargs))
        finally:
            for hook in hooks:
                hook.remove()
        found = watcher.numbers[id(result)][1]
        floats = np.array(result.to("cpu", torch.float64).tolist())
        return EnclosedRun(floats, found[0], found[1], watcher.parts)


class _Watcher:
    """The exact numbers and the reach of every tensor that depends on a weight or an input."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        # tensors are kept, so that no later one gets the place of an earlier one
        self.numbers: dict[int, tuple[Any, tuple[Array, Array]]] = {}
        self.parts: dict[str, PartRun] = {}

    def know(self, tensor: Any, true: Array | None) -> None:
        stored = dyadic(tensor)
        self.numbers[id(tensor)] = (tensor, (stored if true is None else true, stored))

    def hook(self, part: str) -> Callable[..., None]:
        """What keeps the exact input and output of an attention module when it is called."""

        def keep(_: Any, args: Any, kwargs: Any, result: Any) -> None:
            inputs = args[0] if args else kwargs["hidden_states"]
            output = result[0] if isinstance(result, tuple) else result
            pair = kwargs.get("position_embeddings")
            tables = None
            if pair is not None:  # each angle is there twice, for both dimensions of its plane
                cosines, sines = (dyadic(x[0, :, : x.shape[-1] // 2]) for x in pair)
                tables = cosines, sines
            exact = [self.numbers[id(x)][1][0] for x in (inputs, output)]
            self.parts[part] = PartRun(exact[0], exact[1], tables)

        return keep

    def mode(self) -> Any:
        """The mode of torch in which every operation passes through here."""
        from torch.utils._python_dispatch import TorchDispatchMode

        def dispatch(_: Any, call: Any, __: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self._operation(call, args, kwargs or {})

        return type("Watching", (TorchDispatchMode,), {"__torch_dispatch__": dispatch})()

    def _operation(self, call: Any, args: Any, kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        if not any(self._known(x) for x in (*args, *kwargs.values())):
            return result
        tensors = [x for x in (result if isinstance(result, list | tuple) else [result])]
        floats = [x for x in tensors if isinstance(x, self.torch.Tensor) and x.is_floating_point()]
        if not floats:
            return result
        name = str(call).rpartition(".")[0]
        require_known(name)
        rounding = Rounding.of(str(floats[0].dtype).removeprefix("torch."))
        pairs = zip(
            self._carried_out(name, call, args, kwargs, 0, Rounding.exact()),
            self._carried_out(name, call, args, kwargs, 1, rounding),
            strict=True,
        )
        # further results of a fused operation (means, sums of exponentials) are not followed
        for tensor, pair in zip(tensors, pairs, strict=False):
            self.numbers[id(tensor)] = (tensor, pair)
        return result

    def _known(self, value: Any) -> bool:
        if isinstance(value, list | tuple):
            return any(self._known(x) for x in value)
        return isinstance(value, self.torch.Tensor) and id(value) in self.numbers

    def _carried_out(
        self, name: str, call: Any, args: Any, kwargs: Any, which: int, rounding: Rounding
    ) -> list[Array]:
        def numbers(tensor: Any) -> Array:
            known = self.numbers.get(id(tensor))
            return dyadic(tensor) if known is None else known[1][which]

        if name in MOVES:
            found = moved(self.torch, call, args, kwargs, numbers)
            return [rounding.relative(x, 1) for x in found] if name == "aten._to_copy" else found
        plain = [numbers(x) if isinstance(x, self.torch.Tensor) else x for x in args]
        options = {
            k: numbers(v) if isinstance(v, self.torch.Tensor) else v
            for k, v in kwargs.items()
            if k != "dtype"
        }
        return [ARITHMETIC[name](rounding, *plain, **options)]
