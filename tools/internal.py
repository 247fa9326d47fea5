# SPDX-License-Identifier: Apache-2.0
"""internal.py - compile a C program of tools/ that uses the library's internal functions."""
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent.parent


def built(build, name):
    """The path of tools/NAME.c, compiled with the library of a build folder."""
    program = pathlib.Path(build) / name
    libraries = subprocess.run(["pkg-config", "--libs", "jansson", "hwloc"], capture_output=True, text=True, check=True)
    subprocess.run(["cc", "-std=c11", "-O1", f"-I{HERE}/include", f"-I{HERE}/src", f"{HERE}/tools/{name}.c",
                    f"{build}/src/libcentimani.a", *libraries.stdout.split(), "-lprotobuf-nanopb", "-lm", "-lpthread",
                    "-o", program], check=True)
    return program.resolve()
