# SPDX-License-Identifier: Apache-2.0
"""A unit's default environment file: every option of the program as a comment, with what the help says of it."""

import re
import textwrap

# Options that no running unit has, and those that no other program reads.
LEFT_OUT = {"--help", "--version", "--check", "--output", "--restore", "--without-mux"}
SECRETS = {"--tokens", "--zookeeper-auth", "--tls-cert", "--tls-key", "--tls-ca", "--tls-agents-ca", "--tag-key"}


def file(name: str, unit: str, prefix: str, command) -> str:
    part = name.removeprefix("fairlead-")
    credentials = f"/run/credentials/{unit}"
    out = [
        f"# Configuration of {unit}: {name} --help, option by option. A line that begins with # has no effect.",
        "# Values have no quotation marks around them, but spaces may separate several.",
        "#",
        f"# Keys, tokens and certificates: put files into /etc/fairlead/{part}-secrets, which only root can read. The",
        f"# unit gets a copy of each file NAME at its start, as {credentials}/secret_NAME.",
    ]
    for flag in command.flags:
        long = next((flag_name for flag_name in flag.names if flag_name.startswith("--")), None)
        if long is None or long in LEFT_OUT:
            continue
        variable = prefix + long.removeprefix("--").replace("-", "_").upper()
        about = re.sub(r"\s+", " ", " ".join(flag.about))
        value = f"{credentials}/secret_{long.removeprefix('--')}" if long in SECRETS else flag.value or "true"
        out += ["", *textwrap.wrap(about, 110, initial_indent="# ", subsequent_indent="# "), f"#{variable}={value}"]
    if name == "fairlead-controller":
        out += ["", "# For the JVM", "#JAVA_OPTS=-Xmx2g"]
    return "\n".join(out) + "\n"
