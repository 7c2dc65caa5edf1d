/* SPDX-License-Identifier: Apache-2.0 */
#include "labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steering/ring/steering_ring.h"

enum { LABEL_OK, LABEL_CHECKSUM, LABEL_BYTES = 1000 };

struct label {
	unsigned references;
	uint32_t generation;
};

struct pair {
	struct label *newest, *previous;
};

void *labels_make(uint32_t generation)
{
	struct label *label = malloc(sizeof(*label));

	if (!label)
		abort();
	*label = (struct label){1, generation};
	return label;
}

uint32_t labels_generation(const void *arrays)
{
	return ((const struct label *)arrays)->generation;
}

static unsigned parse(const struct steering_arrays_expected *expected, const void *base, const uint8_t *data,
		      size_t len, void **out, struct reason *why)
{
	char text[32], *at = text;

	if (expected->base)
		at += sprintf(at, "%u>", expected->base);
	sprintf(at, "%u", expected->generation);
	if (!base != !expected->base || (base && labels_generation(base) != expected->base)) {
		reason_set(why, 0, "the method is called with another base");
		return LABEL_CHECKSUM;
	}
	while (len > strlen(text) && data[len - 1] == ' ')
		len--;
	if (len != strlen(text) || memcmp(data, text, len)) {
		reason_set(why, 0, "the arrays are not generation %u's", expected->generation);
		return LABEL_CHECKSUM;
	}
	*out = labels_make(expected->generation);
	return LABEL_OK;
}

static const char *name(unsigned error)
{
	return error == LABEL_CHECKSUM ? "checksum" : "ok";
}

static void *keep(void *arrays)
{
	__atomic_fetch_add(&((struct label *)arrays)->references, 1, __ATOMIC_ACQ_REL);
	return arrays;
}

static void drop(void *arrays)
{
	if (arrays && !__atomic_sub_fetch(&((struct label *)arrays)->references, 1, __ATOMIC_ACQ_REL))
		free(arrays);
}

static uint64_t memory(const void *newest, const void *previous)
{
	(void)newest;
	return previous ? 2 * LABEL_BYTES : LABEL_BYTES;
}

static int write(const void *arrays, uint32_t service, body_sink sink, void *context)
{
	char text[16];

	(void)service;
	return sink(context, text, (size_t)sprintf(text, "%u", labels_generation(arrays)));
}

static void *make_pair(void *newest, void *previous, bool low_bits)
{
	struct pair *pair = malloc(sizeof(*pair));
	char before[16] = "";

	if (!pair)
		abort();
	*pair = (struct pair){newest, previous};
	if (previous)
		sprintf(before, "_%u", labels_generation(previous));
	fprintf(stderr, "mux event=pair_%u%s\n", labels_generation(newest), low_bits ? "_low" : before);
	return pair;
}

static void drop_pair(void *data)
{
	struct pair *pair = data;

	drop(pair->newest);
	drop(pair->previous);
	free(pair);
}

static const struct steering_arrays arrays = {
    .parse = parse, .name = name, .keep = keep, .free = drop, .memory = memory, .write = write, .pair = make_pair};

const struct steering labels = {
    .name = "labels",
    .bucket = steering_ring_bucket,
    .drop = drop_pair,
    .arrays = &arrays,
};

/* In place of steering.c's. */
const struct steering *const steerings[STEERINGS_MAX + 1] = {&steering_ring, &labels};

unsigned steering_number(const struct steering *steering)
{
	return steering == &labels;
}
