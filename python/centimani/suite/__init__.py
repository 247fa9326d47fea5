# SPDX-License-Identifier: Apache-2.0
"""suite - networks that the benchmark trains."""
