"""Benchmark runners and importers of result files: nothing here yet."""
