# SPDX-License-Identifier: Apache-2.0
"""bench - time what eager PyTorch launches, call by call, and write it as kernel tables of a device profile."""
