// SPDX-License-Identifier: Apache-2.0
/*
 * Where a segment of an open connection can be (abi/place.h), by the distance from each edge; with every number moved, so
 * that each edge once lies behind the wrap of sequence numbers.
 */
#include <stdlib.h>

#include "place.h"

#include "vectors.h"

enum {
	MIB = 1 << 20,
	RANDOM = 1 << 20,
	FIRST = 0x40000000, /* before a number is moved */
};

struct row {
	const char *name;
	fl_u32 under_way, window;
	long long acknowledges, sequence; /* behind snd_una, behind rcv_nxt */
	bool is_ours;
};

static const struct row rows[] = {
    {"the next segment", 0, 65535, 0, 0, true},
    {"a probe of an idle connection", 0, 65535, 0, -1, true},
    {"the last of a window", 0, 65535, 0, 65534, true},
    {"behind a window that is told as it is read", 0, 65535, 0, 65535 + MIB, true},
    {"further behind it", 0, 65535, 0, 65536 + MIB, false},
    {"a window of 32 MiB, sent again", 0, 32 * MIB, 0, -32 * MIB, true},
    {"a window of 32 MiB that is shut, sent again", 0, 0, 0, -32 * MIB, true},
    {"sent again, at most", 0, 65535, 0, -64 * MIB, true},
    {"sent again, more", 0, 65535, 0, -64 * MIB - 1, false},
    {"an outdated acknowledgement, at most", 0, 65535, -16 * MIB, 0, true},
    {"an outdated acknowledgement, more", 0, 65535, -16 * MIB - 1, 0, false},
    {"all that is under way is acknowledged", 4 * MIB, 65535, 4 * MIB, 0, true},
    {"a segment that is sent as snd_nxt is read", 4 * MIB, 65535, 5 * MIB, 0, true},
    {"what was never sent", 4 * MIB, 65535, 5 * MIB + 1, 0, false},
    {"a window of 1 GiB, full", 1 << 30, 1 << 30, 1 << 30, (1 << 30) - 1, true},
    {"a window of 1 GiB, and more", 1 << 30, 1 << 30, 0, (1 << 30) + MIB + 1, false},
    {"a window that is shut", 0, 0, 0, 0, true},
};

/* Where every number is moved to: by nothing, to just below the wrap and just behind it, and each edge across it. */
static const fl_u32 shifts[] = {
    0,        0U - FIRST - 1, 0U - FIRST, 0U - FIRST + 1, 0U - FIRST - MIB, 0U - FIRST + 16 * MIB, 0U - FIRST - 5 * MIB,
    1U << 31,
};

static bool is_ours(const struct fl_place *place, fl_u32 sequence, fl_u32 acknowledgement)
{
	return fl_place_continues(place, sequence) && fl_place_acknowledges(place, acknowledgement);
}

static void place(void **state)
{
	const struct row *row = *state;
	size_t i;

	for (i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		fl_u32 at = FIRST + shifts[i];
		struct fl_place place = {at, at + row->under_way, at, row->window};

		if (is_ours(&place, at + (fl_u32)row->sequence, at + (fl_u32)row->acknowledges) != row->is_ours)
			fail_msg("at %u: it is %sours", at, row->is_ours ? "not " : "");
	}
}

/* Segments of other connections with the same ends: about 160 of 2^20 are taken, one in 6,500. */
static void others(void **state)
{
	const struct fl_place place = {0U - MIB, 14 * MIB, 0U - MIB, 15 * MIB};
	unsigned int seed = 33, i, taken = 0;

	(void)state;
	srandom(seed);
	for (i = 0; i < RANDOM; i++)
		taken += is_ours(&place, (fl_u32)random() << 16 ^ (fl_u32)random(),
				 (fl_u32)random() << 16 ^ (fl_u32)random());
	if (taken > 2 * 160 || taken < 160 / 2)
		fail_msg("seed %u: %u of %u are taken; about 160 should be", seed, taken, RANDOM);
}

/* By the kind of socket, at a place where the other kinds would say something else. */
static void kinds(void **state)
{
	enum { AT = 1000, FAR = 1 << 30 };
	static const struct {
		enum fl_place_of of;
		bool is_ack;
		fl_u32 acknowledged, sequence;
		bool is_other;
	} rows[] = {
	    {FL_PLACE_HALF_OPEN, true, AT, FAR, false},   {FL_PLACE_HALF_OPEN, true, AT + 1, AT, true},
	    {FL_PLACE_HALF_OPEN, true, AT - 1, AT, true}, {FL_PLACE_HALF_OPEN, false, FAR, FAR, false},
	    {FL_PLACE_TIME_WAIT, true, AT, FAR, false},   {FL_PLACE_TIME_WAIT, true, AT + 1, AT, true},
	    {FL_PLACE_TIME_WAIT, false, FAR, AT, false},  {FL_PLACE_TIME_WAIT, false, AT, FAR, true},
	    {FL_PLACE_OPENING, true, AT + 1, FAR, false}, {FL_PLACE_OPENING, true, FAR, AT, true},
	    {FL_PLACE_OPENING, false, FAR, FAR, false},   {FL_PLACE_OPEN, true, AT + 1, AT + 1, false},
	    {FL_PLACE_OPEN, true, FAR, AT, true},         {FL_PLACE_OPEN, true, AT, FAR, true},
	    {FL_PLACE_OPEN, false, FAR, AT, false},       {FL_PLACE_OPEN, false, AT, FAR, true},
	};
	const struct fl_place place = {AT, AT, AT, 0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (fl_place_is_other(rows[i].of, &place, rows[i].is_ack, rows[i].acknowledged, rows[i].sequence) !=
		    rows[i].is_other)
			fail_msg("row %zu", i);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, place, (void *)(uintptr_t)&rows[i]);
	vectors_add_plain(&tests, "other connections with the same ends", others, NULL);
	vectors_add_plain(&tests, "each kind of socket", kinds, NULL);
	return vectors_run("the place of a segment", &tests);
}
