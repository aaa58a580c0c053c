"""HTML page of a contrast: what was compared, what came out, how sure that is, and what to look at twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psychoedu.bootstrap import plots
from psychoedu.bootstrap.paper import fixed, interval_text, level_text
from psychoedu.report.page import figure, page, paragraph, terms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psychoedu.bootstrap.results import Contrast

TERMS = (
    ("estimate", "Mean of the comparison less mean of the focal side: above 0 where the focal tasks (or condition) score lower."),
    ("interval", "Where the difference may lie, for tasks drawn anew from where these came from. Models are taken as they are."),
    (
        "recommended interval",
        "Shown where a stratum has fewer than 20 clusters: percentile intervals are too short there. Studentised, with Rao and "
        "Wu's rescaling, came closest to its level in simulations: report this one unless a protocol asks for the other.",
    ),
    ("standard error", "Bootstrap: the spread of the resamples. Cluster-robust: analytic, from the spread between tasks."),
    (
        "p",
        "How likely a difference this large, in either direction, would be by the choice of tasks alone if there were none. "
        "Holm: adjusted for the number of models.",
    ),
)


def contrast_page(contrast: Contrast, title: str = "Contrast", notes: tuple[str, ...] = ()) -> str:
    """Write a contrast as one self-contained HTML page.

    Parameters
    ----------
    contrast : Contrast
    title : str
        Heading, plain text.
    notes : tuple of str
        Paragraphs of plain text under the heading.

    Returns
    -------
    str
        HTML. Nothing is written to disk.
    """
    kind = "Paired contrast of two conditions" if contrast.paired else "Contrast of two groups of tasks"
    subtitle = f"{kind}, stratified cluster bootstrap · psychoedu {contrast.version}"
    alert = "The resamples are all equal: the interval has no width." if contrast.standard_error == 0.0 else ""
    return page(title, contrast_section(contrast, notes), subtitle=subtitle, alert=alert)


def contrast_section(contrast: Contrast, notes: tuple[str, ...] = ()) -> str:
    """Write the body of a contrast report, to be put into a page."""
    level = level_text(contrast.confidence_level)
    method, limits = contrast.interval.method_words, interval_text(contrast.interval)
    said = f"difference {fixed(contrast.estimate)}, {level} {method} interval {limits}"
    forest, histogram = _figures(contrast)
    return "".join(
        [
            *(paragraph(note) for note in notes),
            contrast.to_html(),
            "<details open><summary>What the words mean</summary>\n",
            terms(TERMS),
            "</details>\n<h3>Difference by model</h3>\n",
            figure(
                forest,
                f"Forest plot of {contrast.n_models} models and all together: {said}.",
                "Below, with a diamond: all models.",
            ),
            "<h3>Resamples</h3>\n",
            figure(histogram, f"Histogram of {len(contrast.resamples):,} resamples: {said}."),
        ]
    )


def _figures(contrast: Contrast) -> tuple[Figure, Figure]:
    from matplotlib.figure import Figure

    rows = contrast.n_models + 1 if contrast.n_models > 1 else 1
    forest = Figure(figsize=(6.4, 1.6 + 0.3 * rows), layout="constrained")
    plots.forest(contrast, ax=forest.add_subplot())
    histogram = Figure(figsize=(5.0, 3.0), layout="constrained")
    plots.resamples(contrast, ax=histogram.add_subplot())
    return forest, histogram
