"""What Inspect finds of this package through its entry point: tasks, scorers, reducers and model providers by name."""

from __future__ import annotations

from psychoedu.runners.tasks.aligned_certification import aligned_certification
from psychoedu.runners.tasks.aligned_comparative import aligned_comparative, better_sample
from psychoedu.runners.tasks.aligned_diagnostic import aligned_diagnostic, judged
from psychoedu.runners.tasks.aligned_grading import aligned_grading, classification
from psychoedu.runners.tasks.aligned_neuromyths import aligned_neuromyths, ask_confidence, statement
from psychoedu.runners.tasks.csebench import augment, csebench
from psychoedu.runners.tasks.mcq import letter, majority_first
from psychoedu.runners.tasks.simulated_provider import SimulatedAPI

__all__ = [
    "SimulatedAPI",
    "aligned_certification",
    "aligned_comparative",
    "aligned_diagnostic",
    "aligned_grading",
    "aligned_neuromyths",
    "ask_confidence",
    "augment",
    "better_sample",
    "classification",
    "csebench",
    "judged",
    "letter",
    "majority_first",
    "statement",
]
