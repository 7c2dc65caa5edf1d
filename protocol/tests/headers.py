#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each protocol header alone in each world that includes it, as TAP. Usage: headers.py SOURCE_ROOT"""

import platform
import subprocess
import sys
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes", "-Wvla", "-Wundef"]


def worlds(root: Path) -> dict[str, list[str]]:
    """Name to compiler with its arguments. The kernel's world sees no system header at all."""
    multiarch = f"/usr/include/{platform.machine()}-linux-gnu"
    kernel = ["-std=gnu11", "-nostdinc", "-ffreestanding", "-D__KERNEL__", f"-I{root}/protocol/tests/kernel"]
    kernel += ["-Wdeclaration-after-statement", "-mno-sse", "-mgeneral-regs-only"]
    return {
        "userspace, gcc": ["gcc", "-std=c11", "-Wpedantic", "-O2"],
        "userspace with SSE4.2, gcc": ["gcc", "-std=c11", "-Wpedantic", "-O2", "-msse4.2"],
        "userspace, clang": ["clang", "-std=c11", "-Wpedantic", "-O2"],
        "eBPF, clang": ["clang", "-target", "bpf", "-std=gnu11", "-O2", f"-I{multiarch}"],
        "kernel, gcc": ["gcc", *kernel],
        "kernel, clang": ["clang", *kernel],
    }


def main(root: Path) -> int:
    include = root / "protocol" / "include"
    headers = sorted(include.glob("fairlead/*.h"))
    cases = [(header, name, command) for header in headers for name, command in worlds(root).items()]
    print(f"1..{len(cases)}")
    failed = 0
    for number, (header, name, command) in enumerate(cases, 1):
        # Twice in one unit: the guard is part of standing alone.
        source = f'#include "{header}"\n' * 2
        arguments = [*command, *WARNINGS, f"-I{include}", "-c", "-x", "c", "-", "-o", "/dev/null"]
        run = subprocess.run(arguments, input=source, capture_output=True, text=True, check=False)
        print(f"{'ok' if run.returncode == 0 else 'not ok'} {number} - {header.name} in {name}")
        for line in run.stderr.splitlines():
            print(f"# {line}")
        failed += run.returncode != 0
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
