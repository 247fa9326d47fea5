# SPDX-License-Identifier: Apache-2.0
"""names.py - the name of the processor that runs the benchmark."""
import platform


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith(("model name", "Model"))]
    except OSError:
        names = []
    return names[0] if names else f"{platform.machine()} CPU"
