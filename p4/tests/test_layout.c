/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the registers hold, against the C mux and the protocol's header; and the verdicts' numbers in the program's
 * source. No pipeline.
 *
 *	test_p4_layout verdicts.p4
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fairlead/hash.h>

#include "crc.h"
#include "image.h"
#include "layout.h"
#include "flow/verdict.h"
#include "siphash.h"
#include "steering/ring/steering_ring.h"

static const char *verdicts_file;

/* Each constant has the number that verdict.h gives its name, or that of layout.h. */
static void test_verdicts(void **state)
{
	FILE *file = fopen(verdicts_file, "r");
	char line[200], name[64], wanted[64];
	unsigned number, count = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "const verdict_t VERDICT_%63s = %u;", name, &number) != 2)
			continue;
		for (char *at = name; *at; at++)
			*at = (char)tolower(*at);
		snprintf(wanted, sizeof(wanted), "%s", p4_verdict_name(number));
		assert_string_equal(name, wanted);
		count++;
	}
	fclose(file);
	assert_int_equal(count, 26);
	assert_true((unsigned)VERDICTS_ALL <= (unsigned)P4_VERDICT_FRAGMENT && P4_VERDICTS <= 1 << P4_PACKETS_SHIFT);
}

/* The sum of all parts and the constant is the CRC-32 of the key. */
static void test_crc(void **state)
{
	struct chance chance = {.state = 7};

	(void)state;
	for (int round = 0; round < 400; round++) {
		unsigned variant = (unsigned)round % P4_CRC_VARIANTS, len = variant & P4_CRC_IPV6 ? 16 : 4;
		uint8_t key[FL_KEY_IPV6_LEN];
		struct fl_address vip = {{[10] = 0xff, 0xff}};
		uint32_t crc;

		for (unsigned i = 0; i < sizeof(key); i++)
			key[i] = (uint8_t)chance_next(&chance);
		memcpy(vip.bytes + 16 - len, key + len, len);
		crc = p4_crc_constant(variant, &vip, key[2 * len + 4], fl_load_be16(key + 2 * len + 2));
		for (unsigned i = 0; i < P4_CRC_SOURCES; i++)
			crc ^= i < len ? p4_crc_part(i, variant, key[i]) : p4_crc_part(i, variant, 0xff);
		crc ^= p4_crc_part(P4_CRC_SOURCES, variant, key[2 * len]);
		crc ^= p4_crc_part(P4_CRC_SOURCES + 1, variant, key[2 * len + 1]);
		assert_int_equal(crc, fl_crc32(key, variant & P4_CRC_CLIENT ? 2 * len : 2 * len + 5));
	}
}

/* A backend's word and line, field by field. */
static void test_backend(void **state)
{
	static const struct next_hop hop = {.resolved = true,
					    .port = 2,
					    .mtu = 1500,
					    .mac = {2, 0, 0, 0, 0, 9},
					    .source_mac = {2, 0, 0, 0, 0, 1},
					    .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	const struct backends backends = {.encap = &encap_gue};
	const struct fl_address address = image_address("10.1.0.21");
	uint64_t line[P4_LINE_WORDS];
	struct backend backend;

	(void)state;
	backend_fill(&backend, &encap_gue, 1, &address, &hop);
	p4_template(&backend, line);
	assert_int_equal(line[0], 0x0200000000090200);
	assert_int_equal(line[1], backend.outer.sum);
	assert_int_equal(p4_tail(&backend), 0x000000010800);
	assert_int_equal(line[2], 0x0a01000b0a010015);
	assert_int_equal(p4_backend_word(&backends, &backend, 5, 1), 0x030105b400000028); /* room 1500 - 40 */
	backend.removed = 1;
	assert_int_equal(p4_backend_word(&backends, &backend, 5, 1), 0x032105b400000028);
	backend.vlan = 7;
	assert_int_equal(p4_backend_word(&backends, &backend, 5, 1) >> 56, P4_STATE_REFERRED);
	backend.vlan = 0;
	assert_int_equal(p4_backend_word(&backends, &backend, 5, 4) >> 56, P4_STATE_REFERRED);
	backend.state = BACKEND_ABSENT;
	assert_int_equal(p4_backend_word(&backends, &backend, 5, 1), 0);
}

/* What the program leaves to the workers, by a service's settings. */
static void test_kind(void **state)
{
	static const struct kind_row {
		uint16_t mss;
		uint32_t packets_per_second;
		uint64_t bytes_per_second;
		uint8_t tcp, udp; /* of the kind's bits that refer */
	} rows[] = {
	    {0, 0, 0, 0, 0},
	    {1400, 0, 0, P4_KIND_REFER_SYN, 0},
	    {0, 1, 0, P4_KIND_REFER, P4_KIND_REFER},
	    {0, 0, 1, P4_KIND_REFER, P4_KIND_REFER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct service service = {.encap = &encap_gue,
					  .steering = (uint8_t)steering_number(&steering_ring),
					  .mss = rows[i].mss,
					  .packets_per_second = rows[i].packets_per_second,
					  .bytes_per_second = rows[i].bytes_per_second};
		uint8_t refers = P4_KIND_REFER | P4_KIND_REFER_SYN;

		assert_int_equal(p4_kind(&service, IPPROTO_TCP, false, false) & refers, rows[i].tcp);
		assert_int_equal(p4_kind(&service, IPPROTO_UDP, false, false) & refers, rows[i].udp);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_verdicts),
	    cmocka_unit_test(test_crc),
	    cmocka_unit_test(test_backend),
	    cmocka_unit_test(test_kind),
	};

	verdicts_file = argc > 1 ? argv[1] : "verdicts.p4";
	return cmocka_run_group_tests_name("p4 layout", tests, NULL, NULL);
}
