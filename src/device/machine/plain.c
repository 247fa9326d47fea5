/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - this machine in builds without hwloc's header. */
#include "device/machine/machine.h"

void cm__machine_discover(cm__machine *m) { cm__machine_from_system(m); }
