/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/othello/arrays_write.h"

static uint64_t cells_count(const struct othello_arrays *arrays)
{
	return (uint64_t)arrays->na + arrays->nb;
}

/* Packs the cells without gaps, from the lowest bit of the first word on. */
static void walk(const void *subject, struct body_block *block)
{
	const struct othello_arrays *arrays = subject;
	uint32_t bits = fl_othello_bits(arrays->buckets), used = 0;
	uint64_t word = 0;

	body_put64(block, arrays->seed);
	body_put32(block, arrays->na);
	body_put32(block, arrays->nb);
	for (uint64_t i = 0; i < cells_count(arrays); i++) {
		uint64_t cell = arrays->cells[i];

		word |= cell << used;
		used += bits;
		if (used < 64)
			continue;
		body_put64(block, word);
		used -= 64;
		word = used ? cell >> (bits - used) : 0;
	}
	if (used)
		body_put64(block, word);
}

int othello_arrays_write(const struct othello_arrays *arrays, uint32_t service, body_sink sink, void *context)
{
	const struct body_source source = {
	    .magic = "FLO1",
	    .service = service,
	    .generation = arrays->generation,
	    .buckets = arrays->buckets,
	    .len = FL_OTHELLO_WHOLE_LEN +
		   FL_OTHELLO_WORD_LEN * fl_othello_words(cells_count(arrays), fl_othello_bits(arrays->buckets)),
	    .walk = walk,
	    .subject = arrays,
	};

	return body_write(&source, sink, context);
}
