# SPDX-License-Identifier: Apache-2.0
"""Ways to break the system on purpose, to see each verdict turn red. Nothing that operators install has them."""

from typing import Any

from lab import build
from lab.deadline import LabError

MUX = build.DIRECTORY / "mux" / "fairlead-mux-sabotaged"
TEST_CLASSES = build.ROOT / "controller" / "target" / "test-classes"
CONTROLLER = "io.fairlead.controller.SabotagedController"

OF_MUX = ("generation-check-off", "half-delta", "second-off", "filter-off", "filter-random")
OF_CONTROLLER = ("fencing-off", "early-ack", "clock-check-off")
NAMES = ("chaining-off", "hello-off", "hold-off", "rule-off", *OF_CONTROLLER, *OF_MUX)


def variant(switch: str | None) -> dict[str, Any]:
    """The arguments of lab.variant.Variant."""
    if switch is None:
        return {}
    if switch not in NAMES:
        raise LabError(f"unknown switch '{switch}'; allowed: {', '.join(NAMES)}")
    if switch == "chaining-off":
        return {"chaining": False}
    if switch == "hello-off":
        return {"mux_options": ("--hello", "off")}
    if switch == "hold-off":
        return {"hold": 0}
    if switch == "rule-off":
        return {"controller": (str(build.CONTROLLER), "--arrays-wait", "off")}
    environment = {"FAIRLEAD_SABOTAGE": switch}
    if switch in OF_MUX:
        if not MUX.exists():
            raise LabError(f"{MUX} is not built: run lab/build --sabotaged")
        return {"mux": MUX, "environment": environment}
    if not (TEST_CLASSES / (CONTROLLER.replace(".", "/") + ".class")).exists():
        raise LabError(f"{CONTROLLER} is not compiled: run lab/build --sabotaged")
    java = ("java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{TEST_CLASSES}:{build.JAR}")
    return {"controller": (*java, CONTROLLER), "environment": environment}
