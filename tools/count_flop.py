#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_flop.py - parameters and FLOP of one forward pass and one training step by torch.utils.flop_counter.

count_flop.py [-o FILE.csv] [--device cuda] [NAME ...]

Runs each model once at batch 2 (1 for the largest) on the device under autocast bf16, so that attention takes its fused
kernels, and writes model,batch,seq,params,forward_flop,training_flop per sample. Needs PyTorch, torchvision, transformers.
"""
import argparse
import csv
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode


def unet():
    def double(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                             nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, f=32):
            super().__init__()
            w = [f << i for i in range(5)]
            self.enc = nn.ModuleList(double(a, b) for a, b in zip([3] + w[:-1], w))
            self.up = nn.ModuleList(nn.ConvTranspose2d(w[i + 1], w[i], 2, 2) for i in range(4))
            self.dec = nn.ModuleList(double(2 * w[i], w[i]) for i in range(4))
            self.out = nn.Conv2d(f, 1, 1)

        def forward(self, x):
            skips = []
            for i, e in enumerate(self.enc):
                x = e(x if i == 0 else F.max_pool2d(x, 2))
                skips.append(x)
            for i in (3, 2, 1, 0):
                x = self.dec[i](torch.cat([self.up[i](x), skips[i]], 1))
            return self.out(x)
    return UNet()


class Uno(nn.Module):
    def __init__(self):
        super().__init__()
        def tower(i):
            return nn.Sequential(*[m for k in range(3) for m in (nn.Linear(i if k == 0 else 1000, 1000), nn.ReLU(), nn.Dropout(0.1))])
        self.t = nn.ModuleList(tower(i) for i in (942, 5270, 2048))
        self.top = nn.Sequential(*[m for k in range(3) for m in (nn.Linear(3001 if k == 0 else 1000, 1000), nn.ReLU(), nn.Dropout(0.1))],
                                 nn.Linear(1000, 1))

    def forward(self, dose, *x):
        return self.top(torch.cat([dose] + [t(v) for t, v in zip(self.t, x)], 1))


class BraggNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2, self.c3 = nn.Conv2d(1, 64, 3), nn.Conv2d(64, 32, 3), nn.Conv2d(32, 8, 3)
        self.th, self.ph, self.g, self.o = nn.Conv2d(64, 32, 1), nn.Conv2d(64, 32, 1), nn.Conv2d(64, 32, 1), nn.Conv2d(32, 64, 1)
        w = [200, 64, 32, 16, 8]
        self.fc = nn.Sequential(*[m for a, b in zip(w, w[1:]) for m in (nn.Linear(a, b), nn.LeakyReLU())], nn.Linear(8, 2))

    def forward(self, x):
        x = self.c1(x)
        t, p, g = (c(x).flatten(2) for c in (self.th, self.ph, self.g))
        y = torch.softmax(t.transpose(1, 2) @ p, -1) @ g.transpose(1, 2)
        x = F.leaky_relu(x + self.o(y.transpose(1, 2).reshape(-1, 32, 9, 9)))
        return self.fc(F.leaky_relu(self.c3(F.leaky_relu(self.c2(x)))).flatten(1))


def image(size, channels=3):
    return lambda b, d: (torch.randn(b, channels, size, size, device=d),)


def tokens(vocab, seq):
    return lambda b, d: (torch.randint(vocab, (b, seq), device=d),)


def vision(name):
    import torchvision
    return lambda: getattr(torchvision.models, name)(weights=None)


def hugging(cls, config, **kw):
    def build():
        import transformers as t
        return getattr(t, cls)(getattr(t, config)(**kw))
    return build


BERT_L = dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
LLAMA = dict(hidden_size=512, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=8, intermediate_size=1376, vocab_size=32000)
GPT2_XL = dict(n_embd=1600, n_layer=48, n_head=25)
# name: (builder, inputs of (batch, device), sequence length)
MODELS = {
    'resnet18': (vision('resnet18'), image(224), None), 'resnet50': (vision('resnet50'), image(224), None),
    'vgg16': (vision('vgg16_bn'), image(224), None), 'unet': (unet, image(256), None),
    'uno': (Uno, lambda b, d: tuple(torch.randn(b, n, device=d) for n in (1, 942, 5270, 2048)), None),
    'braggnn': (BraggNN, image(11, 1), None),
    'bert_large_128': (hugging('BertForMaskedLM', 'BertConfig', **BERT_L), tokens(30522, 128), 128),
    'bert_large_512': (hugging('BertForMaskedLM', 'BertConfig', **BERT_L), tokens(30522, 512), 512),
    'gpt2_small': (hugging('GPT2LMHeadModel', 'GPT2Config'), tokens(50257, 1024), 1024),
    'gpt2_xl': (hugging('GPT2LMHeadModel', 'GPT2Config', **GPT2_XL), tokens(50257, 1024), 1024),
    'efficientnet_b0': (vision('efficientnet_b0'), image(224), None), 'efficientnet_b4': (vision('efficientnet_b4'), image(380), None),
    'mobilenet_v3_small': (vision('mobilenet_v3_small'), image(224), None),
    'mobilenet_v3_large': (vision('mobilenet_v3_large'), image(224), None),
    'config_vit': (hugging('ViTForImageClassification', 'ViTConfig', num_labels=1000), image(224), None),
    'config_distilbert': (hugging('DistilBertForMaskedLM', 'DistilBertConfig'), tokens(30522, 512), 512),
    'config_roberta': (hugging('RobertaForMaskedLM', 'RobertaConfig', vocab_size=50265, max_position_embeddings=514, type_vocab_size=1), tokens(50265, 512), 512),
    'config_llama': (hugging('LlamaForCausalLM', 'LlamaConfig', **LLAMA), tokens(32000, 1024), 1024),
    'config_mistral': (hugging('MistralForCausalLM', 'MistralConfig', **LLAMA), tokens(32000, 1024), 1024),
    'config_qwen2': (hugging('Qwen2ForCausalLM', 'Qwen2Config', **LLAMA), tokens(32000, 1024), 1024),
    'config_mixtral': (hugging('MixtralForCausalLM', 'MixtralConfig', num_local_experts=4, **LLAMA), tokens(32000, 1024), 1024),
    'config_gpt_neox': (hugging('GPTNeoXForCausalLM', 'GPTNeoXConfig', hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048, vocab_size=50304), tokens(50304, 1024), 1024),
    'config_opt': (hugging('OPTForCausalLM', 'OPTConfig'), tokens(50272, 1024), 1024),
    'config_t5': (hugging('T5ForConditionalGeneration', 'T5Config', decoder_start_token_id=0, pad_token_id=0), tokens(32128, 512), 512),
}


def loss_of(name, model, x):
    if name == 'config_t5':
        return model(input_ids=x[0], labels=x[0]).logits.float().mean()
    y = model(*x)
    return getattr(y, 'logits', y).float().mean()


def count(name, device):
    build, inputs, seq = MODELS[name]
    batch = 1 if name == 'gpt2_xl' else 2
    model, x = build().to(device).train(), inputs(batch, device)
    params = sum(p.numel() for p in model.parameters() if p.requires_grad)
    forward, step = FlopCounterMode(display=False), FlopCounterMode(display=False)
    with torch.autocast(device, torch.bfloat16):
        with forward:
            loss_of(name, model, x)
        with step:
            loss_of(name, model, x).backward()
    return [name, batch, seq or '', params, forward.get_total_flops() / batch, step.get_total_flops() / batch]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    ap.add_argument('-o', default='/dev/stdout')
    ap.add_argument('--device', default='cuda')
    ap.add_argument('names', nargs='*')
    a = ap.parse_args()
    with open(a.o, 'w', newline='') as out:
        w = csv.writer(out)
        w.writerow(['model', 'batch', 'seq', 'params', 'forward_flop', 'training_flop'])
        for name in a.names or MODELS:
            try:
                w.writerow(count(name, a.device))
            except Exception as e:
                print(f'{name}: {e!r}'[:300], file=sys.stderr)
            out.flush()
    print(f'torch {torch.__version__}', file=sys.stderr)


if __name__ == '__main__':
    main()
