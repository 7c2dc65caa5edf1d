/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIRLEAD_MUX_DELTA_DECODE_H
#define FAIRLEAD_MUX_DELTA_DECODE_H

#include "ring/delta.h"

/*
 * Decodes len bytes. FL_DELTA_OK: *out is filled; free it with delta_free(). Otherwise says why. Memory is bounded by
 * the expected number of buckets, regardless of what the bytes claim.
 */
enum fl_delta_error delta_decode(const uint8_t *data, size_t len, const struct delta_expected *expected,
				 struct delta *out, struct reason *why);

#endif
