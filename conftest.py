"""What holds for every test: one profile of Hypothesis, without a clock and without leftovers.

No test may depend on the speed of the machine or on what an earlier run left behind. A failing example is
printed with the decorator that repeats it.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "caliban",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    print_blob=True,
)
settings.load_profile("caliban")
