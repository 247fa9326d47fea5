/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - power of a step, and the clock that keeps it within the limit. */
#include "model/step/clock.h"

#include <math.h>
#include "device/number.h"
#include "model/time/roofline.h"

#define REACHED 0.9      /* fraction of the memory's bandwidth that pure streaming kernels reach */
#define LOWEST 0.15      /* a lower clock would be a fault, not throttling */
#define EXPONENT 1       /* of the energy per FLOP in the clock, if the profile has none */
#define BYTES_SHARE 0.5  /* exponent of the energy per byte over that of the energy per FLOP */

cm__power cm__power_of(const cm_device *device)
{
    const cm_memory *memory = cm_device_main_memory(device);
    cm__power        p = {.limit_w = cm__value_or(cm_device_number(device, CM_TDP_W), 0),
                          .idle_w = cm__value_or(cm_device_number(device, CM_IDLE_W), 0),
                          .byte_j = cm__value_or(cm_device_number(device, CM_BYTE_J), 0),
                          .active_w = cm__value_or(cm_device_number(device, CM_ACTIVE_W), 0),
                          .exponent = cm__value_or(cm_device_number(device, CM_POWER_EXPONENT), EXPONENT),
                          .floor = cm__value_or(cm_device_number(device, CM_POWER_FLOOR), 0),
                          .memory_bytes_s = memory ? cm__value_or(memory->bw_bytes_s, 0) : 0,
                          .cache_bytes = cm__limits_of(device).cache_bytes};
    for (int r = 0; r < CM_RATES; r++) p.flop_j[r] = cm__value_or(cm_device_flop_energy(device, (cm_rate)r), 0);
    p.held_w = p.limit_w * cm__value_or(cm_device_number(device, CM_POWER_HELD), 1);
    p.burst_w = cm__value_or(cm_device_number(device, CM_BURST_W), INFINITY) - p.idle_w;
    if (p.byte_j <= 0) p.limit_w = p.held_w = 0;
    return p;
}

static double fourth_root(double x) { return sqrt(sqrt(x)); }
static double fourth_power(double x) { return x * x * x * x; }

/* The clock at which a call of so much dynamic energy was timed alone: the highest with which it stays below the power
   of bursts. */
static double own_clock(const cm__power *p, double energy_j, double time_s)
{
    return energy_j > p->burst_w * time_s ? pow(p->burst_w * time_s / energy_j, 1 / p->exponent) : 1;
}

static cm__stretch stretch_of(const cm__power *p, int op, double bytes, double energy_j, double time_s, double runs)
{
    double      left = cm__from_memory(p->cache_bytes, bytes);
    double      memory_s = p->memory_bytes_s > 0 ? bytes * left / (REACHED * p->memory_bytes_s) : 0;
    cm__stretch s = {.memory_s = fmin(memory_s, time_s), .runs = runs,
                     .beside = cm__call_kinds[op].engine == CM_ENGINE_MATRIX,
                     .own = own_clock(p, energy_j, time_s)};
    s.clocked_s = s.beside ? fourth_root(fourth_power(time_s) - fourth_power(s.memory_s)) : time_s - s.memory_s;
    return s;
}

double cm__stretched(const cm__stretch *s, double clock)
{
    double clocked_s = s->clocked_s / fmin(1, clock / s->own);
    return s->beside ? fourth_root(fourth_power(clocked_s) + fourth_power(s->memory_s)) : clocked_s + s->memory_s;
}

double cm__load_time(const cm__load *l, double clock)
{
    double sum = l->waits_s;
    for (int32_t i = 0; i < l->count; i++) sum += l->calls[i].runs * cm__stretched(&l->calls[i], clock);
    return sum;
}

void cm__load_add(cm__load *l, const cm__power *p, int op, cm_rate rate, cm__workload work, double time_s, double runs)
{
    double byte_j = work.bytes * p->byte_j;
    double flop_j = cm__call_kinds[op].engine == CM_ENGINE_MATRIX ? work.flop * p->flop_j[rate] : 0;
    l->calls[l->count++] = stretch_of(p, op, work.bytes, flop_j + byte_j, time_s, runs);
    l->byte_j += runs * byte_j;
    l->flop_j += runs * flop_j;
}

/* The voltage falls with the clock, down to its minimum. */
double cm__dynamic_energy(const cm__power *p, const cm__load *l, double clock)
{
    double above = fmax(clock, p->floor), busy_s = cm__load_time(l, clock) - l->waits_s;
    double active_j = p->active_w * clock * busy_s;
    return (l->flop_j + active_j) * pow(above, p->exponent) + l->byte_j * pow(above, BYTES_SHARE * p->exponent);
}

static double power_at(const cm__power *p, const cm__load *l, double clock)
{
    double time = fmax(cm__load_time(l, clock), l->least_s);
    return p->idle_w + cm__dynamic_energy(p, l, clock) / time;
}

double cm__clock_of(const cm__power *p, const cm__load *l)
{
    double low = LOWEST, high = 1;
    if (p->limit_w <= 0 || cm__load_time(l, 1) <= 0 || power_at(p, l, 1) <= p->held_w) return 1;
    for (int i = 0; i < 30; i++) {
        double middle = (low + high) / 2;
        if (power_at(p, l, middle) > p->held_w) high = middle;
        else low = middle;
    }
    return low;
}
