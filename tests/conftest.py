"""Hypothesis profiles of all tests."""

from hypothesis import Phase, settings

# No deadline for an example: a CI machine may be busy, and `make bench` measures speed.
settings.register_profile("hermes", deadline=None)
# `make mutation` only needs to know whether a test fails: the same examples each time, without shrinking.
settings.register_profile(
    "mutation", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("hermes")
