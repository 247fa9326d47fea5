/* SPDX-License-Identifier: Apache-2.0 */
/* machine_plain.c - this machine in builds without hwloc's header. */
#include "device/machine.h"

void cm__machine_discover(cm__machine *m) { cm__machine_from_system(m); }
