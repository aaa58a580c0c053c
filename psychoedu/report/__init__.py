"""Reports of results: text and pages that stand on their own."""

from __future__ import annotations

from psychoedu.report.contrast import contrast_page, contrast_section
from psychoedu.report.diagnosis import diagnosis_page, diagnosis_section
from psychoedu.report.html import calibration_page, calibration_section

__all__ = [
    "calibration_page",
    "calibration_section",
    "contrast_page",
    "contrast_section",
    "diagnosis_page",
    "diagnosis_section",
]
