/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - fused multiply-adds in registers, in the widest vectors of the CPU. */
#ifndef CM_BENCH_CPU_VECTOR_H
#define CM_BENCH_CPU_VECTOR_H

float  cm__vector_work(void); /* on one core; returns a result so that the compiler keeps the work */
double cm__vector_flop(void); /* FLOP of one cm__vector_work() */

#endif
