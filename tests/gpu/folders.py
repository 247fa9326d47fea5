# SPDX-License-Identifier: Apache-2.0
"""folders.py - print the folders of NVIDIA's libraries in Python packages, for CENTIMANI_CUDA_PATH."""
import glob
import os
import site

FILES = (f for s in site.getsitepackages() for f in glob.glob(s + "/nvidia/*/lib/*.so*"))
print(":".join(sorted({os.path.dirname(f) for f in FILES})))
