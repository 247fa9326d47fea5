# SPDX-License-Identifier: Apache-2.0
"""probes_values.py - probes of softmax, losses, reductions, orders, activations and norms: see probes.py."""
import torch
import torch.nn.functional as F
from torch import nn

from probe_kinds import chosen, given, index


def over(function, *dims, **options):
    """The function over these dimensions."""
    return lambda x: function(x, *dims, **options)


def softmax():
    soft = lambda dim: over(torch.softmax, dim)
    return [("softmax 1", soft(1), (32, 21, 256, 256)), ("softmax 1", soft(1), (8, 1000, 1024)),
            ("softmax 1", soft(1), (8, 19, 512, 1024)),
            ("softmax 1", soft(1), (4, 4, 64, 96, 96)), ("softmax 0", soft(0), (64, 262144)),
            ("softmax 0", soft(0), (4096, 256)),
            ("softmax 1", soft(1), (64, 196, 64)), ("softmax 1", soft(1), (256, 49, 8)),
            ("softmax 1", soft(1), (16, 2048, 16)),
            ("softmax 2", soft(2), (16, 12, 512, 512)), ("softmax -1", soft(-1), (16, 12, 512, 512)),
            ("softmax -1", soft(-1), (8, 32128, 128)),
            ("softmax -1", soft(-1), (4096, 32000)), ("softmax -1", soft(-1), (262144, 8)),
            ("softmax -1", soft(-1), (1048576, 2)),
            ("softmax -1", soft(-1), (16, 100000)), ("softmax -1", soft(-1), (65536, 257)),
            ("softmax -1 of a transposed", lambda x: x.transpose(1, 2).softmax(-1), (64, 256, 512)),
            ("softmax 1", soft(1), (128, 3, 4096)), ("softmax 1", soft(1), (1024, 64, 3)),
            ("softmin -1", lambda x: F.softmin(x, -1), (4096, 1024)),
            ("gumbel", lambda x: F.gumbel_softmax(x, 1.0, dim=-1), (16384, 320)),
            ("gumbel hard", lambda x: F.gumbel_softmax(x, 1.0, hard=True), (16384, 64))]


def log_softmax():
    soft = lambda dim: over(torch.log_softmax, dim)
    return [("log_softmax 1", soft(1), (16, 21, 256, 256)), ("log_softmax 1", soft(1), (8, 4000, 512)),
            ("log_softmax 1", soft(1), (4, 5, 64, 96, 96)),
            ("log_softmax -1", soft(-1), (4096, 1000)), ("log_softmax -1", soft(-1), (2048, 50257)),
            ("log_softmax -1", soft(-1), (262144, 10)),
            ("log_softmax 2", soft(2), (200, 64, 29)), ("log_softmax 0", soft(0), (512, 8192)),
            ("log_softmax 0", soft(0), (1024, 1024)),
            ("logsumexp -1", over(torch.logsumexp, -1), (4096, 4096)),
            ("logsumexp 1", over(torch.logsumexp, 1), (64, 512, 512)),
            ("logsumexp 0", over(torch.logsumexp, 0), (128, 65536)), ("logsigmoid", F.logsigmoid, (16777216,)),
            ("softmax2d", nn.Softmax2d(), (16, 64, 64, 64)), ("log_softmax 1", soft(1), (65536, 2))]


def crossed(**options):
    return lambda x, y: F.cross_entropy(x, y, **options)


def cross_entropy():
    spread = lambda x, y: F.cross_entropy(x.transpose(1, 2), y)
    flat = lambda x, y: F.cross_entropy(x.flatten(0, 1), y.flatten())
    return [("cross_entropy", crossed(), (4096, 1000), index(1000, 4096)),
            ("cross_entropy", crossed(), (262144, 10), index(10, 262144)),
            ("cross_entropy", crossed(), (2048, 50257), index(50257, 2048)),
            ("cross_entropy smooth", crossed(label_smoothing=0.1), (4096, 1000), index(1000, 4096)),
            ("cross_entropy smooth", crossed(label_smoothing=0.1), (1024, 32000), index(32000, 1024)),
            ("cross_entropy", crossed(), (16, 21, 256, 256), index(21, 16, 256, 256)),
            ("cross_entropy", crossed(ignore_index=0), (8, 19, 512, 512), index(19, 8, 512, 512)),
            ("cross_entropy", crossed(), (4, 4, 64, 96, 96), index(4, 4, 64, 96, 96)),
            ("cross_entropy", crossed(), (16, 5000, 256), index(5000, 16, 256)),
            ("cross_entropy transposed", spread, (16, 256, 5000), index(5000, 16, 256)),
            ("cross_entropy transposed", spread, (8, 512, 32000), index(32000, 8, 512)),
            ("cross_entropy transposed", spread, (32, 1024, 30), index(30, 32, 1024)),
            ("cross_entropy flat", flat, (8, 512, 32000), index(32000, 8, 512)),
            ("cross_entropy none", crossed(reduction="none"), (8192, 1000), index(1000, 8192)),
            ("cross_entropy none", crossed(reduction="none"), (8, 21, 256, 256), index(21, 8, 256, 256)),
            ("cross_entropy of probabilities", lambda x, y: F.cross_entropy(x, y.softmax(1)), (4096, 1000),
            given(4096, 1000)),
            ("cross_entropy smooth", crossed(label_smoothing=0.1), (8, 21, 256, 256), index(21, 8, 256, 256)),
            ("nll", lambda x, y: F.nll_loss(x, y), (65536, 128), index(128, 65536)),
            ("nll", lambda x, y: F.nll_loss(x, y), (8, 19, 512, 512), index(19, 8, 512, 512)),
            ("cross_entropy 2", crossed(), (4096, 2), index(2, 4096))]


def losses():
    bce = lambda x, y: F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(y))
    return [("bce", bce, (8388608,), given(8388608)), ("bce_with_logits", F.binary_cross_entropy_with_logits,
            (16, 1, 512, 512), given(16, 1, 512, 512)),
            ("bce pos_weight", lambda x, y, w: F.binary_cross_entropy_with_logits(x, y, pos_weight=w), (8192, 1000),
            given(8192, 1000), given(1000)),
            ("smooth_l1", F.smooth_l1_loss, (8388608,), given(8388608)),
            ("l1", F.l1_loss, (16, 3, 256, 256), given(16, 3, 256, 256)),
            ("huber", F.huber_loss, (8388608,), given(8388608)),
            ("mse none", lambda x, y: F.mse_loss(x, y, reduction="none"), (16, 3, 512, 512), given(16, 3, 512, 512)),
            ("mse", F.mse_loss, (16, 4, 512, 512), given(16, 4, 512, 512)),
            ("kl batchmean", lambda x, y: F.kl_div(x, y, reduction="batchmean"), (4096, 1000), given(4096, 1000)),
            ("kl log_target", lambda x, y: F.kl_div(x, y, reduction="batchmean", log_target=True), (4096, 1000),
            given(4096, 1000)),
            ("distillation", lambda x, y: F.kl_div(F.log_softmax(x / 4, 1), F.softmax(y / 4, 1),
            reduction="batchmean") * 16, (4096, 1000), given(4096, 1000)),
            ("hinge_embedding", lambda x, y: F.hinge_embedding_loss(x, y.sign()), (4194304,), given(4194304)),
            ("triplet", F.triplet_margin_loss, (8192, 256), (8192, 256), (8192, 256)),
            ("cosine_embedding", lambda a, b, y: F.cosine_embedding_loss(a, b, y.sign()), (8192, 512), (8192, 512),
            given(8192)),
            ("margin_ranking", lambda a, b, y: F.margin_ranking_loss(a, b, y.sign(), 0.1), (1048576,), (1048576,),
            given(1048576)),
            ("poisson", F.poisson_nll_loss, (4194304,), given(4194304)),
            ("soft_margin", lambda x, y: F.soft_margin_loss(x, y.sign()), (4194304,), given(4194304)),
            ("multi_margin", F.multi_margin_loss, (8192, 100), index(100, 8192)),
            ("multilabel_soft_margin", F.multilabel_soft_margin_loss, (8192, 80), given(8192, 80)),
            ("focal", lambda x,
            y: (F.binary_cross_entropy_with_logits(x, y, reduction="none") * (1 - torch.sigmoid(x)) ** 2).sum(),
            (8, 76725, 20), given(8, 76725, 20)),
            ("dice", lambda x,
            y: 1 - (2 * (torch.sigmoid(x) * y).sum((1, 2, 3)) + 1) / (torch.sigmoid(x).sum((1, 2, 3)) + y.sum((1, 2,
            3)) + 1), (16, 3, 256, 256), given(16, 3, 256, 256)),
            ("charbonnier", lambda x, y: torch.sqrt((x - y) ** 2 + 1e-6).mean(), (16, 3, 256, 256),
            given(16, 3, 256, 256)),
            ("total variation",
            lambda x: (x[..., 1:] - x[..., :-1]).abs().mean() + (x[..., 1:, :] - x[..., :-1, :]).abs().mean(),
            (16, 3, 256, 256))]


def refused():
    """Operators whose code looks at values, so that captures refuse them."""
    def ctc(blank=0):
        def loss(x, y):
            lengths = torch.full((x.shape[1],), x.shape[0], dtype=torch.long)
            return F.ctc_loss(x.log_softmax(-1), y + 1, lengths,
                torch.full((x.shape[1],), y.shape[1], dtype=torch.long), blank)
        return loss

    return [("ctc", ctc(), (200, 32, 29), index(28, 32, 40)), ("ctc", ctc(), (500, 16, 80), index(79, 16, 100)),
            ("ctc", ctc(), (100, 64, 5000), index(4999, 64, 20)),
            ("gaussian", lambda x, v, y: F.gaussian_nll_loss(x, y, F.softplus(v)), (4194304,), (4194304,),
            given(4194304))]


def contrasts():
    def contrast(a, b):
        a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
        s = a @ b.t() / 0.07
        return (F.cross_entropy(s, torch.arange(len(s), device=s.device)) + F.cross_entropy(s.t(),
            torch.arange(len(s), device=s.device))) / 2
    return [("contrast", contrast, (512, 256), (512, 256)), ("contrast", contrast, (4096, 512), (4096, 512))]


def sums():
    cases = [((-1,), (65536, 256)), ((-1,), (4096, 4096)), ((0,), (4096, 4096)),
        ((1,), (64, 512, 512)), (((2, 3),), (64, 256, 56, 56)),
             (((0, 2, 3),), (64, 256, 56, 56)), ((1,), (16, 64, 128, 128)), ((0,), (64, 262144)),
             ((-1,), (1048576, 16)),
             ((-1,), (8, 1048576)), (((1, 2),), (32, 4096, 64)), ((2,), (256, 128, 7, 64)),
             ((0,), (1000, 32)), ((1,), (128, 64))]
    return [(f"{name} {dims[0]}", over(function, *dims), shape) for name,
            function in (("sum", torch.sum), ("mean", torch.mean))
            for dims, shape in (cases if name == "sum" else cases[:8])] + [("sum all", torch.sum, (16777216,)),
                ("mean all", torch.mean, (4096, 128))]


def spreads():
    norm = lambda x, dim: torch.linalg.vector_norm(x, dim=dim)
    wide = [(-1, (16384, 1024)), (0, (4096, 4096)), (1, (64, 512, 512)), ((2, 3), (32, 128, 64, 64)),
        ((0, 2, 3), (32, 128, 64, 64)), (-1, (1048576, 16))]
    return [(f"{name} {dim}", over(function, dim), shape) for name,
            function in (("var", torch.var), ("std", torch.std), ("norm", norm))
            for dim, shape in wide] + [("var_mean -1", lambda x: sum(torch.var_mean(x, -1)), (16384, 1024)),
                ("normalize -1", over(F.normalize), (65536, 256)),
                                       ("normalize 1", over(F.normalize), (32, 128, 64, 64)),
                                       ("norm 1", over(torch.linalg.vector_norm, 1), (16777216,)),
                                       ("std all", torch.std, (16777216,))]


def highest():
    first = lambda function: lambda x, *a: function(x, *a)[0]
    wide = [(-1, (16384, 1024)), (0, (4096, 4096)), (1, (64, 512, 512)), (-1, (1048576, 16)), (1, (16, 64, 128, 128)),
        (2, (32, 1024, 32, 3))]
    return [(f"{name} {dim}", over(function, dim), shape) for name,
            function in (("max", first(torch.max)), ("argmax", torch.argmax), ("amax", torch.amax)) for dim,
            shape in wide] + [
        ("amax 2 3", over(torch.amax, (2, 3)), (64, 256, 56, 56)),
        ("min -1", over(first(torch.min), -1), (16384, 1024)), ("max all", torch.max, (16777216,)),
        ("any -1", lambda x: (x > 0).any(-1).float(), (16384, 1024)),
        ("count", lambda x: (x > 0).sum(-1).float(), (16384, 1024)),
        ("all all", lambda x: (x > 0).all().float(), (16777216,))]


def running():
    wide = [(-1, (4096, 1024)), (-1, (64, 65536)), (1, (32, 512, 512)), (0, (2048, 2048)), (-1, (65536, 64)),
        (1, (64, 1024, 16))]
    first = lambda function: lambda x, *a: function(x, *a)[0]
    return [(f"{name} {dim}", over(function, dim), shape) for name, function, cases in (
        ("cumsum", torch.cumsum, wide), ("cumprod", torch.cumprod, wide[:4]),
        ("cummax", first(torch.cummax), wide[:3]), ("logcumsumexp", torch.logcumsumexp, wide[:3]),
        ("prod", torch.prod, wide[:3])) for dim, shape in cases] + [("flip cumsum flip",
        lambda x: x.flip(1).cumsum(1).flip(1), (64, 1024, 128)), ("diff -1", over(torch.diff), (4096, 2048))]


def orders():
    first = lambda function: lambda x, *a: function(x, *a)[0]
    top = lambda k, dim=-1: lambda x: torch.topk(x, k, dim)[0]
    sort = lambda dim: lambda x: torch.sort(x, dim)[0]
    return [("sort", sort(-1), (4096, 1024)), ("sort", sort(-1), (64, 65536)), ("sort", sort(0), (2048, 2048)),
            ("sort", sort(-1), (65536, 32)), ("sort all", sort(-1), (4194304,)),
            ("sort", sort(-1), (1024, 5000)), ("argsort", over(torch.argsort, -1), (8192, 1000)),
            ("argsort noise", lambda x: torch.argsort(x, 1), (512, 196)),
            ("topk 2", top(2), (65536, 8)), ("topk 1", top(1), (16384, 64)), ("topk 5", top(5), (4096, 1000)),
            ("topk 20", top(20), (16, 1024, 1024)), ("topk 100", top(100), (64, 65536)),
            ("topk 50", top(50), (256, 32000)), ("topk 1000", top(1000), (8, 262144)),
            ("topk 8 dim 1", top(8, 1), (64, 128, 1024)), ("kthvalue 10", lambda x: torch.kthvalue(x, 10)[0],
            (4096, 1024)),
            ("median -1", lambda x: torch.median(x, -1)[0], (4096, 1024)), ("median all", torch.median, (1048576,)),
            ("quantile", lambda x: torch.quantile(x.float(), 0.9, -1), (1024, 4096)),
            ("searchsorted", lambda x, y: torch.searchsorted(y.sort(-1)[0], x.detach()).float(), (4096, 128),
            given(4096, 128)), ("bucketize", lambda x, y: torch.bucketize(x.detach(), y), (8388608,), given(255)),
            ("multinomial", lambda x: torch.multinomial(x.softmax(-1), 1), (4096, 32000)),
            ("histc", lambda x: torch.histc(x.detach().float(), 256), (4194304,)),
            ("bincount-free", lambda x, i: x.new_zeros(512).index_add(0, i, x), (1048576,), index(512, 1048576))]


def activations():
    large = (32, 256, 64, 64)
    names = {"gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
        "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
             "relu": F.relu, "relu6": F.relu6, "leaky": lambda x: F.leaky_relu(x, 0.2), "elu": F.elu, "celu": F.celu,
             "selu": F.selu, "softplus": F.softplus, "softsign": F.softsign,
             "tanhshrink": F.tanhshrink, "hardtanh": F.hardtanh, "rrelu": lambda x: F.rrelu(x, training=True),
             "sigmoid": torch.sigmoid, "tanh": torch.tanh,
             "hardshrink": F.hardshrink, "threshold": lambda x: F.threshold(x, 0.1, 0.0)}
    return [(name, function, large) for name, function in names.items()] + [
        ("glu 1", lambda x: F.glu(x, 1), (32, 256, 64, 64)), ("glu -1", lambda x: F.glu(x, -1), (16384, 2048)),
        ("prelu", nn.PReLU(), large), ("prelu channels", nn.PReLU(256), large),
        ("prelu rows", nn.PReLU(512), (16384, 512)), ("swiglu", lambda x: F.silu(x[..., :1024]) * x[..., 1024:],
        (16384, 2048)), ("geglu", lambda x: (lambda a, b: a * F.gelu(b))(*x.chunk(2, -1)), (16384, 2048)),
        ("squared relu", lambda x: F.relu(x) ** 2, large), ("snake", lambda x,
        a: x + torch.sin(a * x) ** 2 / (a + 1e-9), (16, 64, 16384), (1, 64, 1)),
        ("gelu strided", lambda x: F.gelu(x.transpose(1, 2)), (64, 512, 512))]


def functions():
    n = (16777216,)
    names = {"exp": torch.exp, "log": lambda x: torch.log(x.abs() + 1), "sqrt": lambda x: torch.sqrt(x.abs() + 1),
        "rsqrt": lambda x: torch.rsqrt(x * x + 1), "sin": torch.sin, "cos": torch.cos,
             "pow 3": lambda x: x ** 3, "pow 0.5": lambda x: (x * x + 1) ** 0.5,
             "pow 2.2": lambda x: (x * x + 1) ** 2.2, "erf": torch.erf, "atan2": lambda x: torch.atan2(x, x + 2),
             "clamp": lambda x: x.clamp(-1, 1), "abs": torch.abs, "sign": lambda x: x * torch.sign(x),
             "round straight": lambda x: x + (x.round() - x).detach(), "reciprocal": lambda x: 1 / (x + 3),
             "div": lambda x: x / (x + 3), "log1p": lambda x: torch.log1p(x * x), "expm1": torch.expm1,
             "lerp": lambda x: torch.lerp(x, x + 1, 0.3), "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
             "where": lambda x: torch.where(x > 0, x, 0.1 * x), "maximum": lambda x: torch.maximum(x, -x),
             "atan": torch.atan, "remainder": lambda x: x % 1.0, "logit": lambda x: torch.logit(torch.sigmoid(x), 1e-6),
             "sinc": torch.sinc, "nan_to_num": torch.nan_to_num, "isfinite": lambda x: x * torch.isfinite(x),
             "lgamma": lambda x: torch.lgamma(x.abs() + 1), "hypot": lambda x: torch.hypot(x, x + 1)}
    return [(name, function, n) for name, function in names.items()]


def broadcast():
    add, mul = torch.add, torch.mul
    return [("add row", add, (16384, 1024), (1024,)), ("add channel", add, (32, 256, 64, 64), (1, 256, 1, 1)),
            ("mul sample channel", mul, (32, 256, 64, 64), (32, 256, 1, 1)),
            ("mul column", mul, (16384, 1024), (16384, 1)), ("add position", add, (64, 256, 512), (1, 256, 512)),
            ("outer add", add, (64, 512, 1), (64, 1, 512)), ("outer mul", mul, (16, 256, 1, 64), (16, 1, 256, 64)),
            ("mul spatial", mul, (32, 256, 64, 64), (32, 1, 64, 64)),
            ("add transposed", lambda x, y: x + y.transpose(1, 2), (64, 512, 256), (64, 256, 512)),
            ("mul row", mul, (8, 4096, 512), (8, 1, 512)),
            ("film", lambda x, s, b: x * (1 + s[:, :, None, None]) + b[:, :, None, None], (32, 256, 64, 64), (32, 256),
            (32, 256)), ("modulate", lambda x, s, b: x * (1 + s[:, None]) + b[:, None], (32, 1024, 1152), (32, 1152),
            (32, 1152)),
            ("distance", lambda a, b: ((a[:, :, None] - b[:, None]) ** 2).sum(-1), (16, 512, 3), (16, 512, 3)),
            ("add scalar", lambda x, s: x + s, (16777216,), (1,)), ("mul first", mul, (512, 32768), (512, 1)),
            ("add small", add, (64, 10), (10,)), ("layer scale", mul, (64, 196, 768), (768,)),
            ("bias of heads", add, (64, 12, 197, 197), (1, 12, 197, 197)),
            ("masked", lambda x, m: x.masked_fill(m, -1e4), (16, 12, 512, 512), chosen(16, 1, 1, 512)),
            ("causal", lambda x, m: x.masked_fill(m, -1e4), (16, 12, 512, 512), chosen(512, 512)),
            ("masked all", lambda x, m: x.masked_fill(m, 0.0), (16777216,), chosen(16777216))]


def norms():
    image, rows = (32, 256, 56, 56), (16384, 768)
    rms = lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w
    first = lambda layer, *shape: (layer, *shape)
    return [(words, layer, shape) for words, layer, shape in (
        first("batch2d", nn.BatchNorm2d(256), image), first("batch2d", nn.BatchNorm2d(3), (32, 3, 224, 224)),
            first("batch1d", nn.BatchNorm1d(512), (8192, 512)), first("batch1d", nn.BatchNorm1d(128), (64, 128, 1024)),
        first("batch3d", nn.BatchNorm3d(32), (4, 32, 32, 64, 64)),
            first("batch plain", nn.BatchNorm2d(64, affine=False), (32, 64, 112, 112)),
            first("layer", nn.LayerNorm(768), rows), first("layer", nn.LayerNorm(64), (262144, 64)),
        first("layer", nn.LayerNorm(4096), (2048, 4096)), first("layer", nn.LayerNorm(16), (524288, 16)),
            first("layer plain", nn.LayerNorm(1152, elementwise_affine=False), (8192, 1152)),
            first("layer no bias", nn.LayerNorm(768, bias=False), rows),
        first("layer 2", nn.LayerNorm((64, 64)), (2048, 64, 64)),
            first("layer 3", nn.LayerNorm((64, 32, 32)), (128, 64, 32, 32)),
            first("group", nn.GroupNorm(32, 256), image), first("group", nn.GroupNorm(1, 64), (16, 64, 128, 128)),
        first("group", nn.GroupNorm(8, 64), (4, 64, 32, 32, 32)),
            first("group 1d", nn.GroupNorm(4, 128), (32, 128, 4096)),
            first("group rows", nn.GroupNorm(16, 512), (4096, 512)),
            first("instance", nn.InstanceNorm2d(64), (16, 64, 128, 128)),
        first("instance affine", nn.InstanceNorm2d(64, affine=True), (16, 64, 128, 128)),
            first("instance 1d", nn.InstanceNorm1d(128), (32, 128, 4096)),
            first("instance 3d", nn.InstanceNorm3d(32, affine=True), (4, 32, 32, 64, 64)),
        first("rms", nn.RMSNorm(768), rows), first("rms", nn.RMSNorm(4096), (4096, 4096)),
            first("local response", nn.LocalResponseNorm(5), (32, 64, 56, 56)))] + [
        ("rms by hand", rms, rows, (768,)), ("layer of channels", lambda x, w,
        b: F.layer_norm(x.permute(0, 2, 3, 1), (96,), w, b).permute(0, 3, 1, 2), (32, 96, 56, 56), (96,), (96,)),
        ("channels by hand", lambda x, w, b: w[:, None,
        None] * ((x - x.mean(1, keepdim=True)) / torch.sqrt((x - x.mean(1, keepdim=True)).pow(2).mean(1,
        keepdim=True) + 1e-6)) + b[:, None, None], (32, 96, 56, 56), (96,), (96,)),
        ("response 2d", lambda x, g,
        b: g * (x * (torch.norm(x, p=2, dim=(1, 2), keepdim=True) / (torch.norm(x, p=2, dim=(1, 2),
        keepdim=True).mean(-1, keepdim=True) + 1e-6))) + b + x, (32, 28, 28, 384), (1, 1, 1, 384), (1, 1, 1, 384))]


def dropped():
    return [("dropout", nn.Dropout(0.1), (16384, 1024)), ("dropout 0.5", nn.Dropout(0.5), (4096, 1024)),
            ("dropout2d", nn.Dropout2d(0.1), (32, 256, 64, 64)), ("dropout1d", nn.Dropout1d(0.1), (32, 256, 1024)),
            ("dropout3d", nn.Dropout3d(0.1), (8, 32, 32, 64, 64)), ("alpha", nn.AlphaDropout(0.1), (16384, 1024)),
            ("feature alpha", nn.FeatureAlphaDropout(0.1), (256, 64, 32, 32)),
            ("path", lambda x: x * (torch.rand(x.shape[0], 1, 1, device=x.device) > 0.1) / 0.9, (64, 196, 768)),
            ("bernoulli", lambda x: x * torch.bernoulli(torch.full_like(x, 0.9)), (16384, 1024)),
            ("noise", lambda x: x + 0.1 * torch.randn_like(x), (16777216,)),
            ("rand", lambda x: x * torch.rand_like(x), (16777216,)),
            ("reparameterize", lambda m, s: m + torch.exp(0.5 * s) * torch.randn_like(s), (4194304,), (4194304,)),
            ("randint", lambda x: x + torch.randint(0, 10, x.shape, device=x.device), (4194304,)),
            ("randperm", lambda x: x[torch.randperm(x.shape[0], device=x.device)], (65536, 64)),
            ("mixup", lambda x: 0.7 * x + 0.3 * x[torch.randperm(x.shape[0], device=x.device)], (64, 3, 224, 224)),
            ("dropout strided", lambda x: F.dropout(x.transpose(1, 2), 0.1), (64, 512, 256)),
            ("ema", lambda x, m: (x * 0.1 + m * 0.9), (16777216,), given(16777216)),
            ("clip", lambda x: x / x.norm().clamp(min=1.0), (16777216,))]


PLAIN = "fp32 bf16"
STEPS = {**dict.fromkeys(("softmax", "log_softmax", "cross_entropy", "losses", "sums", "spreads", "highest", "running",
    "activations", "functions", "broadcast", "norms", "dropped"), (PLAIN, "adamw")),
         "refused": ("fp32", "adamw"), "contrasts": ("fp32 tf32 amp", "adamw"), "orders": ("fp32", "adamw")}
SETS = {name: globals()[name] for name in STEPS}
