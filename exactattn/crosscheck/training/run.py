"""One training run, with its measures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from exactattn.crosscheck.torch_package import torch_package
from exactattn.crosscheck.training.character_model import CharacterModel
from exactattn.crosscheck.training.measures import (
    balance,
    gauge_share,
    imbalance,
    rebalanced,
    smallest_eigenvalues,
)
from exactattn.crosscheck.training.settings import RunSettings
from exactattn.crosscheck.training.text import Text

__all__ = ["FORMAT", "train"]

FORMAT = "exactattn training run"
HELD_OUT_SEQUENCES = 32
BETAS = (0.9, 0.99)


def train(settings: RunSettings) -> dict[str, Any]:
    """Trains, and returns settings and records as JSON values. One thread; the same seed gives the same run.

    Each record holds, for every layer and head, ρ of the last step, β, τ, μ, the norms of the gradients by
    the key and the query bias, and the distance of the balance from where it was at the start. For plain
    gradient steps there is besides the distance of the balance from what its law predicts (claim I-5.3-step):
    B ← (1 − ηλ)² B + η² (∇_Q∇_Qᵀ − ∇_K∇_Kᵀ).
    """
    torch_package().set_num_threads(1)
    started, used = time.perf_counter(), time.process_time()
    text = Text.drawn()
    run = _Run(settings, text)
    records = list(run.records())
    return {
        "format": FORMAT,
        "version": 1,
        "settings": settings.data(),
        "torch": str(run.torch.__version__),
        "text": text.digest,
        "seconds": round(time.perf_counter() - started, 2),
        "processor_seconds": round(time.process_time() - used, 2),
        "largest_rebalancing_change": run.rebalancing_change,
        "records": records,
    }


class _Run:
    def __init__(self, settings: RunSettings, text: Text) -> None:
        self.torch = torch_package()
        self.settings = settings
        self.layers = range(len(settings.heads))
        self.model = CharacterModel(settings.shape, len(text.alphabet), settings.seed)
        self.source = self.torch.Generator().manual_seed(1_000_003 + settings.seed)
        self.training = self.torch.tensor(text.training)
        held_out = self.torch.tensor(text.held_out)
        length = settings.context + 1
        starts = self.torch.linspace(0, len(held_out) - length, HELD_OUT_SEQUENCES).long()
        self.held_out = self.torch.stack([held_out[k : k + length] for k in starts.tolist()])
        self.optimiser = self._optimiser()
        self.start = [balance(*self._pair(k)) for k in self.layers]
        self.predicted = [x.clone() for x in self.start]
        self.rebalancing_change = 0.0

    def _optimiser(self) -> Any:
        s, torch = self.settings, self.torch
        groups = [
            {"params": self.model.decayed(), "weight_decay": s.decay},
            {"params": self.model.undecayed(), "weight_decay": 0.0},
        ]
        if s.optimiser == "SGD":
            return torch.optim.SGD(groups, lr=s.rate)
        return torch.optim.AdamW(groups, lr=s.rate, betas=BETAS)

    def _batch(self) -> Any:
        length = self.settings.context + 1
        starts = self.torch.randint(
            len(self.training) - length, (self.settings.batch,), generator=self.source
        )
        return self.training[starts[:, None] + self.torch.arange(length)]

    def _pair(self, k: int, of: str = "value") -> tuple[Any, Any]:
        """Queries with their bias as a column, and keys, of a layer; or the gradients by them."""
        arrays = [self.model.parameters[f"{k} {name}"] for name in ("query", "query bias", "key")]
        query, bias, key = [x.grad if of == "gradient" else x.detach().clone() for x in arrays]
        return self.torch.cat([query, bias[..., None]], -1), key

    def records(self) -> Iterator[dict[str, Any]]:
        """Trains; a record at step 0, at every ``record_every``-th and at the last.

        β, τ and μ are those before the step, ρ is that of the step, loss and drift are those after it.
        """
        s = self.settings
        for step in range(s.steps + 1):
            loss = self.model.loss(self._batch())
            self.optimiser.zero_grad()
            loss.backward()
            if s.clip:
                self.torch.nn.utils.clip_grad_norm_(list(self.model.parameters.values()), s.clip)
            before = [self._pair(k) for k in self.layers]
            gradients = [self._pair(k, "gradient") for k in self.layers]
            self.optimiser.step()
            after = [self._pair(k) for k in self.layers]
            if s.optimiser == "SGD":
                self._predict(gradients)
            if step % s.record_every == 0 or step == s.steps:
                yield self._record(step, float(loss.detach()), before, after)
            if s.rebalance and (step + 1) % s.rebalance == 0:
                self._rebalance()

    def _predict(self, gradients: list[tuple[Any, Any]]) -> None:
        eta, shrunk = self.settings.rate, 1 - self.settings.rate * self.settings.decay
        for k, (query, key) in enumerate(gradients):
            self.predicted[k] = shrunk**2 * self.predicted[k] + eta**2 * balance(query, key)

    def _record(self, step: int, loss: float, before: list[Any], after: list[Any]) -> dict[str, Any]:
        torch = self.torch
        with torch.no_grad():
            held_out = float(self.model.loss(self.held_out))
        layers = []
        for k in self.layers:
            (query, key), (new_query, new_key) = before[k], after[k]
            beta, tau = imbalance(query[..., :-1], key)
            gradients = {
                f"{name}_bias_gradient": self.model.parameters[f"{k} {name} bias"].grad.norm(dim=-1)
                for name in ("query", "key")
            }
            moved = balance(new_query, new_key)
            found = {
                "rho": gauge_share(query, key, new_query - query, new_key - key),
                "beta": beta,
                "tau": tau,
                "mu": smallest_eigenvalues(query, key),
                "drift": (moved - self.start[k]).norm(dim=(-1, -2)),
                "size": (query * query).sum((-1, -2)) + (key * key).sum((-1, -2)),
                **gradients,
            }
            if self.settings.optimiser == "SGD":
                found["law"] = (moved - self.predicted[k]).norm(dim=(-1, -2))
            layers.append({name: value.tolist() for name, value in found.items()})
        return {"step": step, "loss": loss, "held_out": held_out, "layers": layers}

    def _rebalance(self) -> None:
        """Rebalances queries and keys of every head, biases moving along, and notes what the loss did."""
        p, torch = self.model.parameters, self.torch
        with torch.no_grad():
            before = float(self.model.loss(self.held_out))
            for k in self.layers:
                S_query, S_key = rebalanced(p[f"{k} query"], p[f"{k} key"])
                for name, S in (("query", S_query), ("key", S_key)):
                    p[f"{k} {name}"].copy_(S @ p[f"{k} {name}"])
                    bias = p[f"{k} {name} bias"]
                    bias.copy_((S @ bias[..., None])[..., 0])
            change = abs(float(self.model.loss(self.held_out)) - before)
        self.rebalancing_change = max(self.rebalancing_change, change)
