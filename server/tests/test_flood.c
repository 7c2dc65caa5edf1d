// SPDX-License-Identifier: Apache-2.0
/* Which packets of a flood are dropped (abi/flood.h), by a clock of the test's own. */
#include "flood.h"

#include "vectors.h"

enum {
	RATE = 10,
	MILLISECOND = 1000000,
	BEGIN = 5000, /* milliseconds */
};

/* Packets that come at once, and how many of them are dropped. */
struct burst {
	fl_u32 at; /* milliseconds since the first */
	fl_u32 packets, dropped;
};

static const struct row {
	const char *name;
	struct burst bursts[5];
} rows[] = {
    {"up to the rate", {{0, 10, 0}, {1000, 10, 0}, {2000, 10, 0}}},
    {"the second begins with the first packet", {{0, 5, 0}, {999, 5, 0}, {1000, 10, 0}}},
    {"what is beyond the rate", {{0, 10, 0}, {1, 1, 1}, {999, 1, 1}}},
    {"each second begins at 0", {{0, 100, 90}, {1000, 12, 2}, {1500, 5, 5}, {2000, 10, 0}, {2001, 1, 1}}},
    {"after a long time", {{0, 100, 90}, {0xffffffff, 10, 0}}},
};

static void bursts(void **state)
{
	const struct row *row = *state;
	struct fl_flood flood = {0};
	size_t i;

	for (i = 0; i < sizeof(row->bursts) / sizeof(row->bursts[0]); i++) {
		fl_u64 now = ((fl_u64)BEGIN + row->bursts[i].at) * MILLISECOND;
		fl_u32 packet, dropped = 0;

		for (packet = 0; packet < row->bursts[i].packets; packet++)
			dropped += fl_flood_drops(&flood, RATE, now, 1);
		assert_int_equal(dropped, row->bursts[i].dropped);
	}
}

/* Several at once, and more than a counter of 32 bits has room for. */
static void merged(void **state)
{
	struct fl_flood flood = {.since = BEGIN};

	(void)state;
	assert_false(fl_flood_drops(&flood, RATE, BEGIN, RATE));
	assert_true(fl_flood_drops(&flood, RATE, BEGIN, 0xffffffff - RATE));
	assert_true(fl_flood_drops(&flood, RATE, BEGIN, 5));
	assert_true(fl_flood_drops(&flood, RATE, BEGIN + FL_FLOOD_SECOND, RATE + 1));
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, bursts, (void *)&rows[i]);
	vectors_add_plain(&tests, "several at once", merged, NULL);
	return vectors_run("floods", &tests);
}
