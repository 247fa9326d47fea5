# SPDX-License-Identifier: Apache-2.0
"""networks_grouped.py - depthwise and grouped convolutions of published networks.

A row is channels in, channels out, height, window, stride, groups.
"""


def _halved(size):
    return (size + 1) // 2


def _rounded(channels):
    """Round to a multiple of 8, to no less than nine tenths of the value."""
    found = max(8, int(channels + 4) // 8 * 8)
    return found + 8 if found < 0.9 * channels else found


def inverted(blocks, size, width=1.0, stem=32):
    """Depthwise layers of inverted residuals; blocks: expansion, window, stride, out channels, repeats."""
    channels, rows, size = _rounded(stem * width), [], _halved(size)
    for expansion, window, stride, out, repeats in blocks:
        for index in range(repeats):
            inner, step = channels * expansion, stride if index == 0 else 1
            rows.append((inner, inner, size, window, step, inner))
            size, channels = (_halved(size) if step == 2 else size), _rounded(out * width)
    return rows


# Sandler et al. 2018, table 2; Tan and Le 2019, table 1, with the widths and sizes of B0 to B4 as torchvision has them.
MOBILENET_V2 = inverted(((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 3, 2, 32, 3), (6, 3, 2, 64, 4), (6, 3, 1, 96, 3),
                         (6, 3, 2, 160, 3), (6, 3, 1, 320, 1)), 224)
EFFICIENTNET = ((1, 3, 1, 16, 2), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3),
                (6, 5, 2, 192, 4), (6, 3, 1, 320, 2))
EFFICIENTNETS = [row for width, size in ((1.0, 224), (1.0, 240), (1.1, 288), (1.2, 300), (1.4, 380))
                 for row in inverted(EFFICIENTNET, size, width)]
# Howard et al. 2019, tables 1 and 2: channels inside, height, window, stride.
MOBILENET_V3 = [(c, c, h, window, stride, c) for c, h, window, stride in (
    (16, 112, 3, 1), (64, 112, 3, 2), (72, 56, 3, 1), (72, 56, 5, 2), (120, 28, 5, 1), (240, 28, 3, 2), (200, 14, 3, 1),
    (184, 14, 3, 1), (480, 14, 3, 1), (672, 14, 3, 1), (672, 14, 5, 2), (960, 7, 5, 1),
    (16, 112, 3, 2), (72, 56, 3, 2), (88, 28, 3, 1), (96, 28, 5, 2), (240, 14, 5, 1), (120, 14, 5, 1), (144, 14, 5, 1),
    (288, 14, 5, 2), (576, 7, 5, 1))]
CONVNEXT = [(width << stage, width << stage, 56 >> stage, 7, 1, width << stage)
            for width in (96, 128, 192) for stage in range(4)]


def _stages(widths, group_width):
    """Bottlenecks of four stages, the first of each with stride 2."""
    for stage, width in enumerate(widths):
        groups = max(1, width // group_width)
        yield width, width, 112 >> stage, 3, 2, groups
        yield width, width, 56 >> stage, 3, 1, groups


# Radosavovic et al. 2020, the models of 400 MF to 16 GF: widths of the stages and of a group.
REGNET = [row for widths, group_width in (
    ((32, 64, 160, 400), 16), ((64, 128, 288, 672), 16), ((72, 168, 408, 912), 24), ((96, 192, 432, 1008), 48),
    ((48, 104, 208, 440), 8), ((64, 144, 320, 784), 16), ((48, 120, 336, 888), 24), ((72, 216, 576, 1512), 24),
    ((224, 448, 896, 2016), 56), ((224, 448, 1232, 3024), 112)) for row in _stages(widths, group_width)]
# Xie et al. 2017: 32 x 4d, 32 x 8d, 64 x 4d; only the first block of stages 2 to 4 has a stride.
RESNEXT = [(width << stage, width << stage, size, 3, stride, groups)
           for width, groups in ((128, 32), (256, 32), (256, 64)) for stage in range(4)
           for size, stride in ((56 >> stage, 1), (112 >> stage, 2)) if stage or stride == 1]


def _shuffled(widths):
    """Units of ShuffleNet v2: half of the channels pass unchanged; at the start of a stage all are in two branches."""
    before = 24
    for stage, width in enumerate(widths):
        half, size = width // 2, 56 >> stage
        yield before, before, size, 3, 2, before
        yield half, half, size, 3, 2, half
        yield half, half, size // 2, 3, 1, half
        before = width


# Ma et al. 2018, table 5.
SHUFFLENET = [row for widths in ((48, 96, 192), (116, 232, 464), (176, 352, 704), (244, 488, 976))
              for row in _shuffled(widths)]

GROUPED = [(c, k, h, window, window, stride, groups) for c, k, h, window, stride, groups in dict.fromkeys(
    MOBILENET_V2 + EFFICIENTNETS + MOBILENET_V3 + CONVNEXT + REGNET + RESNEXT + SHUFFLENET)]
