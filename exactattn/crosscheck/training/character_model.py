"""A small decoder that predicts the next letter, written out so that every projection can be seen.

Learned positions, layer norms before attention and before a perceptron with GELU, biases on all projections,
no dropout; the factor 1/√D is applied to the scores. Matrices are stored head by head: query, key and value
(head, D, width), output (head, width, D), with head sizes D = width / heads of the layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactattn.crosscheck.torch_package import torch_package
from exactattn.exceptions import InputError

__all__ = ["CharacterModel", "Shape"]


@dataclass(frozen=True)
class Shape:
    """Width, number of heads of each layer, length of the context.

    >>> Shape(width=8, heads=(2, 4)).head_size(1)
    2
    """

    width: int = 32
    heads: tuple[int, ...] = (4, 4)
    context: int = 32

    def __post_init__(self) -> None:
        if not self.heads or any(h < 1 or self.width % h for h in self.heads):
            raise InputError(f"each of {self.heads} must divide the width {self.width}", field="heads")

    def head_size(self, layer: int) -> int:
        """D of a layer."""
        return self.width // self.heads[layer]


class CharacterModel:
    """The parameters, by name, and the loss. Numbers are float64."""

    def __init__(self, shape: Shape, letters: int, seed: int) -> None:
        torch = torch_package()
        self.torch, self.shape = torch, shape
        source = torch.Generator().manual_seed(seed)
        self.parameters: dict[str, Any] = {}

        def draw(name: str, *sizes: int) -> None:
            value = torch.randn(*sizes, generator=source, dtype=torch.float64) * 0.08
            self.parameters[name] = value.requires_grad_()

        def fill(name: str, value: float, *sizes: int) -> None:
            self.parameters[name] = torch.full(sizes, value, dtype=torch.float64).requires_grad_()

        width = shape.width
        draw("letters", letters, width)
        draw("positions", shape.context, width)
        for k, heads in enumerate(shape.heads):
            size = shape.head_size(k)
            for name in ("query", "key", "value"):
                draw(f"{k} {name}", heads, size, width)
                fill(f"{k} {name} bias", 0.0, heads, size)
            draw(f"{k} output", heads, width, size)
            fill(f"{k} output bias", 0.0, width)
            draw(f"{k} up", 4 * width, width)
            fill(f"{k} up bias", 0.0, 4 * width)
            draw(f"{k} down", width, 4 * width)
            fill(f"{k} down bias", 0.0, width)
        for name in [f"{k} {n}" for k in range(len(shape.heads)) for n in ("attention", "perceptron")] + [
            "last"
        ]:
            fill(f"{name} scale", 1.0, width)
            fill(f"{name} shift", 0.0, width)
        hidden = torch.ones(shape.context, shape.context, dtype=torch.bool).triu(1)
        self.mask = torch.zeros(hidden.shape, dtype=torch.float64).masked_fill(hidden, float("-inf"))

    def _norm(self, name: str, x: Any) -> Any:
        p = self.parameters
        return self.torch.nn.functional.layer_norm(
            x, (self.shape.width,), p[f"{name} scale"], p[f"{name} shift"]
        )

    def _attention(self, k: int, x: Any) -> Any:
        p, torch = self.parameters, self.torch

        def heads(name: str) -> Any:
            return torch.einsum("nte,hde->nhtd", x, p[f"{k} {name}"]) + p[f"{k} {name} bias"][:, None]

        scores = heads("query") @ heads("key").transpose(-1, -2) / self.shape.head_size(k) ** 0.5
        weights = torch.softmax(scores + self.mask, -1)
        return (
            torch.einsum("nhtd,hed->nte", weights @ heads("value"), p[f"{k} output"]) + p[f"{k} output bias"]
        )

    def logits(self, letters: Any) -> Any:
        """Scores of the next letter (sequence × position × letter)."""
        p, functional = self.parameters, self.torch.nn.functional
        x = p["letters"][letters] + p["positions"]
        for k in range(len(self.shape.heads)):
            x = x + self._attention(k, self._norm(f"{k} attention", x))
            up = functional.linear(self._norm(f"{k} perceptron", x), p[f"{k} up"], p[f"{k} up bias"])
            x = x + functional.linear(functional.gelu(up), p[f"{k} down"], p[f"{k} down bias"])
        return functional.linear(self._norm("last", x), p["letters"])

    def loss(self, sequences: Any) -> Any:
        """Mean cross-entropy of each next letter, in nats; sequences are a letter longer than the context."""
        logits = self.logits(sequences[:, :-1])
        return self.torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), sequences[:, 1:].reshape(-1)
        )

    def decayed(self) -> list[Any]:
        """Parameters that weight decay acts on: all but the norms."""
        return [p for name, p in self.parameters.items() if not name.endswith((" scale", " shift"))]

    def undecayed(self) -> list[Any]:
        """The others."""
        return [p for name, p in self.parameters.items() if name.endswith((" scale", " shift"))]
