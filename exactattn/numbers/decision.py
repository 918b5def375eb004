"""Three-valued decisions: yes, no, or cannot tell."""

from __future__ import annotations

from enum import Enum

from exactattn.exceptions import CannotTell

__all__ = ["Decision"]


class Decision(Enum):
    """The answer to a yes-or-no question about numbers that may be known only within a radius.

    A decision has no truth value of its own, so that ``if decision:`` cannot pass by accident; ask
    :meth:`required` or compare with a member.

    >>> Decision.of(True).required("is zero")
    True
    >>> Decision.CANNOT_TELL.required("is zero")
    Traceback (most recent call last):
    ...
    exactattn.exceptions.CannotTell: cannot tell whether is zero
    """

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"

    @classmethod
    def of(cls, truth: bool) -> Decision:
        """The decision for a question that was settled exactly."""
        return cls.YES if truth else cls.NO

    def required(self, question: str) -> bool:
        """The truth value. Raises :class:`~exactattn.exceptions.CannotTell` if it is open."""
        if self is Decision.CANNOT_TELL:
            raise CannotTell(f"cannot tell whether {question}")
        return self is Decision.YES

    def __bool__(self) -> bool:
        raise TypeError("a Decision has three values: compare it with a member or call required()")
