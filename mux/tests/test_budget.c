/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets of services: token buckets against a sum over time, and what becomes of a burst. */
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "flow/service.h"
#include "service/registry.h"
#include "threads/budget.h"

enum { START_MS = 1000000, RUN_MAX = 32, FRAME_MAX = 1500 };

static void test_rows(void **state)
{
	static const struct row {
		struct budget_rates rates;
		uint64_t after_ms; /* the row before */
		uint32_t packets, bytes;
		bool passes;
	} rows[] = {
	    {{10000, 0}, 0, 32, 48000, true}, /* full at first: 1,000 packets */
	    {{10000, 0}, 0, 968, 1, true},    /* 0 are left */
	    {{10000, 0}, 0, 1, 1, false},
	    {{10000, 0}, 1, 32, 1, true}, /* 10 are; a run passes whole, and 22 are owed */
	    {{10000, 0}, 2, 1, 1, false},
	    {{10000, 0}, 1, 1, 1, true},
	    {{10000, 100000}, 1000, 1, 10000, true}, /* both are full: 10,000 bytes */
	    {{10000, 100000}, 0, 1, 1, false},       /* of bytes none is left */
	    {{10000, 0}, 0, 1, 1, true},             /* which no longer counts */
	    {{0, 0}, 0, 1000000, 1000000000, true},
	    {{1, 0}, 1000, 1, 1, true}, /* a tenth of a packet, and 0.9 are owed */
	    {{1, 0}, 899, 1, 1, false},
	    {{1, 0}, 2, 1, 1, false},
	    {{1000000000, 1000000000000}, 100, 32, 48000, true},
	};
	struct budget budget = {0};
	uint64_t now = START_MS;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		now += rows[i].after_ms;
		if (budget_take(&budget, &rows[i].rates, rows[i].packets, rows[i].bytes, now) != rows[i].passes)
			fail_msg("row %zu: should be %d", i, rows[i].passes);
	}
}

/* Over any time no more passes than the rate, the depth and one run; and under pressure not much less. */
static void test_rate(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct budget_rates rates = {1 + (uint64_t)rand_r(&seed) % 2000000,
					     1 + (uint64_t)rand_r(&seed) % 2000000000};
		struct budget budget = {0};
		uint64_t now = START_MS, packets = 0, bytes = 0, elapsed;
		bool is_refused = false;

		for (int i = 0; i < 20000; i++) {
			uint32_t run = 1 + (uint32_t)rand_r(&seed) % RUN_MAX,
				 size = run * (40 + (uint32_t)rand_r(&seed) % (FRAME_MAX - 40));
			bool passes = budget_take(&budget, &rates, run, size, now);

			packets += passes ? run : 0;
			bytes += passes ? size : 0;
			is_refused |= !passes;
			now += (uint64_t)rand_r(&seed) % 100 ? 0 : 1;
		}
		elapsed = now - START_MS + BUDGET_DEPTH_MS;
		assert_true(packets * 1000 <= rates.packets * elapsed + RUN_MAX * 1000);
		assert_true(bytes * 1000 <= rates.bytes * elapsed + (uint64_t)RUN_MAX * FRAME_MAX * 1000);
		if (is_refused) /* one of both is used up */
			assert_true(packets * 1000 + 4 * RUN_MAX * 1000 + rates.packets * 2 >=
					rates.packets * (now - START_MS) ||
				    bytes * 1000 + (uint64_t)4 * RUN_MAX * FRAME_MAX * 1000 + rates.bytes * 2 >=
					rates.bytes * (now - START_MS));
	}
}

static struct service *service_at(uint16_t slot, uint32_t packets, uint64_t bytes)
{
	struct service *service = aligned_alloc(_Alignof(struct service), sizeof(*service));

	assert_non_null(service);
	memset(service, 0, sizeof(*service));
	service->slot = slot;
	service->packets_per_second = packets;
	service->bytes_per_second = bytes;
	return service;
}

/* Of each service: passed packets of a burst in which packets of three services take turns, and others lie between. */
static void test_burst(void **state)
{
	struct service *services[] = {service_at(0, 0, 0), service_at(1, 40, 0), service_at(4095, 0, 8000)};
	struct budget *budgets = calloc(REGISTRY_SERVICES_MAX, sizeof(*budgets));
	struct burst *burst = aligned_alloc(_Alignof(struct burst), sizeof(*burst));
	uint32_t passed[3] = {0};

	(void)state;
	assert_non_null(budgets);
	assert_non_null(burst);
	memset(burst, 0, sizeof(*burst));
	burst->count = BURST_MAX;
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		burst->packets[i].verdict = i % 4 == 3 ? VERDICT_IP_TTL : VERDICT_SERVICE;
		burst->packets[i].service = i % 4 == 3 ? NULL : services[i % 4];
		burst->packets[i].ip_len = 100;
	}
	budgets_apply(budgets, 1, burst, START_MS);
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		if (i % 4 == 3)
			assert_int_equal(burst->packets[i].verdict, VERDICT_IP_TTL);
		else if (burst->packets[i].verdict == VERDICT_SERVICE)
			passed[i % 4]++;
		else
			assert_int_equal(burst->packets[i].verdict, VERDICT_OVER_BUDGET);
	}
	assert_int_equal(passed[0], BURST_MAX / 4);
	assert_int_equal(passed[1], 4); /* 40 a second are 4 in 100 ms */
	assert_int_equal(passed[2], 8); /* 800 bytes */
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		burst->packets[i].verdict = VERDICT_SERVICE;
		burst->packets[i].service = services[1];
	}
	budgets_apply(budgets, 4, burst, START_MS + 200); /* a quarter each; one run, which passes whole */
	for (uint32_t i = 0; i < BURST_MAX; i++)
		assert_int_equal(burst->packets[i].verdict, VERDICT_SERVICE);
	budgets_apply(budgets, 4, burst, START_MS + 200);
	for (uint32_t i = 0; i < BURST_MAX; i++)
		assert_int_equal(burst->packets[i].verdict, VERDICT_OVER_BUDGET);
	burst->count = 0;
	budgets_apply(budgets, 4, burst, START_MS + 200);
	for (int i = 0; i < 3; i++)
		free(services[i]);
	free(budgets);
	free(burst);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_rate),
	    cmocka_unit_test(test_burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
