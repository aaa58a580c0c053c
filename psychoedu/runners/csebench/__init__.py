"""CSEBench: multiple-choice items on the China Standards of English, its prompts and its description for the runner."""
