"""Small tables of rewards for the tests of the bootstrap."""

from __future__ import annotations

import numpy as np
import pandas as pd

PROFILES = {"strategic surface": 18, "disengaged": 17, "anxious": 13, "deep": 19, "brittle": 15, "motivated novice": 18}
"""Tasks of each learner profile in the published benchmark: 100 in all."""


def long(by_stratum: dict[str, list[float]], model: str = "A") -> pd.DataFrame:
    """Return a row per task, tasks t0, t1, ... through the strata."""
    labels = [label for label, values in by_stratum.items() for _ in values]
    values = [value for own in by_stratum.values() for value in own]
    return pd.DataFrame({"task": [f"t{at}" for at in range(len(values))], "stratum": labels, "model": model, "reward": values})


def published_like(n_models: int = 17, seed: int = 5) -> pd.DataFrame:
    """Return rewards of 100 tasks in the published profiles, the focal one lower by 0.055 on average."""
    rng = np.random.default_rng(seed)
    profile = np.repeat(list(PROFILES), list(PROFILES.values()))
    mean = 0.75 - 0.055 * (profile == "strategic surface")
    values = mean[:, None] + 0.1 * rng.standard_normal((100, 1)) + 0.1 * rng.standard_normal((100, n_models))
    return pd.DataFrame(
        {
            "task": np.repeat([f"t{at:03}" for at in range(100)], n_models),
            "profile": np.repeat(profile, n_models),
            "model": np.tile([f"m{at:02}" for at in range(n_models)], 100),
            "reward": np.clip(values, 0.0, 1.0).ravel(),
        }
    )


def unequal(seed: int = 3) -> pd.DataFrame:
    """Return 0/1 rewards of three models on 30 tasks of one to five items, in two strata."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(30):
        for item in range(rng.integers(1, 6)):
            for model in "ABC":
                right = int(rng.random() < 0.4 + 0.3 * (task % 3 == 0))
                rows.append((f"t{task:02}", "x" if task < 12 else "y", f"i{item}", model, right))
    return pd.DataFrame(rows, columns=["task", "stratum", "item", "model", "reward"])
