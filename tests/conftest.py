"""What holds for every test."""

from hypothesis import Phase, settings

# No example fails for being slow: the machine is shared, and what must be fast is measured by the bench.
settings.register_profile("hermes", deadline=None)
# `make mutation` asks whether a test fails: the same examples each time, and no search for the shortest one.
settings.register_profile(
    "mutation", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("hermes")
