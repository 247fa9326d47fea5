/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - random values that host and device compute identically, and their rounding. The device's functions are in
   kernels/types.cuh. */
#include "bench/backends/cuda/values.h"

#include <math.h>
#include <string.h>

#include "bench/backends/cuda/blaslt.h"
#include "bench/backends/cuda/cudnn.h"

const cm__type_info cm__types[TYPES] = {
    [TYPE_FP32] = {"fp32", "float", 4, 0x1p-24, LT_FP32, DNN_FP32},
    [TYPE_FP16] = {"fp16", "fp16", 2, 0x1p-11, LT_FP16, DNN_FP16},
    [TYPE_BF16] = {"bf16", "bf16", 2, 0x1p-8, LT_BF16, DNN_BF16},
    [TYPE_FP8] = {"fp8", "fp8", 1, 0x1p-4, LT_FP8_E4M3, -1},
    [TYPE_FP64] = {"fp64", "double", 8, 0x1p-53, -1, -1},
    [TYPE_INT64] = {"int64", "long long", 8, 0, -1, -1},
    [TYPE_INT32] = {"int32", "int", 4, 0, -1, -1},
    [TYPE_BYTE] = {"bool", "unsigned char", 1, 0, -1, -1},
};

cm__type cm__type_named(const char *name, int length)
{
    if (length == 4 && memcmp(name, "tf32", 4) == 0) return TYPE_FP32;
    for (int i = 0; i < TYPES; i++)
        if ((int)strlen(cm__types[i].dtype) == length && memcmp(cm__types[i].dtype, name, (size_t)length) == 0)
            return (cm__type)i;
    return TYPES;
}

/* The finaliser of splitmix64 over a Weyl sequence. */
uint64_t cm__cuda_hash(uint64_t key, uint64_t index)
{
    uint64_t h = key + index * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

float cm__cuda_random(uint64_t key, uint64_t index)
{
    uint64_t h = cm__cuda_hash(key, index);
    int32_t  sum = (int32_t)(h & 0xffff) + (int32_t)(h >> 16 & 0xffff) + (int32_t)(h >> 32 & 0xffff) +
                  (int32_t)(h >> 48) - 131070;
    return (float)(sum ? sum : 1) * 0x1p-15f;
}

/* Round to a format with `bits` significant bits and `low` as the smallest exponent of a normal number. */
static double round_to(double value, int bits, int low)
{
    int exponent;
    if (value == 0 || !isfinite(value)) return value;
    frexp(value, &exponent);
    if (exponent - 1 < low) exponent = low + 1;
    double step = ldexp(1, exponent - bits);
    return nearbyint(value / step) * step;
}

double cm__rounded(cm__type type, double value)
{
    if (type == TYPE_FP32) return (double)(float)value;
    if (type == TYPE_BF16) return round_to(value, 8, -126);
    if (type == TYPE_FP16) {
        double r = round_to(value, 11, -14);
        return fabs(r) > 65504 ? copysign(INFINITY, value) : r;
    }
    if (type == TYPE_FP8) return fmax(-448, fmin(448, round_to(value, 4, -6)));
    return value;
}

/* Decode a sign, an exponent of `exponent_bits`, and a fraction. */
static double small_float(uint32_t bits, int exponent_bits, int fraction_bits)
{
    int      bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t fraction = bits & ((1u << fraction_bits) - 1),
             exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
    double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (exponent_bits == 5 && exponent == 31) return fraction ? NAN : sign * INFINITY;
    if (exponent_bits == 4 && exponent == 15 && fraction == 7) return NAN;
    if (exponent == 0) return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1u << fraction_bits), (int)exponent - bias - fraction_bits);
}

double cm__stored(cm__type type, const void *bytes)
{
    union {
        uint8_t  u8;
        uint16_t u16;
        uint32_t u32;
        float    f32;
        double   f64;
        int64_t  i64;
        int32_t  i32;
    } v = {.i64 = 0};
    memcpy(&v, bytes, (size_t)cm__types[type].bytes);
    switch (type) {
    case TYPE_FP32: return (double)v.f32;
    case TYPE_FP16: return small_float(v.u16, 5, 10);
    case TYPE_BF16: v.u32 = (uint32_t)v.u16 << 16; return (double)v.f32;
    case TYPE_FP8: return small_float(v.u8, 4, 3);
    case TYPE_FP64: return v.f64;
    case TYPE_INT64: return (double)v.i64;
    case TYPE_INT32: return (double)v.i32;
    default: return (double)v.u8;
    }
}
