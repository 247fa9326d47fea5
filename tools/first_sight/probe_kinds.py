# SPDX-License-Identifier: Apache-2.0
"""probe_kinds.py - the kinds of inputs that probes have beside numbers with a gradient."""


class Given(tuple):
    """A shape of random numbers without a gradient: a target."""


class Index(tuple):
    """A limit and a shape: integers below the limit."""


class Chosen(tuple):
    """A shape of truth values, half of them true."""


def given(*shape):
    return Given(shape)


def index(limit, *shape):
    return Index((limit, *shape))


def chosen(*shape):
    return Chosen(shape)
