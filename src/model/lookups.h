/* SPDX-License-Identifier: Apache-2.0 */
/* lookups.h - random reads by class of device: the rows of data/lookups.tsv. */
#ifndef CM_MODEL_LOOKUPS_H
#define CM_MODEL_LOOKUPS_H

#include <stdint.h>

typedef struct cm__known_lookup {
    const char *device_class;
    double      cycles, chains, sector_bytes, together, lanes;
    double      apart, sum; /* NAN: nothing but bandwidth limits reads */
    double      point32, point64, drawn; /* NAN: its random numbers are not drawn by the hardware */
    double      step, bands, usable, reached;
    double      clock_hz; /* NAN: from the profile */
    double      spread;
    const char *source;
} cm__known_lookup;

extern const cm__known_lookup cm__known_lookups[];
extern const int32_t          cm__n_known_lookups;

/* Sectors that `span` bytes touch on average, if they begin at multiples of `stride`. */
double cm__sectors_touched(int64_t span, int64_t stride, int64_t sector);

#endif
