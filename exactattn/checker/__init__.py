"""The independent checker of certificates: one file, Python standard library only.

The same file runs alone, anywhere: ``python check.py FILE…``.

>>> check_data({"format": "something else"}).word
'refused'
"""

from exactattn.checker.check import Verdict, check_data, check_file

__all__ = ["Verdict", "check_data", "check_file"]
