/* SPDX-License-Identifier: Apache-2.0 */
/* Deltas and snapshots as bytes (protocol/README.md section 5), as a controller would write them; valid or not. */
#ifndef FAIRLEAD_MUX_TESTS_DELTA_BYTES_H
#define FAIRLEAD_MUX_TESTS_DELTA_BYTES_H

#include "ring/delta.h"

/* The body of a delta or snapshot before compression, to be freed. */
uint8_t *delta_bytes_body(const struct delta *delta, size_t *len);

/* The compressed body behind a valid header of this delta, to be freed. */
uint8_t *delta_bytes_wrap(const struct delta *delta, const uint8_t *body, size_t body_len, size_t *len);

/* The same behind a header of another magic: what else has the header's fields (§12). */
uint8_t *delta_bytes_frame(const char *magic, const struct delta *delta, const uint8_t *body, size_t body_len,
			   size_t *len);

#endif
