/* SPDX-License-Identifier: Apache-2.0 */
/* The debug mode that compares paths: what it compares, what it sees, and that it leaves the burst alone. */
#include <netinet/in.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "packet/path_check.h"
#include "service/tables.h"
#include "steering/maat/maat.h"
#include "frame.h"
#include "image.h"

enum { NOW = 1700000000, COUNT = 16 };

static struct tables *serve(const struct steering *steering)
{
	struct service_config config = image_config(1, "10.99.0.1", 256);
	struct delta snapshot = image_snapshot(1, 3, 256, 6);
	struct tables *tables = tables_new(1, &image_hops);
	struct service *service;
	struct reason why;

	if (steering)
		config.steering = steering;
	config.maat = (struct maat_settings){MAAT_PACKETS, 10, 1000, 1024, 2};
	assert_non_null(tables);
	assert_int_equal(tables_add(tables, &config, &service, &why), 0);
	assert_int_equal(tables_load(tables, service, &snapshot, NULL, &why), 0);
	image_free(&snapshot);
	return tables;
}

/* How a path may fail; `steer` for path_check(). */
static void one_byte(struct burst *burst)
{
	burst_steer(burst);
	rte_pktmbuf_mtod(burst->mbufs[3], uint8_t *)[20] ^= 1;
}

static void one_length(struct burst *burst)
{
	burst_steer(burst);
	burst->mbufs[5]->pkt_len++;
}

static void one_verdict(struct burst *burst)
{
	burst_steer(burst);
	burst->packets[7].verdict = VERDICT_IP_TTL;
}

static void one_port(struct burst *burst)
{
	burst_steer(burst);
	burst->packets[0].port++;
}

static struct path_check_result check_of(const struct steering *steering, uint32_t long_frames,
					 void (*steer)(struct burst *))
{
	struct tables *tables = serve(steering);
	struct path_check *check = path_check_new();
	struct burst burst = {.lookup = tables_lookup(tables), .mac = mac_word(frame_mac), .now = NOW};
	struct path_check_result result;
	struct frame frames[COUNT];

	assert_non_null(check);
	for (uint32_t i = 0; i < COUNT; i++) {
		struct flow flow = frame_flow(IPPROTO_TCP);

		flow.source_port = (uint16_t)(1 + i);
		frames[i] = frame_new(&flow, 20);
		burst.mbufs[burst.count++] = frame_wrap_with(&frames[i], i < long_frames ? PATH_CHECK_FRAME_MAX : 0);
		if (i < long_frames) {
			burst.mbufs[i]->data_len = PATH_CHECK_FRAME_MAX + 1;
			burst.mbufs[i]->pkt_len = PATH_CHECK_FRAME_MAX + 1;
		}
	}
	result = path_check(check, &burst, steer);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_memory_equal(rte_pktmbuf_mtod(burst.mbufs[i], const uint8_t *), frames[i].bytes, frames[i].len);
		assert_int_equal(burst.mbufs[i]->data_off, FRAME_HEADROOM);
		frame_unwrap(burst.mbufs[i]);
	}
	path_check_free(check);
	tables_free(tables);
	return result;
}

static void differences_are_counted(void **state)
{
	static const struct {
		void (*steer)(struct burst *);
		uint32_t differ;
	} cases[] = {{burst_steer, 0}, {one_byte, 1}, {one_length, 1}, {one_verdict, 1}, {one_port, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct path_check_result result = check_of(NULL, 0, cases[i].steer);

		assert_int_equal(result.packets, COUNT);
		assert_int_equal(result.differ, cases[i].differ);
	}
}

/* A method that counts packets would count their copies. */
static void packets_that_count_are_left_out(void **state)
{
	(void)state;
	assert_int_equal(check_of(&steering_maat, 0, burst_steer).packets, 0);
}

static void long_frames_are_left_out(void **state)
{
	(void)state;
	assert_int_equal(check_of(NULL, 3, burst_steer).packets, COUNT - 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(differences_are_counted),
	    cmocka_unit_test(packets_that_count_are_left_out),
	    cmocka_unit_test(long_frames_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
