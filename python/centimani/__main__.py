# SPDX-License-Identifier: Apache-2.0
"""__main__.py - python -m centimani COMMAND ...: find the command's function and call it with the remaining
arguments."""
import importlib
import sys

COMMANDS = {
    "bench": ("centimani.bench.cli:main", "time the kernels of eager PyTorch on a device and write a profile"),
    "capture": ("centimani.command:main", "record one training step of a PyTorch or JAX program, FILE.py:build"),
}


def usage():
    rows = "".join(f"  {name:10} {purpose}\n" for name, (_, purpose) in COMMANDS.items())
    return f"usage: python -m centimani COMMAND ...\n\n{rows}\nEach command has --help.\n"


def main(words):
    if not words or words[0] in ("-h", "--help"):
        (sys.stdout if words else sys.stderr).write(usage())
        return 0 if words else 2
    if words[0] not in COMMANDS:
        sys.stderr.write(f"centimani: unknown command '{words[0]}'; commands are: {', '.join(COMMANDS)}\n")
        return 2
    module, function = COMMANDS[words[0]][0].split(":")
    return getattr(importlib.import_module(module), function)(words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
