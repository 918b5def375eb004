"""The report as one HTML page, and as Markdown."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exactattn.certificate.report.content import Report, anchor, style_name
from exactattn.certificate.report.graph import NODE_HEIGHT, NODE_WIDTH
from exactattn.certificate.report.mathematics import mathml, plain_names
from exactattn.certificate.report.plots import (
    allocation_plots,
    certificate_plots,
    model_plots,
    paper_plots,
    training_plots,
)
from exactattn.certificate.report.text import clean, markdown_code, markdown_text, prose
from exactattn.identify.notation import grouped, percent_text
from exactattn.ledger.render import statement_latex, statement_text

__all__ = ["report_html", "report_markdown"]


def report_html(report: Report) -> str:
    """One self-contained page: no script, nothing is loaded from anywhere.

    Raises InputError without the libraries of the extra ``report``.

    >>> from exactattn.ledger import decide, load_claims, select
    >>> page = report_html(Report.of(decide(select(load_claims(), ["I-4.5-six-heads"]))))
    >>> "refuted" in page, "<script" in page
    (True, False)
    """
    plots = [
        *paper_plots(report.papers),
        *model_plots(report.models),
        *allocation_plots(report.allocations),
        *training_plots(report.trainings),
    ]
    return _rendered("page.html", report, plots=plots, file_plots=certificate_plots(report.files))


def report_markdown(report: Report) -> str:
    """The same without pictures, as Markdown.

    >>> print(report_markdown(Report()).splitlines()[0])
    # What is proved
    """
    lines = _rendered("report.md", report).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip() + "\n"


def _rendered(template: str, report: Report, **more: Any) -> str:
    return _environment(template.endswith(".html")).get_template(template).render(report=report, **more)


@cache
def _environment(html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("exactattn.certificate.report"),
        autoescape=html,
        finalize=(lambda value: value if isinstance(value, Markup) else clean(value)) if html else None,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        prose=prose,
        mathml=mathml,
        grouped=grouped,
        percent=percent_text,
        md=markdown_text,
        mdcode=markdown_code,
        statement_text=statement_text,
        style_name=style_name,
        latex_block=latex_block,
    )
    environment.globals.update(anchor=anchor, node_width=NODE_WIDTH, node_height=NODE_HEIGHT)
    return environment


def latex_block(expression: Any) -> str:
    """A statement as a block of LaTeX for Markdown; as code if a name in it is not a single word."""
    latex = " ".join(clean(statement_latex(expression)).split())
    if plain_names(expression) and "`" not in latex:
        return f"```math\n{latex}\n```"
    return markdown_code(statement_text(expression))
