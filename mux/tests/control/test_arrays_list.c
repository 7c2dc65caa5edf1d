/* SPDX-License-Identifier: Apache-2.0 */
/* ring/latest_arrays: what is read of it, and what is refused. */
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "control/service/arrays_list.h"

enum { TEXT_MAX = 4096 };

/* As "newest[:previous]=whole,patches[;whole,patches of those before][+whole,patches ahead]". */
static void describe(const struct arrays_list *list, char *text)
{
	char *at = text + sprintf(text, "%u", list->version.newest);

	if (list->version.has_previous)
		at += sprintf(at, ":%u", list->version.previous);
	at += sprintf(at, "=%u", list->newest.whole);
	for (uint32_t i = 0; i < list->newest.patches_count; i++)
		at += sprintf(at, ",%u", list->newest.patches[i]);
	if (list->previous.whole)
		at += sprintf(at, ";%u", list->previous.whole);
	for (uint32_t i = 0; i < list->previous.patches_count; i++)
		at += sprintf(at, ",%u", list->previous.patches[i]);
	if (list->ahead.whole)
		at += sprintf(at, "+%u", list->ahead.whole);
	for (uint32_t i = 0; i < list->ahead.patches_count; i++)
		at += sprintf(at, ",%u", list->ahead.patches[i]);
}

/* What follows "format": 1, and what is made of it. */
static const struct {
	const char *keys, *result;
} good[] = {
    {"'generation': 3, 'previous': 0, 'whole': 3, 'patches': []", "3:0=3"},
    {"'generation': 3, 'whole': 3, 'patches': []", "3=3"},
    {"'generation': 40, 'previous': 37, 'whole': 30, 'patches': [33, 37, 40]", "40:37=30,33,37,40;30,33,37"},
    {"'generation': 33, 'previous': 30, 'whole': 30, 'patches': [33]", "33:30=30,33;30"},
    {"'generation': 40, 'whole': 30, 'patches': [33, 37, 40]", "40=30,33,37,40"},
    {"'generation': 40, 'previous': 37, 'whole': 40, 'patches': [], 'previousWhole': 30, 'previousPatches': [37]",
     "40:37=40;30,37"},
    {"'generation': 40, 'previous': 37, 'whole': 40, 'patches': [], 'previousWhole': 37, 'previousPatches': []",
     "40:37=40;37"},
    {"'generation': 4294967295, 'whole': 4294967295, 'patches': []", "4294967295=4294967295"},
    {"'generation': 3, 'whole': 3, 'patches': [], 'later': {}", "3=3"},
    {"'generation': 3, 'whole': 3, 'patches': [], 'aheadWhole': 5, 'aheadPatches': []", "3=3+5"},
    {"'generation': 5, 'previous': 3, 'whole': 3, 'patches': [5], 'aheadWhole': 3, 'aheadPatches': [5, 9]",
     "5:3=3,5;3+3,5,9"},
    /* before the first: nothing but those ahead counts */
    {"'generation': 0, 'whole': 0, 'patches': [], 'aheadWhole': 5, 'aheadPatches': []", "0=0+5"},
    {"'generation': 0, 'aheadWhole': 5, 'aheadPatches': [7]", "0=0+5,7"},
    /* on the way: other keys do not count */
    {"'generation': 9, 'previous': 7, 'whole': 7, 'patches': [9], 'previousWhole': 1, 'previousPatches': []",
     "9:7=7,9;7"},
};

#define GENERATION "generation is wrong or missing; allowed: 0..4294967295"
#define PREVIOUS   "previous is wrong or missing; allowed: absent, or below generation"
#define WHOLE      "whole is wrong or missing; allowed: 1..4294967295"
#define PATCHES    "patches is wrong or missing; allowed: a list of at most 256 generations"
#define ASCEND     "patches is wrong or missing; allowed: generations that ascend from that of the whole arrays"

static const struct {
	const char *keys, *why;
} bad[] = {
    {"'generation': 0, 'whole': 3, 'patches': []", "aheadWhole is wrong or missing; allowed: 1..4294967295"},
    {"'generation': -1, 'whole': 3, 'patches': []", GENERATION},
    {"'generation': 4294967296, 'whole': 3, 'patches': []", GENERATION},
    {"'generation': '3', 'whole': 3, 'patches': []", GENERATION},
    {"'generation': 3.0, 'whole': 3, 'patches': []", GENERATION},
    {"'whole': 3, 'patches': []", GENERATION},
    {"'generation': 3, 'previous': 3, 'whole': 3, 'patches': []", PREVIOUS},
    {"'generation': 3, 'previous': null, 'whole': 3, 'patches': []", PREVIOUS},
    {"'generation': 3, 'previous': -1, 'whole': 3, 'patches': []", PREVIOUS},
    {"'generation': 3, 'patches': []", WHOLE},
    {"'generation': 3, 'whole': 0, 'patches': [3]", WHOLE},
    {"'generation': 3, 'whole': 3", PATCHES},
    {"'generation': 3, 'whole': 3, 'patches': 3", PATCHES},
    {"'generation': 3, 'whole': 2, 'patches': [2, 3]", ASCEND},
    {"'generation': 5, 'whole': 2, 'patches': [4, 3, 5]", ASCEND},
    {"'generation': 5, 'whole': 2, 'patches': [4, 'x', 5]", ASCEND},
    {"'generation': 5, 'whole': 4294967295, 'patches': [5]", ASCEND},
    {"'generation': 3, 'whole': 2, 'patches': []", "patches leads to generation 2; allowed: 3"},
    {"'generation': 3, 'whole': 2, 'patches': [4]", "patches leads to generation 4; allowed: 3"},
    {"'generation': 40, 'previous': 37, 'whole': 40, 'patches': []",
     "previousWhole is wrong or missing; allowed: 1..4294967295"},
    {"'generation': 40, 'previous': 37, 'whole': 40, 'patches': [], 'previousWhole': 30",
     "previousPatches is wrong or missing; allowed: a list of at most 256 generations"},
    {"'generation': 40, 'previous': 37, 'whole': 40, 'patches': [], 'previousWhole': 30, 'previousPatches': [36]",
     "previousPatches leads to generation 36; allowed: 37"},
    {"'generation': 3, 'whole': 3, 'patches': [], 'aheadWhole': 0, 'aheadPatches': []",
     "aheadWhole is wrong or missing; allowed: 1..4294967295"},
    {"'generation': 3, 'whole': 3, 'patches': [], 'aheadWhole': 5",
     "aheadPatches is wrong or missing; allowed: a list of at most 256 generations"},
    {"'generation': 3, 'whole': 3, 'patches': [], 'aheadWhole': 5, 'aheadPatches': [5]",
     "aheadPatches is wrong or missing; allowed: generations that ascend from that of the whole arrays"},
    {"'generation': 3, 'generation': 3, 'whole': 3, 'patches': []", "no JSON object: duplicate object key"},
};

/* With double quotes in place of single ones. */
static int parse(const char *before, const char *keys, struct arrays_list *out, struct reason *why)
{
	char text[TEXT_MAX];

	assert_in_range(snprintf(text, sizeof(text), "{%s%s}", before, keys), 0, sizeof(text) - 1);
	for (char *at = text; (at = strchr(at, '\''));)
		*at = '"';
	*why = (struct reason){""};
	return arrays_list_parse(text, strlen(text), out, why);
}

static void a_list_is_read(void **state)
{
	struct arrays_list list;
	struct reason why;
	char text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (parse("'format': 1, ", good[i].keys, &list, &why))
			fail_msg("row %zu: %s", i, why.text);
		describe(&list, text);
		assert_string_equal(text, good[i].result);
	}
}

static void a_damaged_one_is_refused(void **state)
{
	static const struct arrays_list none;
	struct arrays_list list;
	struct reason why;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_not_equal(parse("'format': 1, ", bad[i].keys, &list, &why), 0);
		if (!strstr(why.text, bad[i].why))
			fail_msg("row %zu: '%s' instead of '%s'", i, why.text, bad[i].why);
		assert_memory_equal(&list, &none, sizeof(list));
	}
	assert_int_not_equal(parse("'format': 2, ", good[0].keys, &list, &why), 0);
	assert_string_equal(why.text, "latest_arrays: format is wrong or missing; allowed: 1");
	assert_int_not_equal(parse("", good[0].keys, &list, &why), 0);
	assert_int_not_equal(arrays_list_parse("[]", 2, &list, &why), 0);
	assert_int_not_equal(arrays_list_parse("", 0, &list, &why), 0);
	assert_int_not_equal(arrays_list_parse("{}x", 3, &list, &why), 0);
}

/* 256 patches are allowed, one more is not. */
static void the_number_of_patches_is_limited(void **state)
{
	struct arrays_list list;
	struct reason why;
	char text[TEXT_MAX];

	(void)state;
	for (unsigned count = ARRAYS_PATCHES_MAX; count <= ARRAYS_PATCHES_MAX + 1; count++) {
		char *at = text + sprintf(text, "'generation': %u, 'whole': 1, 'patches': [2", count + 1);

		for (unsigned patch = 3; patch <= count + 1; patch++)
			at += sprintf(at, ", %u", patch);
		strcpy(at, "]");
		assert_int_equal(!parse("'format': 1, ", text, &list, &why), count == ARRAYS_PATCHES_MAX);
	}
}

/* Which arrays a service must have so that none is skipped. */
static void it_says_whom_it_follows(void **state)
{
	static const struct {
		const char *keys;
		uint32_t follows[3], skips[3];
	} rows[] = {
	    {"'generation': 3, 'previous': 0, 'whole': 3, 'patches': []", {0, 0, 0}, {1, 2, 3}},
	    {"'generation': 9, 'previous': 7, 'whole': 5, 'patches': [7, 9]", {7, 7, 7}, {0, 5, 9}},
	    {"'generation': 9, 'whole': 5, 'patches': [7, 9]", {7, 7, 7}, {0, 5, 9}},
	    {"'generation': 9, 'whole': 5, 'patches': [9]", {5, 5, 5}, {0, 7, 9}},
	};
	struct arrays_list list;
	struct reason why;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int j = 0; j < 3; j++) {
			assert_int_equal(parse("'format': 1, ", rows[i].keys, &list, &why), 0);
			assert_true(arrays_list_follows(&list, rows[i].follows[j]));
			assert_false(arrays_list_follows(&list, rows[i].skips[j]));
		}
	/* what was before whole arrays without those before is not known */
	assert_int_equal(parse("'format': 1, ", "'generation': 9, 'whole': 9, 'patches': []", &list, &why), 0);
	for (uint32_t held = 0; held <= 9; held++)
		assert_false(arrays_list_follows(&list, held));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_list_is_read),
	    cmocka_unit_test(a_damaged_one_is_refused),
	    cmocka_unit_test(the_number_of_patches_is_limited),
	    cmocka_unit_test(it_says_whom_it_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
