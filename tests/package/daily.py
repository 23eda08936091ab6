"""A seed that changes every day: tests with random input see something new, and what they saw can be seen again."""

import datetime
import os

VARIABLE = "TNSEARCH_SEED"


def seed() -> int:
    """The seed in the environment, or today's date (UTC): 20261118."""
    given = os.environ.get(VARIABLE)
    if given:
        return int(given)
    return int(datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d"))


def said() -> str:
    """What is printed, so that a run can be repeated."""
    return f"seed of the day: {seed()} (repeat with {VARIABLE}={seed()})"
