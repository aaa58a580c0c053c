"""The scoring rules of the benchmarks' protocols, as pure functions of strings and numbers; nothing here calls a model."""
