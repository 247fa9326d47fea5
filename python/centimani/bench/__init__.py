# SPDX-License-Identifier: Apache-2.0
"""bench - time the kernels of eager PyTorch, call by call, and write them as kernel tables of a device profile."""
