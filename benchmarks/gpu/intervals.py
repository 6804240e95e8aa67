"""Medians with 95 % bootstrap intervals (percentile method, Efron 1979), as benchmarks/measure.ts has them."""

import random
import statistics


def interval(values, resamples=4000):
    """{"value", "low", "high", "n"}: the median of `values`; the same values give the same interval."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(resamples))
    at = lambda share: medians[round(share * (resamples - 1))]
    return {"value": statistics.median(values), "low": at(0.025), "high": at(0.975), "n": len(values)}


def ratio_interval(theirs, ours):
    """Of theirs / ours round by round, so that a slow moment of the machine cancels."""
    return interval([t / o for t, o in zip(theirs, ours)])
