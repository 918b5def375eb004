"""The papers whose claims are decided, and the common practice whose transformations are."""

from __future__ import annotations

from enum import Enum

__all__ = ["Paper"]


class Paper(Enum):
    """A paper: title, arXiv number (empty for what is no paper), the folder of its claims, the letter its
    claim ids begin with, and what of it was read.

    >>> Paper.QUERIES.arxiv, Paper.QUERIES.letter
    ('2608.03294', 'Q')
    """

    IDENTIFICATION = (
        "Multi-Head Self Attention is a Parameter Identification Mechanism",
        "2609.01231",
        "identification",
        "I",
        "full text",
    )
    QUERIES = (
        "Provably Learning Multi-Head Attention with Queries",
        "2608.03294",
        "queries",
        "Q",
        "abstract",
    )
    SINGLE_HEAD_QUERIES = (
        "Provably Learning Attention with Queries",
        "2601.16873",
        "queries",
        "Q1",
        "reports of its theorems",
    )
    ALLOCATION = (
        "Performance-Efficiency Tradeoffs in Transformers: An Approximation Theory Perspective",
        "2510.03784",
        "allocation",
        "A",
        "abstract",
    )
    SCHEDULES = ("Prism Transformer", "2606.27449", "schedules", "P", "full text")
    TRANSFORMATIONS = (
        "Transformations of attention weights in common use",
        "",
        "transformations",
        "T",
        "as tools apply them",
    )

    def __init__(self, title: str, arxiv: str, folder: str, letter: str, read: str) -> None:
        self.title = title
        self.arxiv = arxiv
        self.folder = folder
        self.letter = letter
        self.read = read

    @property
    def source(self) -> str:
        """Title and arXiv number, if there is one, in one line.

        >>> Paper.SCHEDULES.source
        'Prism Transformer, arXiv 2606.27449'
        """
        return f"{self.title}, arXiv {self.arxiv}" if self.arxiv else self.title
