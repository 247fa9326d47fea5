#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_lookups.py [OUT.tsv]: look-ups per second in tables of cross sections, on this machine's GPU.

Measures the cases that `centimani lookups` distinguishes: grids, 32 and 64 bits, random look-ups and look-ups sorted by
energy, sums in registers or in memory, and the materials of XSBench's large reactor. The kernels are compiled by PyTorch
(torch.cuda._compile_kernel, 2.9 or later); one thread makes one look-up, 256 threads a block. Sorting is not timed.

    tools/measure_lookups.py --compare kernels/lookups.tsv BUILD/centimani nvidia-h200     predictions beside results
"""
import json
import math
import subprocess
import sys

import evidence

COLUMNS = ["grid", "bits", "sorted", "sums", "visited", "nuclides", "points", "lookups", "lookups_s"]
PARTS = (.140, .052, .275, .134, .154, .064, .066, .055, .008, .015, .025, .013)  # of XSBench's 12 materials
COUNTS = (321, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9)                            # and their nuclides
VISITED = 55.7
BLOCK = 256
SOURCE = r"""
struct particle { number energy, sum[5]; };

__device__ long long place(const number *from, long long step, long long count, number energy)
{
    long long low = 0, high = count - 1;
    while (high - low > 1) {
        long long middle = (low + high) / 2;
        if (from[middle * step] > energy) high = middle; else low = middle;
    }
    return low;
}

extern "C" __global__ void look(const number *grid, const int *index, const number *tables, const int *materials,
                                particle *p, long long count, int nuclides, long long points)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= count) return;
    number    energy = p[i].energy, total[5] = {0};
    int       material = materials ? materials[i] : 0, visited = materials ? material >> 8 : nuclides;
    long long row = NUCLIDE ? 0 : place(grid, 1, nuclides * points, energy);
    for (int k = 0; k < visited; k++) {
        int           n = (k + (material & 255)) % nuclides;
        const number *table = tables + n * points * 6;
        const number *low = table + 6 * (NUCLIDE ? place(table, 6, points, energy) : (long long)index[row * nuclides + n]);
        number        part = (low[6] - energy) / (low[6] - low[0]);
        for (int j = 0; j < 5; j++) {
            number value = low[7 + j] - part * (low[7 + j] - low[1 + j]);
            if (MEMORY) p[i].sum[j] += value; else total[j] += value;
        }
    }
    for (int j = 0; j < 5 && !MEMORY; j++) p[i].sum[j] = total[j];
}
"""


def tables_of(torch, nuclides, points, dtype, unionized):
    """Sorted random energies and cross sections; the unionized grid with a position for each nuclide."""
    generator = torch.Generator(device="cuda").manual_seed(1)
    table = torch.rand(nuclides, points, 6, device="cuda", generator=generator, dtype=dtype)
    for n in range(nuclides):
        table[n, :, 0] = table[n, :, 0].sort().values
    if not unionized:
        return None, None, table
    energies = table[:, :, 0].flatten().sort().values.contiguous()
    index = torch.empty(nuclides * points, nuclides, device="cuda", dtype=torch.int32)
    for n in range(nuclides):
        found = torch.searchsorted(table[n, :, 0].contiguous(), energies, right=True) - 1
        index[:, n] = found.clamp(0, points - 2).to(torch.int32)
    return energies, index, table


def rate_of(torch, case, tables, count):
    """The median of five launches."""
    dtype = torch.float64 if case["bits"] == 64 else torch.float32
    words = {"number": "double" if case["bits"] == 64 else "float", "NUCLIDE": int(case["grid"] == "nuclide"),
             "MEMORY": int(case["sums"] == "memory")}
    kernel = torch.cuda._compile_kernel("".join(f"#define {k} {v}\n" for k, v in words.items()) + SOURCE, "look")
    generator = torch.Generator(device="cuda").manual_seed(2)
    energies = torch.rand(count, device="cuda", generator=generator, dtype=dtype)
    particles = torch.zeros(count, 6, device="cuda", dtype=dtype)
    particles[:, 0] = energies.sort().values if case["sorted"] == "yes" else energies
    materials = None
    if case["visited"] == VISITED:
        drawn = torch.multinomial(torch.tensor(PARTS, device="cuda"), count, replacement=True, generator=generator)
        materials = (torch.tensor(COUNTS, device="cuda")[drawn] * 256 + 20 * drawn).to(torch.int32)
    empty = torch.zeros(1, device="cuda", dtype=torch.int64)[:0]
    given = [x if x is not None else empty for x in (*tables, materials)]
    seconds = []
    for _ in range(6):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        kernel(((count + BLOCK - 1) // BLOCK, 1, 1), (BLOCK, 1, 1), (*given, particles, count, case["nuclides"], case["points"]))
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) / 1e3)
    return count / sorted(seconds[1:])[2]


def cases():
    for bits in (32, 64):
        for nuclides, points in ((250, 10000), (60, 10000), (250, 1000), (355, 11303)):
            for grid in ("unionized", "nuclide"):
                for sums in ("registers", "memory"):
                    for order in ("no", "yes"):
                        for visited in {nuclides, VISITED} if nuclides == 355 else {nuclides}:
                            yield dict(grid=grid, bits=bits, sorted=order, sums=sums, visited=visited, nuclides=nuclides, points=points)
    for nuclides, points in ((60, 100_000), (250, 100_000), (30, 1_000_000), (1, 22_369_621), (1, 1_000_000), (1, 20_000)):
        yield dict(grid="nuclide", bits=64, sorted="no", sums="registers", visited=nuclides, nuclides=nuclides, points=points)


def measure(out):
    import torch  # pylint: disable=import-outside-toplevel
    print("# " + "\t".join(COLUMNS), file=out)
    known = None
    for case in sorted(cases(), key=lambda c: (c["bits"], c["nuclides"], c["points"], c["grid"])):
        shape = case["bits"], case["nuclides"], case["points"], case["grid"]
        if shape != known:
            tables = None
            tables = tables_of(torch, case["nuclides"], case["points"], torch.float64 if case["bits"] == 64 else torch.float32,
                               case["grid"] == "unionized")
            known = shape
        case["lookups"] = 10_000_000 if case["sorted"] == "yes" or case["visited"] == VISITED else max(2_000_000, 50_000_000 // case["nuclides"])
        case["lookups_s"] = f"{rate_of(torch, case, tables, case['lookups']):.4g}"
        print("\t".join(str(case[c]) for c in COLUMNS), file=out, flush=True)


def predicted(program, device, case):
    words = [program, "lookups", "--device", device, "--json", "--grid", case["grid"], "--sums", case["sums"]]
    words += [w for key in ("visited", "nuclides", "points", "bits") for w in ("--" + key, case[key])]
    words += ["--longest", str(max(COUNTS))] * (float(case["visited"]) == VISITED) + ["--sorted"] * (case["sorted"] == "yes")
    return json.loads(subprocess.run(words, capture_output=True, check=True, text=True).stdout)["devices"][0]


def compare(path, program, device):
    errors, inside = [], 0
    with evidence.opened(path) as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            case = dict(zip(COLUMNS, line.rstrip("\n").split("\t")))
            answer, real = predicted(program, device, case), float(case["lookups_s"])
            errors.append(math.log(answer["lookups_s"] / real))
            inside += answer["lookups_s_low"] <= real <= answer["lookups_s_high"]
            print("\t".join(case[c] for c in COLUMNS), f"{100 * math.expm1(errors[-1]):+.0f} %", answer["limited_by"], sep="\t")
    print(f"{len(errors)} results: mean error {100 * sum(abs(math.expm1(e)) for e in errors) / len(errors):.0f} %, median factor "
          f"{math.exp(sorted(map(abs, errors))[len(errors) // 2]):.2f}, largest {math.exp(max(map(abs, errors))):.2f}, {inside} inside their intervals")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        compare(*sys.argv[2:])
    else:
        with open(sys.argv[1], "w", encoding="utf-8") if sys.argv[1:] else sys.stdout as stream:
            measure(stream)
