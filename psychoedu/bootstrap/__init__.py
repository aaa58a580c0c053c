"""Stratified task-cluster bootstrap: nothing here yet; planned are contrasts and leaderboards with intervals."""
