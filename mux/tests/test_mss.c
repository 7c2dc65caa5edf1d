/* SPDX-License-Identifier: Apache-2.0 */
/* The MSS option of a SYN: found behind any other options, lowered and never raised, with the checksum kept right. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "headers/mss.h"
#include "image.h"

enum { LIMIT = 1400, HEADER_MAX = 60, RANDOM = 300000 };

struct row {
	const char *name;
	uint8_t len; /* of the options */
	uint8_t options[16];
	uint16_t at; /* offset in the options of the value that is lowered to the limit; 0: none */
};

static const struct row rows[] = {
    {"MSS alone", 4, {2, 4, 5, 180}, 2},
    {"MSS behind no-operations, at an odd offset", 8, {1, 1, 1, 2, 4, 5, 180, 0}, 5},
    {"MSS behind SACK permitted and window scale", 12, {4, 2, 3, 3, 7, 1, 2, 4, 255, 255, 1, 1}, 8},
    {"MSS that is the limit", 4, {2, 4, LIMIT >> 8, LIMIT & 255}, 0},
    {"MSS below it", 4, {2, 4, 2, 24}, 0},
    {"no options", 0, {0}, 0},
    {"MSS behind the end of the list", 8, {0, 0, 0, 0, 2, 4, 5, 180}, 0},
    {"an option without a length", 4, {1, 1, 1, 8}, 0},
    {"an option of length 1", 8, {8, 1, 2, 4, 5, 180, 0, 0}, 0},
    {"an option that ends behind the header", 8, {8, 9, 0, 0, 2, 4, 5, 180}, 0},
    {"MSS of length 3", 8, {2, 3, 5, 2, 4, 5, 180, 0}, 0},
    {"MSS that ends behind the header", 4, {1, 1, 2, 4}, 0},
};

/* The one's-complement sum of all, the checksum included; it stays the same. */
static uint16_t sum_of(const uint8_t *tcp, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += fl_load_be16(tcp + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void only_a_larger_mss_is_lowered(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		uint32_t len = 20U + row->len;
		uint8_t *tcp = calloc(1, len), before[HEADER_MAX];

		assert_non_null(tcp);
		tcp[12] = (uint8_t)(len / 4 << 4);
		tcp[13] = 2;
		fl_store_be16(tcp + 16, 0x1234);
		memcpy(tcp + 20, row->options, row->len);
		memcpy(before, tcp, len);
		mss_clamp(tcp, LIMIT);
		if (row->at) {
			fl_store_be16(before + 20 + row->at, LIMIT);
			assert_int_not_equal(fl_load_be16(tcp + 16), 0x1234);
			fl_store_be16(before + 16, fl_load_be16(tcp + 16));
		}
		if (memcmp(tcp, before, len))
			fail_msg("%s", row->name);
		free(tcp);
	}
}

static void random_options_keep_the_sum(void **state)
{
	struct chance chance = {20261120};
	uint32_t changed = 0;

	(void)state;
	for (int i = 0; i < RANDOM; i++) {
		uint32_t len = 20 + 4 * chance_below(&chance, 11);
		uint8_t *tcp = malloc(len), before[HEADER_MAX];
		uint16_t limit = (uint16_t)(536 + chance_below(&chance, 3000)), sum;

		assert_non_null(tcp);
		for (uint32_t n = 0; n < len; n++)
			tcp[n] = (uint8_t)(chance_below(&chance, 2) ? chance_below(&chance, 5) : chance_next(&chance));
		tcp[12] = (uint8_t)(len / 4 << 4);
		memcpy(before, tcp, len);
		sum = sum_of(tcp, len);
		mss_clamp(tcp, limit);
		changed += memcmp(tcp, before, len) != 0;
		/* 0 and 0xffff are the same number there */
		assert_int_equal(sum_of(tcp, len) % 0xffff, sum % 0xffff);
		free(tcp);
	}
	assert_true(changed > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_a_larger_mss_is_lowered),
	    cmocka_unit_test(random_options_keep_the_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
