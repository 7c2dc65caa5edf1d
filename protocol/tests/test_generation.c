/* SPDX-License-Identifier: Apache-2.0 */
/* How far a packet without a tag may raise a generation: the table of protocol/README.md, 3. */
#include <fairlead/generation.h>

#include "vectors.h"

enum {
	NOW = 1800000000,
	FAR = 1048576,
};

static const struct {
	const char *name;
	fl_u32 seen, generation, now;
	bool refused;
} rows[] = {
    {"the first that is seen, however high", 0, 0xffffffff, NOW, false},
    {"the same", 5, 5, NOW, false},
    {"a lower one", 5, 4, NOW, false},
    {"the next", 5, 6, NOW, false},
    {"a restore of now", 5, NOW, NOW, false},
    {"a restore a year ago", 5, NOW - 31536000, NOW, false},
    {"a restore by a clock that is a day ahead", 5, NOW + 86400, NOW, false},
    {"the last that the clock allows", 5, NOW + FAR, NOW, false},
    {"one more", 5, NOW + FAR + 1, NOW, true},
    {"the highest there is", 5, 0xffffffff, NOW, true},
    {"a second restore, 1,000,000 above the backup", NOW + 7, NOW + 1000007, NOW, false},
    {"the last that the seen one allows", NOW + 100, NOW + 100 + FAR, NOW, false},
    {"one more than that", NOW + 100, NOW + 100 + FAR + 1, NOW, true},
    {"a clock that was never set: the last", 5, FAR + 5, 0, false},
    {"a clock that was never set: one more", 5, FAR + 6, 0, true},
    {"at the end of 32 bits", 0xfffffff0, 0xffffffff, NOW, false},
    {"a clock at the end of 32 bits", 5, 0xffffffff, 0xfffffff0, false},
};

static void row(void **state)
{
	size_t i = (size_t)*state;

	assert_int_equal(fl_generation_is_jump(rows[i].seen, rows[i].generation, rows[i].now), rows[i].refused);
}

int main(void)
{
	struct vectors_tests tests = {NULL, 0};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		vectors_add_plain(&tests, rows[i].name, row, (void *)i);
	return vectors_run("generation", &tests);
}
