"""Settings of the tests' tools."""

from hypothesis import settings

# A busy machine is no defect; tests that are about time measure it themselves.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
