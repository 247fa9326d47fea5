#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fit_trends.py BUILD CALL... - fit the trends of calls (data/trends.json) to the H200's built-in kernel tables.

A trend is the mean of NETWORKS small networks with two hidden layers. It is fitted to log(time / roofline time) of all rows
of a call, with Huber's loss, so that single slow kernels do not bend it. Before the fit, the program prints the error of
networks that were fitted to four fifths of the sizes on the others: sizes are left out in all passes and types at once.
Weights are stored as bytes, with a scale for each input of a layer.
Needs PyTorch; the seed makes the result the same on one machine.
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import zlib

import torch

torch.set_num_threads(1)

import internal

PATH = pathlib.Path(__file__).resolve().parent.parent / "data/trends.json"
NETWORKS, LEAST_STEPS, DECAY, HUBER, FOLDS = 3, 1500, 1e-3, 0.3, 5
MOST = 100      # the largest weight of a layer as an integer; most are much smaller and compress well
DAMPING = 1e-3  # of the inputs' variances, where rounding errors are passed on
USUAL = dict(hidden=48, batch=256, passes=150, rate=4e-3)
SIZES = {"conv": dict(hidden=96, batch=1024, passes=80, rate=6e-3), "conv3d": dict(hidden=96, batch=512, passes=100, rate=5e-3)}
# hidden: a multiple of CM__TREND_TOGETHER; more for calls whose sizes decide among many kernels


def rows_of(build, call):
    """Words of each row's table, values, inputs without words, and the fold of its sizes."""
    answer = subprocess.run([internal.built(build, "trend_rows"), call], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in answer.stdout.splitlines()]
    sizes = len(rows[0]) - 4
    folds = torch.tensor([zlib.crc32("\t".join(r[4:4 + min(14, sizes)]).encode()) % FOLDS for r in rows])
    return [r[:3] for r in rows], torch.tensor([float(r[3]) for r in rows]), \
        torch.tensor([[float(x) for x in r[4:]] for r in rows]), folds


def with_words(tables, inputs, words):
    return torch.cat([inputs, torch.tensor([[float(w in table) for w in words] for table in tables])], 1)


def fitted(inputs, values, seed, hidden, batch, passes, rate):
    torch.manual_seed(seed)
    mean, deviation = inputs.mean(0), inputs.std(0)
    deviation[deviation < 1e-6] = 1
    network = torch.nn.Sequential(torch.nn.Linear(inputs.shape[1], hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden),
                                  torch.nn.ReLU(), torch.nn.Linear(hidden, 1))
    x, steps = (inputs - mean) / deviation, max(LEAST_STEPS, passes * len(values) // batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1)
    for _ in range(steps):
        chosen = torch.randint(0, len(values), (batch,))
        loss = torch.nn.functional.huber_loss(network(x[chosen])[:, 0], values[chosen], delta=HUBER)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():  # the first layer takes inputs unscaled
        network[0].weight /= deviation
        network[0].bias -= network[0].weight @ mean
    return network


def trend(networks, inputs):
    with torch.no_grad():
        return sum(n(inputs)[:, 0] for n in networks) / len(networks)


def left_out(inputs, values, folds, sizes):
    """Errors of the first two folds, predicted from the others."""
    errors = []
    for fold in range(2):
        networks = [fitted(inputs[folds != fold], values[folds != fold], seed, **sizes) for seed in range(NETWORKS)]
        errors += (trend(networks, inputs[folds == fold]) - values[folds == fold]).abs().tolist()
    return errors


def four_digits(numbers):
    return [float(f"{x:.4g}") for x in numbers.tolist()]


def rounded(inputs, weights, biases):
    """A layer's weights as integers, rows of its inputs, with the scale of each row, and the biases that belong to them.

    One step of an integer changes the layer's sums equally much for all inputs, by the deviation of each. Inputs are rounded
    one after another, and what this changes at the sums is passed on to those that are not rounded yet: least squares by the
    Cholesky factor of the inverse covariance (optimal brain surgeon; Hassibi and Stork 1992, Frantar et al. 2022).
    """
    x = inputs.double()
    mean, deviation = x.mean(0), x.std(0)
    deviation = deviation.clamp_min(1e-3 * deviation.max())
    rest, x = weights.double() * deviation[:, None], (x - mean) / deviation
    covariance = x.T @ x / len(x) + DAMPING * torch.eye(len(rest))
    passed = torch.linalg.cholesky(torch.linalg.inv(covariance), upper=True)
    step, integers = rest.abs().max() / MOST, []
    for i in range(len(rest)):
        integers.append((rest[i] / step).round().clamp(-127, 127))
        rest[i + 1:] -= passed[i, i + 1:, None] * (rest[i] - integers[i] * step) / passed[i, i]
    integers, scales = torch.stack(integers), torch.tensor(four_digits(step / deviation), dtype=torch.double)
    return integers.float(), scales.float(), (biases + mean @ (weights - integers * scales[:, None])).float()


def stored(network, inputs):
    """A network as data/trends.json has it, in the order of src/model/time/trend.h. inputs: of the rows."""
    first, second, last = network[0], network[2], network[4]
    with torch.no_grad():
        weights, scales, biases = rounded(inputs, first.weight.T, first.bias)
        units = torch.relu(inputs @ (weights * scales[:, None]) + biases)
        weights_2, scales_2, biases_2 = rounded(units, second.weight.T, second.bias)
        return {"scales": four_digits(torch.cat([scales, scales_2])),
                "biases": four_digits(torch.cat([biases, biases_2, last.weight[0], last.bias])),
                "weights": torch.cat([weights.flatten(), weights_2.flatten()]).int().tolist()}


def evaluated(networks, inputs, hidden):
    """The trend by stored networks."""
    total, n = 0, inputs.shape[1]
    for network in networks:
        weights, scales = torch.tensor(network["weights"]).view(-1, hidden), torch.tensor(network["scales"])
        decoded, b = weights * scales[:, None], torch.tensor(network["biases"])
        units = torch.relu(inputs @ decoded[:n] + b[:hidden])
        total = total + torch.relu(units @ decoded[n:] + b[hidden:2 * hidden]) @ b[2 * hidden:-1] + b[-1]
    return total / len(networks)


def write(tree):
    text = json.dumps(tree).replace('{"hidden"', '\n{"hidden"').replace('{"scales"', '\n{"scales"')
    PATH.write_text(re.sub(r'"weights": \[[^]]*', lambda found: found[0].replace(" ", "").replace(":", ": "), text) + "\n")


def main():
    build, *calls = sys.argv[1:]
    tree = json.loads(PATH.read_text())
    for call in calls:
        tables, values, plain, folds = rows_of(build, call)
        words = sorted({w for table in tables for w in table if w != "-"})
        inputs = with_words(tables, plain, words)
        sizes = SIZES.get(call, USUAL)
        errors = left_out(inputs, values, folds, sizes)
        networks = [stored(fitted(inputs, values, seed, **sizes), inputs) for seed in range(NETWORKS)]
        error = (evaluated(networks, inputs, sizes["hidden"]) - values).abs().mean()
        print(f"{call}: {len(values)} rows, spread {values.std():.2f}; left out: mean error {statistics.mean(errors):.3f}, "
              f"median {statistics.median(errors):.3f}; fitted {error:.3f}")
        tree["calls"][call] = {"hidden": sizes["hidden"], "inputs": inputs.shape[1], "words": words, "networks": networks}
    write(tree)


if __name__ == "__main__":
    main()
