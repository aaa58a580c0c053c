"""The table of each respondent's profile, with attributes that the items do not support withheld."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from psychoedu.cdm.persons import TIE, Persons
from psychoedu.cdm.profiles import ProfileArray, profile_labels


def profile_table(
    persons: Persons, alpha: ProfileArray, method: str, index: pd.Index, attributes: pd.Index, withheld: Sequence[Hashable]
) -> pd.DataFrame:
    """Return each respondent's profile by "eap", "map" or "ml"; attributes withheld are NA, and "?" in ``profile``."""
    if method == "eap":
        decided = (persons.mastery > 0.5).astype(np.int8)
        tied = np.abs(persons.mastery - 0.5).min(axis=1) < TIE
    elif method == "map":
        decided, tied = alpha[persons.map_profile], persons.map_tied
    else:
        decided, tied = alpha[persons.ml_profile], persons.ml_tied
    frame = pd.DataFrame(decided, index=index, columns=attributes)
    texts = pd.Series(profile_labels(decided), index=index, dtype=object)
    for label in withheld:
        position = attributes.get_loc(label)
        frame[label] = pd.array([pd.NA] * len(frame), dtype="Int8")
        texts = texts.map(lambda text, k=position: f"{text[:k]}?{text[k + 1 :]}")
    frame["profile"] = texts
    frame["tied"] = tied
    return frame
