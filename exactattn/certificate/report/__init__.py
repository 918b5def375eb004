"""The report: decided claims and checked certificates on one self-contained page, or as Markdown.

Needs the extra ``report`` (jinja2, matplotlib).
"""

from exactattn.exceptions import InputError

try:
    import jinja2  # noqa: F401
    import matplotlib  # noqa: F401
except ImportError:
    raise InputError("a report needs jinja2 and matplotlib; install exactattn[report]") from None

from exactattn.certificate.report.allocation_file import AllocationFile, read_allocation
from exactattn.certificate.report.certificates import CheckedFile, check_files
from exactattn.certificate.report.content import Report
from exactattn.certificate.report.page import report_html, report_markdown
from exactattn.certificate.report.provenance import ledger_digest, made_with
from exactattn.certificate.report.training_file import TrainingFile, read_training

__all__ = [
    "AllocationFile",
    "CheckedFile",
    "Report",
    "TrainingFile",
    "check_files",
    "ledger_digest",
    "made_with",
    "read_allocation",
    "read_training",
    "report_html",
    "report_markdown",
]
