/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - power of a step, and the clock that keeps it within the limit. */
#include "model/clock.h"

#include <math.h>
#include "device/number.h"

#define REACHED 0.9      /* of the memory's bandwidth, by kernels that do nothing but stream */
#define LOWEST 0.4       /* clocks below this are not throttling but a fault */
#define BYTE_EXPONENT 0.5

cm__power cm__power_of(const cm_device *device)
{
    const cm_memory *memory = cm_device_main_memory(device);
    cm__power        p = {.limit_w = cm__value_or(cm_device_number(device, CM_TDP_W), 0),
                          .idle_w = cm__value_or(cm_device_number(device, CM_IDLE_W), 0),
                          .byte_j = cm__value_or(cm_device_number(device, CM_BYTE_J), 0),
                          .memory_bytes_s = memory ? cm__value_or(memory->bw_bytes_s, 0) : 0};
    for (int r = 0; r < CM_RATES; r++) p.flop_j[r] = cm__value_or(cm_device_flop_energy(device, (cm_rate)r), 0);
    if (p.byte_j <= 0) p.limit_w = 0;
    return p;
}

double cm__clocked_part(const cm__power *p, const cm__call *call, double time_s)
{
    double flop, bytes;
    cm__call_work(call, &flop, &bytes);
    if (p->memory_bytes_s <= 0 || time_s <= 0) return 1;
    return 1 - fmin(1, bytes / (REACHED * p->memory_bytes_s) / time_s);
}

void cm__load_add(cm__load *l, const cm__power *p, const cm__call *call, double time_s, double runs)
{
    double flop, bytes, clocked = cm__clocked_part(p, call, time_s);
    cm__call_work(call, &flop, &bytes);
    l->clocked_s += runs * time_s * clocked;
    l->fixed_s += runs * time_s * (1 - clocked);
    l->byte_j += runs * bytes * p->byte_j;
    if (cm__call_kinds[call->op].engine == CM_ENGINE_MATRIX) l->flop_j += runs * flop * p->flop_j[cm__call_rate(call)];
}

static double power_at(const cm__power *p, const cm__load *l, double clock)
{
    double time = fmax(l->fixed_s + l->clocked_s / clock, l->least_s);
    return p->idle_w + (l->flop_j * clock + l->byte_j * pow(clock, BYTE_EXPONENT)) / time;
}

double cm__clock_of(const cm__power *p, const cm__load *l)
{
    double low = LOWEST, high = 1;
    if (p->limit_w <= 0 || l->fixed_s + l->clocked_s <= 0 || power_at(p, l, 1) <= p->limit_w) return 1;
    for (int i = 0; i < 30; i++) {
        double middle = (low + high) / 2;
        if (power_at(p, l, middle) > p->limit_w) high = middle;
        else low = middle;
    }
    return low;
}

double cm__energy_at(const cm__power *p, const cm__load *l, double clock, double step_s)
{
    return p->idle_w * step_s + l->flop_j * clock + l->byte_j * pow(clock, BYTE_EXPONENT);
}
