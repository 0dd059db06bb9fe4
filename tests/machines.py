"""How long state machines run: `MACHINE_STEPS=10000 python -m pytest tests -k machine` runs each so many steps."""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

STEPS_A_RUN = 50
STEPS = int(os.environ.get("MACHINE_STEPS", "200"))


def run_machine(machine: type[RuleBasedStateMachine]) -> None:
    """Run a machine from its beginning, again and again, with other steps each time."""
    chosen = settings(
        max_examples=max(1, STEPS // STEPS_A_RUN),
        stateful_step_count=STEPS_A_RUN,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)
