"""The package torch, imported only where it is used; needs the extra ``torch``."""

from __future__ import annotations

from typing import Any

from exactattn.exceptions import InputError

__all__ = ["torch_package"]


def torch_package() -> Any:
    """The package torch. Raises InputError if it is not installed."""
    try:
        import torch
    except ImportError:
        raise InputError(
            "the package torch is not installed; run pip install 'exactattn[torch]' (any build will do)"
        ) from None
    return torch
