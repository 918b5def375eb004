"""The independent checker of certificates: Python standard library only.

``check.py`` alone checks recovery certificates, anywhere: ``python check.py FILE…``. With the other files of
this folder beside it, ``python -m exactattn.checker FILE…`` also checks the other kinds of certificates; a
copy of the folder will do, under any name. ``--sample`` before the files: of recoveries in prime fields only
the rows opened in the certificate, without the companion file.

>>> check_data({"format": "something else"}).word
'refused'
"""

from .check import KINDS, Verdict, check_data, check_file
from .enclosure import ENCLOSURE
from .equivalence import EQUIVALENCE
from .few_queries import FEW_QUERIES
from .prime import PRIME
from .rank import RANK
from .recovery_v2 import RECOVERY_V2
from .transformer import TRANSFORMER

__all__ = ["Verdict", "check_data", "check_file"]

KINDS["rank", 1] = RANK
KINDS["enclosure", 1] = ENCLOSURE
KINDS["few-queries", 1] = FEW_QUERIES
KINDS["recovery", 2] = RECOVERY_V2
KINDS["equivalence", 1] = EQUIVALENCE
KINDS["transformer", 1] = TRANSFORMER
KINDS["prime-recovery", 1] = PRIME
