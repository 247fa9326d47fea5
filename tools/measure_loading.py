#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_loading.py OUT.json [--workers 0,1,2,...] [--models resnet18,resnet50] [--batch N] [--seconds S] [--loader NAME]

Train on JPEG files through torchvision's usual pipeline, on this machine's GPU: DataLoader, Pillow, RandomResizedCrop,
flip, to tensor, normalise, pinned memory, copy to the GPU, step under autocast with channels last. Per model and number
of workers: images/s over a few seconds after the first batches. Also: the rate of one core without a GPU, by part, the
step with its samples already on the device, and copies from memory that is not pinned. The files are made here: smooth
random images with the mean size of ImageNet's (500 x 375 pixels, about 110 kB). With --loader bytes the workers hand
over bytes, which the GPU normalises, as NVIDIA's DeepLearningExamples do; with --loader autoaugment they also apply
AutoAugment's policy of ImageNet first.
"""
import argparse
import io
import json
import os
import tempfile
import time

import numpy
import torch
import torchvision
from PIL import Image
from torchvision import transforms

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
AUGMENT = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
                              transforms.Normalize(MEAN, DEVIATION)])
BYTES = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()])
AUTOAUGMENT = transforms.Compose([BYTES, transforms.AutoAugment()])
LOADERS = {"floats": AUGMENT, "bytes": BYTES, "autoaugment": AUTOAUGMENT}


def image_of(random):
    """Noise on two scales: compresses to about the size of a photograph."""
    coarse = Image.fromarray(random.integers(0, 256, (24, 32, 3), dtype=numpy.uint8)).resize((500, 375), Image.BICUBIC)
    fine = random.normal(0, 22, (375, 500, 3))
    return Image.fromarray(numpy.clip(numpy.asarray(coarse) + fine, 0, 255).astype(numpy.uint8))


def make_files(folder, count):
    random, sizes = numpy.random.default_rng(0), []
    os.makedirs(os.path.join(folder, "class"))
    for n in range(count):
        path = os.path.join(folder, "class", f"{n}.jpg")
        image_of(random).save(path, quality=90)
        sizes.append(os.path.getsize(path))
    return sum(sizes) / count


def rate(count, work):
    begin = time.perf_counter()
    for n in range(count):
        work(n)
    return count / (time.perf_counter() - begin)


def collate_bytes(batch):
    """A batch of bytes with channels last, filled image by image."""
    images = torch.zeros((len(batch), 3, 224, 224), dtype=torch.uint8).contiguous(memory_format=torch.channels_last)
    for n, (image, _) in enumerate(batch):
        images[n] += torch.from_numpy(numpy.rollaxis(numpy.array(image, dtype=numpy.uint8), 2))
    return images, torch.tensor([label for _, label in batch])


def normalised(x):
    """Samples on the device as the network takes them."""
    if x.dtype != torch.uint8:
        return x
    mean, deviation = (255 * torch.tensor(v, device=x.device).view(1, 3, 1, 1) for v in (MEAN, DEVIATION))
    return x.float().sub_(mean).div_(deviation)


def parts_of(folder):
    """Images/s of one core: decoding alone, and with all transforms."""
    raw = [open(os.path.join(folder, "class", f"{n}.jpg"), "rb").read() for n in range(64)]
    opened = [Image.open(io.BytesIO(b)).convert("RGB") for b in raw]
    torch.set_num_threads(1)
    return {"decode": rate(200, lambda n: Image.open(io.BytesIO(raw[n % 64])).convert("RGB")),
            "transform": rate(200, lambda n: AUGMENT(opened[n % 64])),
            "bytes": rate(200, lambda n: BYTES(opened[n % 64])),
            "autoaugment": rate(400, lambda n: AUTOAUGMENT(opened[n % 64])),
            "collate": 64 * rate(8, lambda n: collate_bytes([(BYTES(i), 0) for i in opened])),
            "both": rate(200, lambda n: AUGMENT(Image.open(io.BytesIO(raw[n % 64])).convert("RGB")))}


def step_of(name):
    model = getattr(torchvision.models, name)().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return step


def resident(step, batch):
    """Images/s with the samples already on the device."""
    x = torch.randn(batch, 3, 224, 224, device="cuda").contiguous(memory_format=torch.channels_last)
    y = torch.zeros(batch, dtype=torch.int64, device="cuda")
    for _ in range(5):
        step(x, y)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(15):
        step(x, y)
    torch.cuda.synchronize()
    return 15 * batch / (time.perf_counter() - begin)


def unpinned():
    """Bytes/s to the device from memory that is not pinned: median of 12 copies of 200 MB."""
    x = torch.rand(50_000_000)
    return 200e6 * sorted(rate(1, lambda _: x.cuda()) for _ in range(12))[6]


def fed(step, data, batch, workers, seconds):
    """Images/s through the loader, after as many batches as the workers hold at the start."""
    collate = collate_bytes if data.transform is not AUGMENT else None
    loader = torch.utils.data.DataLoader(data, batch, shuffle=True, num_workers=workers, pin_memory=True, drop_last=True,
                                         collate_fn=collate)
    skip, seen, begin = max(2, 2 * workers), 0, None
    while True:
        for x, y in loader:
            x = normalised(x.cuda(non_blocking=True)).contiguous(memory_format=torch.channels_last)
            step(x, y.cuda(non_blocking=True))
            seen += 1
            if seen == skip:
                torch.cuda.synchronize()
                begin = time.perf_counter()
            elif seen > skip and time.perf_counter() - begin > seconds:
                torch.cuda.synchronize()
                return (seen - skip) * batch / (time.perf_counter() - begin)


class Repeated(torchvision.datasets.ImageFolder):
    """The files several times over, so that an epoch outlasts the measurement."""

    def __len__(self):
        return 100 * super().__len__()

    def __getitem__(self, index):
        return super().__getitem__(index % super().__len__())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--workers", default="0,1,2,4,8,12,16")
    parser.add_argument("--models", default="resnet18,resnet50")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--loader", choices=LOADERS, default="floats")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    result = {"cores": os.cpu_count(), "torch": torch.__version__, "batch": args.batch, "loader": args.loader, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        result["bytes"] = make_files(folder, 512)
        result["parts"], result["unpinned_bytes_s"] = parts_of(folder), unpinned()
        print(result, flush=True)
        data = Repeated(folder, LOADERS[args.loader])
        for name in args.models.split(","):
            step = step_of(name)
            result["rows"].append({"model": name, "workers": None, "images_s": resident(step, args.batch)})
            for workers in map(int, args.workers.split(",")):
                row = {"model": name, "workers": workers, "images_s": fed(step, data, args.batch, workers, args.seconds)}
                result["rows"].append(row)
                print(row, flush=True)
                with open(args.output, "w") as out:
                    json.dump(result, out, indent=1)


if __name__ == "__main__":
    main()
