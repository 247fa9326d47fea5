/* SPDX-License-Identifier: Apache-2.0 */
/* half_cuda.c - an incomplete driver with only one symbol. */
int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    return (int)flags;
}
