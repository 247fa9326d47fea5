#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capture.py FOLDER [NETWORK...] - capture the networks of nets.py as FOLDER/NETWORK.cmt.json; needs no GPU."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python")]
import centimani  # noqa: E402
import nets  # noqa: E402
import torch  # noqa: E402


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(nets.NETWORKS)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        model, make, _, kind = nets.NETWORKS[name]()
        x = make(2)
        if x.dim() == 4:
            model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
        trace = centimani.capture(model, x, loss=nets.loss_of(kind), target=nets.target_of(kind, x),
                                  optimizer=nets.optimizer_of(kind, model.parameters()))
        trace.save(os.path.join(folder, name + ".cmt.json"))
        print(name)


if __name__ == "__main__":
    main()
