/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/othello/arrays_write.h"

#include <string.h>

static void walk(const void *subject, struct body_block *block)
{
	const struct othello_arrays *arrays = subject;
	uint64_t words = othello_arrays_words(arrays);

	body_put64(block, arrays->seed);
	body_put32(block, arrays->na);
	body_put32(block, arrays->nb);
	for (uint64_t i = 0; i < words; i++)
		memcpy(body_reserve(block, FL_OTHELLO_WORD_LEN), arrays->cells + i * FL_OTHELLO_WORD_LEN,
		       FL_OTHELLO_WORD_LEN);
}

int othello_arrays_write(const struct othello_arrays *arrays, uint32_t service, body_sink sink, void *context)
{
	const struct body_source source = {
	    .magic = "FLO1",
	    .service = service,
	    .generation = arrays->generation,
	    .buckets = 1U << arrays->bits,
	    .len = FL_OTHELLO_WHOLE_LEN + FL_OTHELLO_WORD_LEN * othello_arrays_words(arrays),
	    .walk = walk,
	    .subject = arrays,
	};

	return body_write(&source, sink, context);
}
