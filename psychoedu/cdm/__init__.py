"""Cognitive diagnosis: nothing here yet; planned are G-DINA, DINA, DINO, ACDM and RRUM with a higher-order structure."""
