"""Inspect tasks, scorers and model providers: the one room that needs inspect_ai when it is loaded."""
