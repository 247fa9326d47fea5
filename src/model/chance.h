/* SPDX-License-Identifier: Apache-2.0 */
/* chance.h - from which probability an answer is sure. */
#ifndef CM_MODEL_CHANCE_H
#define CM_MODEL_CHANCE_H

#define CM__SURE 0.9 /* probability from which the answer is "yes"; "no" below 1 minus it */

#endif
