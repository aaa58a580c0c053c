"""Errors and warnings, one class per kind of failure.

Every message has four parts in at most three lines: what is wrong and where (the first five labels and the count), what was
expected, and how to mend it.
"""

from __future__ import annotations


class PsychoeduError(Exception):
    """Base of every error that psychoedu raises on purpose."""


class DataError(PsychoeduError, ValueError):
    """A fault in the data or in an argument."""


class ResponseCodeError(DataError):
    """Cells hold codes that are not 0, 1 or a declared missing code."""


class DuplicateLabelError(DataError):
    """Two rows or two columns carry one label."""


class RepeatsError(DataError):
    """One cell was observed more than once and no rule was given to reduce the repeats."""


class ConstantItemError(DataError):
    """Items whose observed responses are all alike (or absent), so that their parameters do not exist."""


class DisconnectedDesignError(DataError):
    """Groups or blocks of items share nothing, so that they have no common scale."""


class IdentificationError(DataError):
    """The model has more parameters than the data can tell apart."""


class SampleSizeError(DataError):
    """Too few respondents for the estimates that were asked for."""


class LabelError(DataError):
    """Labels do not match: an unknown item, an absent column, no common label."""


class MissingResponsesError(PsychoeduError):
    """A result was loaded from a file, which holds no responses, and something that needs them was asked of it."""


class EstimationError(PsychoeduError):
    """The likelihood could not be maximised at all."""


class FileFormatError(DataError):
    """A file is not what the reader expected."""


class MissingDependencyError(PsychoeduError, ImportError):
    """An optional package is needed for what was asked."""


class PsychoeduWarning(UserWarning):
    """Base of every warning: the number exists, but should not be trusted as it stands."""


class ConvergenceWarning(PsychoeduWarning):
    """Estimation stopped before it reached the maximum."""


class BoundaryEstimateWarning(PsychoeduWarning):
    """A parameter rests on its bound: the likelihood has no maximum inside."""


class SmallSampleWarning(PsychoeduWarning):
    """Few respondents for the number of parameters."""


class DroppedItemsWarning(PsychoeduWarning):
    """Items were left out, as asked."""


class QuadratureWarning(PsychoeduWarning):
    """The quadrature points are too far apart for this test."""


class StandardErrorWarning(PsychoeduWarning):
    """Standard errors could not be computed."""


class QMatrixError(DataError):
    """A Q-matrix holds other values than 0 and 1, an item without attributes, or an attribute without items."""


class MemoryLimitError(PsychoeduError, MemoryError):
    """What was asked for would take more memory than the limit allows; nothing was allocated."""


class IdentificationWarning(PsychoeduWarning):
    """The Q-matrix leaves profiles or parameters of the model undetermined, whatever the data."""


class ClusterDesignError(DataError):
    """Clusters and strata from which no sampling error can be computed, such as a stratum with one cluster."""


class MissingRewardsError(DataError):
    """Models without a reward on units that others have, and no rule what to do about it."""


class ResamplingError(PsychoeduError):
    """Too many resamples failed for an interval from the others."""


class DegenerateBootstrapWarning(PsychoeduWarning):
    """The resamples do not spread as the interval needs: another one is shown, or its width says nothing."""


class UnbalancedModelsWarning(PsychoeduWarning):
    """Models have rewards on one side of a contrast only, so that what they are worth enters the difference."""


class ItemBankError(DataError):
    """An item bank has malformed items: no key, an option twice, a level that is none."""


class RecordsError(DataError):
    """Records of responses contradict each other, or lack what was asked of them."""


class ResultsFormatError(DataError):
    """A file of results is of no known format, or not as that format says."""


class RunnerError(PsychoeduError):
    """A run cannot start or go on: an extra that is not installed, settings that differ from those of the run in the folder."""
