/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - devices and steps for laws: user profiles derived from built-in devices, and training steps. */
#ifndef CM_TESTS_LAWS_DEVICES_H
#define CM_TESTS_LAWS_DEVICES_H

#include "laws.h"

/* The parts of a device that a profile can improve. */
typedef enum law_part {
    LAW_MAIN_BANDWIDTH, LAW_BANDWIDTH, LAW_CACHE, LAW_CAPACITY, LAW_MATRIX_PEAK, LAW_VECTOR_PEAK, LAW_ALL_PEAKS,
    LAW_CLOCK, LAW_POWER, LAW_LINKS, LAW_PARTS
} law_part;
const char *law_part_name(law_part part);

/* Writes a user profile that is based on a built-in device, with a factor on one of its parts. With factor 1 it has
   only an id and a name. False: the device has no such part. */
bool law_profile_write(const char *id, law_part part, double factor, const char *path);
/* Loads the device of such a profile; NULL: it has no such part. */
cm_device *law_device_changed(const char *id, law_part part, double factor);

/* A training step with eager PyTorch's operator fusion; NULL: it cannot be built. */
cm_graph *law_training_step(const char *model, cm_precision precision);

/* Seconds of a step; NAN: refused. */
double law_step_time(const cm_graph *step, const cm_device *device, int64_t batch);

#endif
