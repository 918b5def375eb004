"""The text that character models are trained on: drawn by a rule, the same on every machine.

Sentences of an invented language. Names come back later in a sentence, so that a model has something to gain
from attending to earlier letters.

>>> Text.drawn(sentences=2).letters[:42]
'ku mu ludu po mada; mada lo pubo. ku mu di'
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Text"]

SYLLABLES = [c + v for c in "bdklmnprst" for v in "aeiou"]


@dataclass(frozen=True)
class Text:
    """Letters, and the part of them that is held out of training."""

    letters: str

    @classmethod
    def drawn(cls, sentences: int = 3000) -> Text:
        """So many sentences."""
        source = random.Random("an invented language")
        words = ["".join(source.sample(SYLLABLES, 2)) for _ in range(48)]
        small = source.sample(SYLLABLES, 6)
        return cls(" ".join(_sentence(source, words, small) for _ in range(sentences)))

    @cached_property
    def alphabet(self) -> str:
        """All letters, once each."""
        return "".join(sorted(set(self.letters)))

    @cached_property
    def numbers(self) -> list[int]:
        """The places of the letters in the alphabet."""
        places = {letter: k for k, letter in enumerate(self.alphabet)}
        return [places[letter] for letter in self.letters]

    @property
    def training(self) -> list[int]:
        """The first nine tenths."""
        return self.numbers[: len(self.numbers) * 9 // 10]

    @property
    def held_out(self) -> list[int]:
        """The rest."""
        return self.numbers[len(self.numbers) * 9 // 10 :]

    @property
    def digest(self) -> str:
        """SHA-256 of the letters."""
        return hashlib.sha256(self.letters.encode()).hexdigest()


def _sentence(source: random.Random, words: list[str], small: list[str]) -> str:
    names = source.sample(words, 3)
    first = f"{small[0]} {small[1]} {names[0]} {small[2]} {names[1]}"
    again = source.choice(names[:2])  # the name that comes back
    return f"{first}; {again} {source.choice(small[3:])} {names[2]}."
