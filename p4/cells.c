/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

/* cells_h of headers.p4: in network byte order. */
struct cells_input {
	uint8_t hash[8], seed[8], sizes[8];
	uint8_t kind;
};

_Static_assert(sizeof(struct cells_input) == P4_CELLS_LEN, "cells_h");

uint32_t p4_cells(const void *input)
{
	const struct cells_input *in = input;

	return p4_cells_fields(fl_load_be64(in->hash), fl_load_be64(in->seed), fl_load_be64(in->sizes), in->kind);
}
