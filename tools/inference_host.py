#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""inference_host.py - host time of an operator without autograd over its time with autograd, in eager PyTorch.

    tools/inference_host.py [--device cuda] [--repeat N]

Times chains of 80 small operators, each with its own parameters: the thread that launches them, without waiting for the
device. Prints microseconds per operator and the quotient of each kind. Each value is the 10th percentile of the
repetitions, to exclude other load.
"""
import argparse
import math
import time

import torch
import torch.nn as nn

COUNT = 80
CHAINS = {
    "linear": (lambda: nn.Linear(4, 4), (1, 4)),
    "conv": (lambda: nn.Conv2d(4, 4, 1), (1, 4, 2, 2)),
    "norm": (lambda: nn.LayerNorm(4), (1, 4)),
    "batch_norm": (lambda: nn.BatchNorm2d(4), (2, 4, 2, 2)),
    "elementwise": (lambda: nn.ReLU(), (1, 4)),
}


def microseconds(call, wait, repeat):
    times = []
    for _ in range(repeat):
        wait()
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
        del result
    return 1e6 * sorted(times)[repeat // 10] / COUNT


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", default="cuda")
    options.add_argument("--repeat", type=int, default=200)
    o = options.parse_args()
    wait = torch.cuda.synchronize if o.device == "cuda" else lambda: None
    quotients = []
    for kind, (make, shape) in CHAINS.items():
        chain = nn.Sequential(*(make() for _ in range(COUNT))).to(o.device)
        x = torch.randn(shape, device=o.device)
        grown = x.clone().requires_grad_()
        training = microseconds(lambda: chain(grown), wait, o.repeat)
        chain.eval()
        with torch.no_grad():
            inference = microseconds(lambda: chain(x), wait, o.repeat)
        quotients.append(inference / training)
        print(f"{kind:12} with autograd {training:6.2f} us, without {inference:6.2f} us, quotient {inference / training:.2f}")
    print(f"geometric mean {math.exp(sum(map(math.log, quotients)) / len(quotients)):.2f}")


if __name__ == "__main__":
    main()
