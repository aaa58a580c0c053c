"""Time and memory of psychoedu beside its peers, measured in one run; not part of the package."""
