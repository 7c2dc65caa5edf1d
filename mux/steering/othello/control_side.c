/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/othello/control_side.h"

#include "ring/delta.h"
#include "steering/othello/arrays.h"
#include "steering/othello/arrays_write.h"
#include "steering/othello/pair.h"

static unsigned parse(const struct steering_arrays_expected *expected, const void *base, const uint8_t *data,
		      size_t len, void **out, struct reason *why)
{
	const struct othello_expected own = {
	    .service = expected->id,
	    .generation = expected->generation,
	    .buckets = expected->buckets,
	    .hash = (enum fl_hash_kind)expected->hash,
	};
	struct othello_arrays *arrays = NULL;
	enum fl_delta_error error = base ? othello_arrays_patch(base, data, len, &own, &arrays, why)
					 : othello_arrays_parse(data, len, &own, &arrays, why);

	*out = arrays;
	return error;
}

static const char *name(unsigned error)
{
	return delta_error_name((enum fl_delta_error)error);
}

static void *keep(void *arrays)
{
	return othello_arrays_keep(arrays);
}

static void release(void *arrays)
{
	othello_arrays_free(arrays);
}

static uint64_t memory(const void *newest, const void *previous)
{
	return othello_arrays_memory(newest) + (previous ? othello_arrays_memory(previous) : 0) +
	       othello_pair_memory(newest, previous);
}

static int write(const void *arrays, uint32_t service, body_sink sink, void *context)
{
	return othello_arrays_write(arrays, service, sink, context);
}

static void *make_pair(void *newest, void *previous, bool low_bits)
{
	return othello_pair_new(newest, previous, low_bits);
}

const struct steering_arrays othello_control_side = {
    .parse = parse,
    .name = name,
    .keep = keep,
    .free = release,
    .memory = memory,
    .write = write,
    .pair = make_pair,
};
