# SPDX-License-Identifier: Apache-2.0
"""centimani - the PyTorch side of Centimani: measure a device's calls, capture a network's."""
