"""What holds for every test."""

from hypothesis import settings

# No example fails for being slow: the machine is shared, and what must be fast is measured by the bench.
settings.register_profile("hermes", deadline=None)
settings.load_profile("hermes")
