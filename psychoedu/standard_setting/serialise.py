"""Cut scores as plain lists and numbers, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.persistence import Fields, encode_number, encode_numbers, plain_label
from psychoedu.standard_setting.booklet import OrderedItemBooklet
from psychoedu.standard_setting.panel import BookmarkPanel
from psychoedu.standard_setting.scales import Scale
from psychoedu.validation import listed

if TYPE_CHECKING:
    from psychoedu.standard_setting.cut_scores import CutScores

_PARTS = ("panel_covariance", "item_covariance", "linking_covariance")


def cuts_to_dict(cuts: CutScores) -> dict[str, Any]:
    """Return cut scores as plain lists and numbers."""
    sensitivity = cuts.rp_sensitivity
    panel = cuts.panel
    return {
        "levels": [plain_label(level) for level in cuts.levels],
        "values": encode_numbers(cuts.values),
        "scale": {"name": cuts.scale.name, "levels": list(cuts.scale.levels)},
        "method": cuts.method,
        **{name: encode_numbers(getattr(cuts, name)) for name in _PARTS},
        "panel_df": encode_number(cuts.panel_df),
        "bank": None if cuts.bank is None else cuts.bank.to_dict(),
        "gradient": None if cuts.gradient is None else encode_numbers(cuts.gradient),
        # the panel holds its booklet
        "booklet": None if cuts.booklet is None or panel is not None else cuts.booklet.to_dict(),
        "panel": None if panel is None else panel.to_dict(),
        "linking": None if cuts.linking is None else cuts.linking.to_dict(),
        "rp_sensitivity": None
        if sensitivity is None
        else {
            "response_probability": [float(value) for value in sensitivity.index],
            "cuts": encode_numbers(sensitivity.to_numpy()),
        },
        "options": {name: _plain_option(value) for name, value in cuts.options.items()},
        "diagnostics": list(cuts.diagnostics),
        "version": cuts.version,
    }


def cuts_from_dict(content: dict[str, Any]) -> dict[str, Any]:
    """Read the fields of cut scores, each checked, as arguments of the class."""
    fields = Fields(content)
    levels = tuple(fields.labels("levels"))
    n = len(levels)
    bank = None if fields.is_none("bank") else ItemBank.from_dict(fields.part("bank").content)
    panel = None if fields.is_none("panel") else BookmarkPanel.from_dict(fields.part("panel").content)
    booklet = None if fields.is_none("booklet") else OrderedItemBooklet.from_dict(fields.part("booklet").content)
    gradient = None
    if not fields.is_none("gradient"):
        if bank is None:
            fields.refuse("gradient", "null where there is no bank")
        gradient = fields.numbers("gradient", n, 2 * bank.n_items)
    scale = fields.part("scale")
    named = Scale(scale.text("name"), scale.texts("levels"))
    named.check_order([str(level) for level in levels])
    options = fields.part("options").content
    if panel is not None:
        if panel.levels != levels:
            fields.refuse("panel", f"the levels of the cut scores, {listed(levels)}", listed(panel.levels))
        absent = [name for name in ("n_panellists", "round", "response_probability", "rule", "aggregate") if name not in options]
        if absent:
            fields.refuse("options", f"{listed(absent)} besides")
        fields.part("options").number("response_probability", above=0.0)
        fields.part("options").integer("n_panellists")
    return {
        "levels": levels,
        "values": fields.numbers("values", n, infinite=True),
        "scale": named,
        "method": fields.text("method"),
        **{name: _matrix(fields, name, n) for name in _PARTS},
        "panel_df": fields.number("panel_df", low=0.0, infinite=True),
        "bank": bank,
        "gradient": gradient,
        "booklet": panel.booklet if panel is not None else booklet,
        "panel": panel,
        "linking": None if fields.is_none("linking") else LinkingConstants.from_dict(fields.part("linking").content),
        "rp_sensitivity": _sensitivity(fields, levels),
        "options": dict(options),
        "diagnostics": fields.texts("diagnostics"),
        "version": fields.text("version"),
    }


def _matrix(fields: Fields, name: str, n: int) -> FloatArray:
    matrix = fields.numbers(name, n, n, missing=True)
    if (np.diag(matrix) < 0.0).any() or not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-12, equal_nan=True):
        fields.refuse(name, "a covariance: symmetric, and variances of at least 0 on its diagonal")
    return matrix


def _sensitivity(fields: Fields, levels: tuple[Any, ...]) -> pd.DataFrame | None:
    if fields.is_none("rp_sensitivity"):
        return None
    part = fields.part("rp_sensitivity")
    grid = part.numbers("response_probability", -1, above=0.0)
    cuts = part.numbers("cuts", len(grid), len(levels), infinite=True, missing=True)
    index = pd.Index(grid, name="response_probability")
    return pd.DataFrame(cuts, index=index, columns=pd.Index(list(levels), name="level"))


def _plain_option(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, tuple | list):
        return [_plain_option(part) for part in plain]
    return plain if plain is None or isinstance(plain, str | int | float | bool) else str(plain)
