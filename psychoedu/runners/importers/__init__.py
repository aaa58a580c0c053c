"""Readers of result files that other tools wrote, one module a format; :func:`psychoedu.read_results` chooses among them."""
