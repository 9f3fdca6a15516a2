"""The numbers that steer how hyper-parameters are searched."""

from dataclasses import dataclass

from mercer._policies import Options


@dataclass(frozen=True)
class SearchOptions(Options):
    """How θ and λ are searched: starts, levels of rows, steps, and when a descent ends.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.selection import SearchOptions
    >>> model = KernelRidge(options=[SearchOptions(starts=1)])
    """

    starts: int = 3  # starts that are followed on the first level of rows; the last of several begins with much noise
    length_factors: tuple = (1.0, 0.3, 3.0)  # of the median distance, at which length scales start
    noise_ratios: tuple = (1e-2, 1e-1, 1e-4)  # of λ to the variance of y, at which λ starts
    first_rows: int = 150  # least rows of the first level, which screens the starts
    growth: int = 3  # how many times as many rows the next level has
    sample_gain: float = 1e-3  # gain in C per row below which a descent on some of the rows ends
    error_gain: float = (
        1e-4  # the same in log C on all rows: an estimate of an error is not worth more than four digits
    )
    longest_step: float = 3.0  # in log θ: beyond, the curvature is another
    path_rows: int = 3000  # rows up to which λ alone is chosen on its whole path, by an eigendecomposition
    sample_rows: int = 1000  # rows whose path shows where to look for λ, where there are more than these


@dataclass(frozen=True)
class NeighbourSearchOptions(Options):
    """How θ and λ are searched by nearest neighbours: batch after batch, each of more rows."""

    batches: tuple = (512, 2048, 4096)  # rows of each batch, whose neighbours are found in the metric of its start
    followed: tuple = (None, 2, 1)  # how many ends of the batch before are followed; None is all starts
    gains: tuple = (2e-3, 1e-3, 5e-4)  # gain in the mean log density below which a descent on a batch ends


@dataclass(frozen=True)
class PriorOptions(Options):
    """The weak priors of hyper-parameters on few rows; deviations are of logs: 1.7 is a factor of 6 either way."""

    rows: int = 50  # below which weak priors are the default
    length_deviation: float = 3.0**0.5  # of length scales around the median distance
    noise_deviation: float = 2.0  # of the noise around its median
    scale_deviation: float = 2.0  # of amplitudes around the variance of y
    noise_ratio: float = 1e-2  # median of the noise, relative to the variance of y


@dataclass(frozen=True)
class KernelSearchOptions(Options):
    """How kernel expressions are searched: ``kernel="auto"`` and `search_kernels`."""

    first_rows: int = 600  # rows of the first level, on which all families are tried
    growth: int = 3  # how many times as many rows the next level has
    most_rows: int = 6000  # on which candidates are compared: beyond, hyper-parameters hardly change
    series_rows: int = 2000  # the same along a series
    survivors: int = 6  # candidates that go on to more rows
    shares: tuple = (0.2, 0.4, 1.0)  # of the time, spent by the end of each level; of two levels the last two
    series_shares: tuple = (0.5, 0.7, 1.0)  # the same along a series, whose parts are found on the first level
    part_gain: float = 2.0  # nats that a further part has to bring beside those for its hyper-parameters
    most_parts: int = 4  # parts added along time to one candidate
    most_lengths: int = 60  # columns beyond which one length scale serves all
    gain: float = 1e-3  # gain in the mean log density below which a descent ends, where a comparison is to come
    final_gain: float = 1e-4  # the same of the best candidate on all rows
    length_spread: float = 1.5  # deviation of log ℓⱼ around their mean: alike unless rows say otherwise


@dataclass(frozen=True)
class SpectralSearchOptions(Options):
    """How hyper-parameters are searched by Fourier features."""

    reach: float = 1.2  # factor of a length scale within which a grid serves: 1.5 takes three times as long
    grids: int = 8  # laid one after the other, where length scales go further
    most: int = 2**15  # features: beyond, an evaluation takes as long as all that neighbours say
    gain: float = 1e-5  # of the mean log density, below which a descent ends
    nats: float = 0.1  # the same of the log density of all rows: the larger one counts
    patience: int = 6  # evaluations without that gain: estimates by probes differ by more from place to place
    tol: float = 1e-5  # of the iteration: an error of the evidence is its square
