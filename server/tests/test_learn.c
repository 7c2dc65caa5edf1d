// SPDX-License-Identifier: Apache-2.0
/* What a server learns of a generation (abi/learn.h), whatever its clock says. */
#include "vectors.h"

#include "learn.h"

enum {
	NOW = 1700000000,
	TAI = 37, /* seconds by which TAI is ahead, once the host knows it */
	JUMP = 1 << 20,
};

static fl_u32 clock_now;

static fl_u32 fl_form_seconds(void)
{
	return clock_now;
}

static const struct row {
	const char *name;
	fl_u32 seen, generation;
	fl_u32 to; /* what is known then */
	bool is_tagged, is_jump;
} rows[] = {
    {"the first", 0, 4294967295, 4294967295, false, false},
    {"the next", 7, 8, 8, false, false},
    {"the same", 7, 7, 7, false, false},
    {"a lower one", 7, 6, 7, false, false},
    {"a restore at its Unix second", 7, NOW, NOW, false, false},
    {"a restore above its backup", NOW, NOW + 1000000, NOW + 1000000, false, false},
    {"far above the clock, by any clock", 7, NOW + JUMP + TAI + 1, 7, false, true},
    {"far above what was seen", NOW + TAI + 5, NOW + TAI + 5 + JUMP + 1, NOW + TAI + 5, false, true},
    {"the same with a tag", NOW + TAI + 5, NOW + TAI + 5 + JUMP + 1, NOW + TAI + 5 + JUMP + 1, true, false},
    {"the highest with a tag", 7, 4294967295, 4294967295, true, false},
};

/* With a clock that is right, one that is TAI, and one that is slow by as much. */
static void learned(void **state)
{
	const struct row *row = *state;
	int off;

	for (off = -TAI; off <= TAI; off += TAI) {
		fl_u32 seen = row->seen;

		clock_now = NOW + (fl_u32)off;
		assert_int_equal(fl_learn(&seen, row->generation, row->is_tagged), !row->is_jump);
		assert_int_equal(seen, row->to);
	}
}

/* What is seen when a packet is decided about, and forgotten before it is learned from, does not come back. */
static void forgotten_under_way(void **state)
{
	struct fl_decide_in in = {.packet = FL_PACKET_LOCAL_SOCKET, .trusted = true, .generation_seen = 4294967295};
	struct fl_decide_out out;
	fl_u32 seen = 0;

	(void)state;
	clock_now = NOW;
	in.list.generation = 7;
	assert_true(fl_decide_alone(&in, &out));
	assert_true(fl_learn_packet(&seen, &in, false));
	assert_int_equal(seen, 7);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, learned, (void *)&rows[i]);
	vectors_add_plain(&tests, "a packet that was decided about before a forget", forgotten_under_way, NULL);
	return vectors_run("generations that are learned", &tests);
}
