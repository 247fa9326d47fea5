/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - fused multiply-adds in registers, in the widest vectors there are. */
#ifndef CM_BENCH_CPU_VECTOR_H
#define CM_BENCH_CPU_VECTOR_H

float  cm__vector_work(void); /* on one core; the result is there so that it is not left out */
double cm__vector_flop(void); /* that it does */

#endif
