"""Text made of a contrast: what was compared, how, and what came out, for the screen and for a methods section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psychoedu.bootstrap.design import missing_text
from psychoedu.bootstrap.plan import WEIGHTING_WORDS

if TYPE_CHECKING:
    from psychoedu.bootstrap.results import Contrast, Interval

DIGITS = 3


def fixed(value: float, digits: int = DIGITS) -> str:
    """Write a number with fixed digits, -0.000 without its sign; a dash for what does not exist."""
    if np.isnan(value):
        return "\N{EN DASH}"
    if np.isinf(value):
        return "\N{INFINITY}" if value > 0 else "-\N{INFINITY}"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def p_text(value: float, n_resamples: int) -> str:
    """Write a p value; the smallest that the resamples can give is a bound."""
    smallest = 1.0 / (n_resamples + 1.0)
    if value <= smallest * (1.0 + 1e-9):
        return f"<{_up(smallest)}"
    return fixed(value, 4) if value < 0.001 else fixed(value)


def exact_p_text(value: float) -> str:
    """Write a p value that was computed, not counted: one below 0.0001 as a bound."""
    return "<0.0001" if value < 0.0001 else fixed(value, 4) if value < 0.001 else fixed(value)


def _up(value: float) -> str:
    digits = max(1, int(np.ceil(-np.log10(value))))
    return f"{np.ceil(value * 10**digits) / 10**digits:.{digits}f}".rstrip("0")


def interval_text(interval: Interval) -> str:
    """Write the limits of an interval in brackets."""
    return f"[{fixed(interval.low)}, {fixed(interval.high)}]"


def level_text(level: float) -> str:
    """Write a confidence level as a percentage."""
    return f"{100.0 * level:g}%"


def policy_text(contrast: Contrast) -> str:
    """Say how many rewards were missing, and what was done about them."""
    return missing_text(contrast.missing["n_missing"], str(contrast.options["missing"]))


def clusters_text(contrast: Contrast) -> str:
    """Give the number of clusters of every stratum."""
    word = str(contrast.options["names"].get("cluster", "cluster"))
    parts = [f"{label} {n}" for label, n in zip(contrast.strata.index, contrast.strata["n_clusters"], strict=True)]
    return f"{', '.join(parts)} ({word}s)"


def facts(contrast: Contrast) -> list[tuple[str, str]]:
    """Return what every report of a contrast says, as names and values."""
    names = contrast.options["names"]
    level, word = level_text(contrast.confidence_level), str(names.get("cluster", "cluster"))
    rows = [
        ("focal", f"{contrast.focal} (mean {fixed(contrast.focal_mean)})"),
        ("comparison", f"{contrast.comparison} (mean {fixed(contrast.comparison_mean)})"),
        ("estimate", f"{fixed(contrast.estimate)} (comparison less focal)"),
        (f"{level} interval", f"{interval_text(contrast.interval)}, {contrast.interval.method_words}"),
    ]
    if contrast.few_clusters:
        own = contrast.recommended_interval
        rows.append((f"recommended {level} interval", f"{interval_text(own)}, {own.method_words}"))
    rows += [
        ("standard error", f"{fixed(contrast.standard_error, 4)} (bootstrap)"),
        ("cluster-robust standard error", f"{fixed(contrast.robust_standard_error, 4)} (analytic)"),
        ("p of no difference", p_text(contrast.p_value, contrast.n_resamples)),
        ("mean", mean_words(contrast)),
        ("resamples", f"{contrast.n_resamples:,} of {word}s, drawn {_within(contrast)}"),
        ("seed", str(contrast.seed)),
        ("correction", contrast.correction or "none"),
        ("models", f"{contrast.n_models}"),
        ("clusters by stratum", clusters_text(contrast)),
        ("missing rewards", policy_text(contrast)),
        ("software", f"psychoedu {contrast.version}"),
    ]
    return rows


def mean_words(contrast: Contrast) -> str:
    """Say what counts the same in the means."""
    words = WEIGHTING_WORDS[str(contrast.options["weighting"])]
    each = ", every item of it" if "item" in contrast.options["names"] and contrast.options["weighting"] == "task" else ""
    within = "; strata have the weights given, and within a stratum this holds" if contrast.options["weighted_sides"] else ""
    return f"{words}{each}{within}"


def _within(contrast: Contrast) -> str:
    if contrast.paired:
        within = "within each stratum, " if len(contrast.strata) > 1 else ""
        return f"{within}the same for both conditions"
    names = {"side": "within each side", "stratum": "within each stratum"}
    return names.get(
        str(contrast.options["resample_within"]), "within one side, and within each stratum of the side whose strata have weights"
    )


def contrast_text(contrast: Contrast) -> str:
    """Return a contrast as fixed-width text."""
    rows = facts(contrast)
    width = max(len(name) for name, _ in rows)
    title = "Paired contrast of conditions" if contrast.paired else "Contrast of strata"
    lines = [f"{title}, stratified cluster bootstrap", *(f"{name:<{width}}  {value}" for name, value in rows)]
    lines += [f"note: {note}" for note in contrast.diagnostics]
    for side, row in contrast.boundary.iterrows():
        lines.append(f"note: {boundary_text(str(side), row, contrast.confidence_level)}")
    lines += [f"note: {text}" for text in boundary_models_texts(contrast)]
    models = contrast.models
    if len(models) > 1:
        shown = models[["focal_mean", "comparison_mean", "estimate", "low", "high"]].copy()
        if contrast.few_clusters:
            own = contrast.recommended_models
            shown["low_recommended"], shown["high_recommended"] = own["low"], own["high"]
        p_values = {name: models[name].map(lambda value: p_text(value, contrast.n_resamples)) for name in ("p_value", "p_holm")}
        lines += ["", shown.assign(**p_values).to_string(float_format=fixed)]
    return "\n".join(lines)


def boundary_text(side: str, row: object, level: float) -> str:
    """Say that all rewards of a side are alike, with intervals of its proportion."""
    values = dict(row)  # type: ignore[call-overload]
    kind = "right" if values["value"] == 1.0 else "wrong"
    return (
        f"everything is {kind} on the {side} side: {level_text(level)} intervals of its proportion, a trial a cluster "
        f"(n = {int(values['n_clusters'])}): Wilson [{fixed(values['wilson_low'])}, {fixed(values['wilson_high'])}], "
        f"Clopper-Pearson [{fixed(values['clopper_pearson_low'])}, {fixed(values['clopper_pearson_high'])}]"
    )


def boundary_models_texts(contrast: Contrast) -> list[str]:
    """Say which single models have only right, or only wrong, rewards on a side, with intervals of those proportions."""
    rows = contrast.boundary_models
    if not len(rows) or contrast.n_models == 1:
        return []
    level = level_text(contrast.confidence_level)
    texts = [
        f"{model} on the {side} side: all {'right' if row['value'] == 1.0 else 'wrong'} (n = {int(row['n_clusters'])}), Wilson "
        f"[{fixed(row['wilson_low'])}, {fixed(row['wilson_high'])}], Clopper-Pearson [{fixed(row['clopper_pearson_low'])}, "
        f"{fixed(row['clopper_pearson_high'])}]"
        for (model, side), row in zip(rows.index[:5], rows.head(5).to_dict("records"), strict=True)
    ]
    more = f"; and {len(rows) - 5} more, see boundary_models" if len(rows) > 5 else ""
    return [
        f"models without a wrong or without a right reward on a side, whose own intervals are too short for that; {level} "
        f"intervals of these proportions, a trial a cluster: {'; '.join(texts)}{more}"
    ]


def methods_text(contrast: Contrast) -> str:
    """Return a paragraph for the methods and results of a paper, from the same numbers as every table."""
    options = contrast.options
    word = str(options["names"].get("cluster", "cluster"))
    level = level_text(contrast.confidence_level)
    mean = mean_words(contrast).split(":", 1)[1].strip()
    models = "" if contrast.n_models == 1 else f", the results of all {contrast.n_models} models on a {word} kept together"
    what = f" (the same {word}s under both)" if contrast.paired else ""
    stratified = "stratified cluster bootstrap" if len(contrast.strata) > 1 else "cluster bootstrap"
    p_value = p_text(contrast.p_value, contrast.n_resamples).replace("<", "< ")
    sentences = [
        f"We compared the mean reward of {contrast.comparison} with that of {contrast.focal}{what}; {mean}.",
        f"The means were {fixed(contrast.comparison_mean)} and {fixed(contrast.focal_mean)}, a difference of "
        f"{fixed(contrast.estimate)} ({level} {contrast.interval.method_words} interval {interval_text(contrast.interval)}, "
        f"bootstrap standard error {fixed(contrast.standard_error, 4)}, p {p_value if p_value[0] == '<' else f'= {p_value}'}).",
        f"Uncertainty comes from a {stratified}: {contrast.n_resamples:,} resamples (seed {contrast.seed}) "
        f"of whole {word}s drawn with replacement, {_within(contrast)}{models}; {_correction(contrast)}.",
        _sizes_sentence(contrast, word),
    ]
    if contrast.few_clusters:
        own = contrast.recommended_interval
        sentences.append(
            f"Since a stratum held fewer than 20 {word}s, the interval with better coverage in simulations is given as well: "
            f"{interval_text(own)} ({level}, {own.method_words})."
        )
    sentences += [
        f"The analytic cluster-robust standard error is {fixed(contrast.robust_standard_error, 4)}.",
        f"Missing rewards: {policy_text(contrast)}.",
        *_sentences(contrast.diagnostics),
        f"Computed with psychoedu {contrast.version}.",
    ]
    return " ".join(sentences)


def _sizes_sentence(contrast: Contrast, word: str) -> str:
    if len(contrast.strata) == 1:
        return f"There were {int(contrast.strata['n_clusters'].iloc[0]):,} {word}s."
    return f"Strata held {clusters_text(contrast)}."


def _correction(contrast: Contrast) -> str:
    names = {"rao-wu": "rescaled after Rao and Wu", "canty-davison": "corrected after Canty and Davison"}
    return names.get(contrast.correction or "", "without small-sample correction")


def _sentences(notes: Sequence[str]) -> list[str]:
    return [f"{note[:1].upper()}{note[1:]}." for note in notes]
