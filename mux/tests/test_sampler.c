/* SPDX-License-Identifier: Apache-2.0 */
/* What the sampler takes of a burst: filters, the rate over time, the limit of its ring; the clock is injected. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_rcu_qsbr.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "observe/pcapng.h"
#include "observe/sampler.h"
#include "steering/othello/othello.h"
#include "steering/othello/pair.h"
#include "steering/steering.h"
#include "frame.h"
#include "image.h"

enum { BUCKETS = 256, PORT = 5, OUT = 2, SECOND = 1000, START = 77777, NOW = 1700000100, RECORDINGS = 500 };

static struct next_hop hop = {.resolved = true,
			      .port = OUT,
			      .mtu = 1600,
			      .source_mac = {2, 0, 0, 0, 0, 1},
			      .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
static const struct next_hops hops = {.context = &hop, .lookup = image_hop};

struct fixture {
	struct tables *tables;
	struct sampler *sampler;
	struct counters *counters;
	struct burst burst;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct service_config config = image_config(3, "10.99.0.1", BUCKETS);
	struct delta snapshot = image_snapshot(3, 9, BUCKETS, 50);
	struct service *service;
	struct reason why;

	assert_non_null(f);
	f->tables = tables_new(2, &hops);
	f->counters = counters_new(2);
	f->sampler = sampler_new(2, f->tables, &why);
	config.vips_count = 2;
	config.vips[1] = image_address("2001:db8:99::1");
	assert_int_equal(tables_add(f->tables, &config, &service, &why), 0);
	assert_int_equal(tables_load(f->tables, service, &snapshot, NULL, &why), 0);
	image_free(&snapshot);
	*state = f;
	return 0;
}

/* Another service, whose arrays give nearly every packet two buckets. */
static void add_othello(struct fixture *f)
{
	struct service_config config = image_config(4, "10.99.0.2", BUCKETS);
	struct delta snapshot = image_snapshot(4, 9, BUCKETS, 50);
	struct chance chance = {1};
	struct service *service;
	struct reason why;

	snprintf(config.name, sizeof(config.name), "othello");
	config.steering = &steering_othello;
	assert_int_equal(tables_add(f->tables, &config, &service, &why), 0);
	assert_int_equal(
	    tables_load(f->tables, service, &snapshot,
			othello_pair_new(image_arrays(&chance, 9, 64, 64, config.hash, BUCKETS), NULL, true), &why),
	    0);
	image_free(&snapshot);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sampler_free(f->sampler);
	counters_free(f->counters);
	tables_free(f->tables);
	free(f);
	return 0;
}

/* A burst of one frame, steered and shown to the sampler as a worker does. */
static void look(struct fixture *f, unsigned worker, const struct frame *frame)
{

	f->burst.lookup = tables_lookup(f->tables);
	f->burst.mac = mac_word(frame_mac);
	f->burst.now = NOW;
	f->burst.count = 1;
	f->burst.mbufs[0] = frame_wrap(frame);
	burst_steer(&f->burst);
	sampler_look(f->sampler, worker, &f->burst, PORT, counters_of(f->counters, worker));
	frame_unwrap(f->burst.mbufs[0]);
}

static uint64_t counted(const struct fixture *f, enum sample_result result)
{
	return counters_samples(f->counters, result);
}

/* All verdicts, at a rate that gives enough tokens at once. */
static void start(struct fixture *f, struct sample_filter filter)
{
	filter.verdicts = filter.verdicts ? filter.verdicts : ~0ULL;
	filter.rate = filter.rate ? filter.rate : 10000;
	sampler_start(f->sampler, &filter, START);
	sampler_refill(f->sampler, START + SECOND);
}

static void a_sample_has_both_buckets(void **state)
{
	struct fixture *f = *state;
	struct flow flow = frame_flow(IPPROTO_TCP);
	unsigned seconds = 0;

	add_othello(f);
	start(f, (struct sample_filter){0});
	flow.destination = image_address("10.99.0.2");
	for (uint16_t port = 1024; port < 1088; port++) {
		struct explanation e;
		struct sample sample;
		struct frame frame;

		flow.source_port = port;
		frame = frame_new(&flow, 100);
		look(f, 0, &frame);
		assert_true(sampler_take(f->sampler, &sample));
		assert_int_equal(service_explain(registry_find_id(&f->tables->registry, 4), &flow, &e), 0);
		assert_int_equal(sample.bucket, e.first.bucket);
		assert_int_equal(sample.second, e.second.bucket);
		if (e.second.bucket != RING_BUCKET_NONE)
			assert_int_equal(sample.second_backend, e.second.current.id);
		seconds += sample.second != RING_BUCKET_NONE;
	}
	assert_true(seconds > 32);
}

static void a_sample_says_what_explain_says(void **state)
{
	struct fixture *f = *state;
	struct flow flow = frame_flow(IPPROTO_TCP);
	struct frame frame = frame_new(&flow, 1000);
	struct explanation e;
	struct sample sample;

	look(f, 0, &frame);
	assert_false(sampler_take(f->sampler, &sample)); /* there is no recording */
	start(f, (struct sample_filter){0});
	look(f, 1, &frame);
	assert_true(sampler_take(f->sampler, &sample));
	assert_int_equal(service_explain(registry_find_id(&f->tables->registry, 3), &flow, &e), 0);
	assert_int_equal(sample.verdict, VERDICT_SERVICE);
	assert_true(sample.outbound && sample.has_row && !sample.former);
	assert_int_equal(sample.service, 3);
	assert_int_equal(sample.bucket, e.first.bucket);
	assert_int_equal(sample.backend, e.first.current.id);
	assert_int_equal(sample.second, RING_BUCKET_NONE);
	assert_int_equal(sample.generation, 9);
	assert_int_equal(sample.port, OUT);
	assert_int_equal(sample.worker, 1);
	assert_int_equal(sample.len, frame.len + 40);
	assert_int_equal(sample.captured, SAMPLER_CAPTURED_MAX);
	assert_memory_equal(sample.data + 14 + 40, frame.bytes + FRAME_AT_IP, SAMPLER_CAPTURED_MAX - 14 - 40);

	frame.bytes[FRAME_AT_IP + 8] = 0;
	frame_fix_checksum(&frame);
	look(f, 0, &frame);
	assert_true(sampler_take(f->sampler, &sample));
	assert_int_equal(sample.verdict, VERDICT_IP_TTL);
	assert_true(!sample.outbound && !sample.has_row && !sample.service);
	assert_int_equal(sample.port, PORT);
	assert_memory_equal(sample.data, frame.bytes, SAMPLER_CAPTURED_MAX);
	sampler_stop(f->sampler);
	look(f, 0, &frame);
	assert_int_equal(counted(f, SAMPLE_TAKEN), 2);
}

static void filters(void **state)
{
	static const uint8_t tags[] = {0x88, 0xa8, 0, 7, 0x81, 0, 0, 5};
	struct fixture *f = *state;
	struct flow flow = frame_flow(IPPROTO_TCP), flow6 = frame_flow6(IPPROTO_TCP);
	struct frame good = frame_new(&flow, 5), good6 = frame_new(&flow6, 5), tagged, bad, runt = {.len = 20};
	const struct {
		const char *name;
		struct sample_filter filter;
		bool good, good6, tagged, bad, runt;
	} rows[] = {
	    {"all", {0}, true, true, true, true, true},
	    {"verdict", {.verdicts = 1ULL << VERDICT_IP_TTL}, false, false, false, true, false},
	    {"service", {.service = 3}, true, true, true, false, false},
	    {"another service", {.service = 4}, false, false, false, false, false},
	    {"source", {.source = flow.source}, true, false, true, true, false},
	    {"source6", {.source = flow6.source}, false, true, false, false, false},
	    {"destination", {.source = flow.destination}, false, false, false, false, false},
	};

	tagged = good;
	frame_insert(&tagged, 12, tags, sizeof(tags));
	bad = tagged;
	bad.bytes[FRAME_AT_IP + sizeof(tags) + 8] = 0;
	{
		/* the checksum of a header without a lifetime: 64 less in the word of TTL and protocol */
		uint8_t *sum = bad.bytes + FRAME_AT_IP + sizeof(tags) + 10;
		uint32_t more = fl_load_be16(sum) + (64U << 8);

		fl_store_be16(sum, (uint16_t)((more & 0xffff) + (more >> 16)));
	}
	memcpy(runt.bytes, good.bytes, runt.len);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct frame *frames[] = {&good, &good6, &tagged, &bad, &runt};
		const bool wanted[] = {rows[i].good, rows[i].good6, rows[i].tagged, rows[i].bad, rows[i].runt};

		start(f, rows[i].filter);
		for (int at = 0; at < 5; at++) {
			struct sample sample;

			look(f, 0, frames[at]);
			if (sampler_take(f->sampler, &sample) != wanted[at])
				fail_msg("filter %s, frame %d", rows[i].name, at);
		}
		sampler_stop(f->sampler);
	}
}

/* Regardless of traffic and refills: at most rate x seconds, and exactly that if enough packets arrive. */
static void the_rate_is_a_limit(void **state)
{
	struct fixture *f = *state;
	struct flow flow = frame_flow(IPPROTO_UDP);
	struct frame frame = frame_new(&flow, 5);
	struct chance chance = {20261122};
	static const uint32_t rates[] = {1, 7, 100, 1000};

	for (int r = 0; r < 4; r++) {
		struct sample_filter filter = {.verdicts = ~0ULL, .rate = rates[r]};
		uint64_t before = counted(f, SAMPLE_TAKEN), limited = counted(f, SAMPLE_LIMITED), now = START,
			 looked = 0;
		struct sample sample;

		sampler_start(f->sampler, &filter, START);
		while (now < START + 5 * SECOND) {
			for (uint32_t n = 0; n < 40; n++, looked++)
				look(f, n & 1, &frame);
			while (sampler_take(f->sampler, &sample))
				;
			assert_true(counted(f, SAMPLE_TAKEN) - before <= (now - START) * rates[r] / SECOND);
			now += chance_below(&chance, 40);
			sampler_refill(f->sampler, now);
		}
		sampler_stop(f->sampler);
		assert_in_range(counted(f, SAMPLE_TAKEN) - before, 5 * rates[r] * 9 / 10, 5 * rates[r]);
		assert_int_equal(counted(f, SAMPLE_TAKEN) - before + counted(f, SAMPLE_LIMITED) - limited, looked);
	}
}

static void a_pause_allows_no_larger_burst(void **state)
{
	struct fixture *f = *state;
	struct flow flow = frame_flow(IPPROTO_UDP);
	struct frame frame = frame_new(&flow, 5);
	struct sample_filter filter = {.verdicts = ~0ULL, .rate = 100};

	sampler_start(f->sampler, &filter, START);
	sampler_refill(f->sampler, START + 60 * SECOND);
	for (int i = 0; i < 100; i++)
		look(f, 0, &frame);
	assert_int_equal(counted(f, SAMPLE_TAKEN), 11); /* a tenth of a second's */
	sampler_stop(f->sampler);
}

static void samples_that_do_not_fit_the_ring_are_counted(void **state)
{
	struct fixture *f = *state;
	struct flow flow = frame_flow(IPPROTO_UDP);
	struct frame frame = frame_new(&flow, 5);
	struct sample sample;
	uint32_t taken = 0;

	start(f, (struct sample_filter){.rate = 1000000});
	for (int i = 0; i < 2 * SAMPLER_RING; i++)
		look(f, 0, &frame);
	look(f, 1, &frame); /* another worker has its own */
	assert_int_equal(counted(f, SAMPLE_TAKEN), SAMPLER_RING);
	assert_int_equal(counted(f, SAMPLE_FULL), SAMPLER_RING + 1);
	sampler_stop(f->sampler);
	start(f, (struct sample_filter){0});
	assert_false(sampler_take(f->sampler, &sample)); /* those of the last recording are discarded */
	look(f, 0, &frame);
	while (sampler_take(f->sampler, &sample))
		taken++;
	assert_int_equal(taken, 1);
	sampler_stop(f->sampler);
}

struct worker {
	struct fixture *f;
	bool stop; /* atomic */
};

/* What a worker does, as far as the sampler is concerned. */
static void *work(void *argument)
{
	struct worker *worker = argument;
	struct rte_rcu_qsbr *rcu = tables_rcu(worker->f->tables);
	struct flow flow = frame_flow(IPPROTO_TCP);

	rte_rcu_qsbr_thread_register(rcu, 1);
	rte_rcu_qsbr_thread_online(rcu, 1);
	while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED)) {
		struct frame frame;

		flow.source_port = (uint16_t)(1024 + (flow.source_port + 1) % 60000);
		frame = frame_new(&flow, 100);
		look(worker->f, 1, &frame);
		rte_rcu_qsbr_quiescent(rcu, 1);
	}
	rte_rcu_qsbr_thread_offline(rcu, 1);
	rte_rcu_qsbr_thread_unregister(rcu, 1);
	return NULL;
}

/* Recordings start and stop, with different filters, while a worker runs: each sample is whole, of its recording. */
static void a_worker_runs_while_recordings_start_and_stop(void **state)
{
	struct worker worker = {.f = *state};
	struct sampler *sampler = worker.f->sampler;
	uint32_t taken = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, work, &worker), 0);
	for (uint32_t i = 0; i < RECORDINGS; i++) {
		uint16_t service = i % 2 ? 3 : 4; /* no service has the other id */
		struct sample sample;

		start(worker.f, (struct sample_filter){.service = service});
		for (uint32_t n = 0; n < 3;) {
			sampler_refill(sampler, START + SECOND + 100 * (i + n));
			if (service == 4) {
				assert_false(sampler_take(sampler, &sample));
				n++;
			} else if (sampler_take(sampler, &sample)) {
				assert_int_equal(sample.verdict, VERDICT_SERVICE);
				assert_int_equal(sample.backend, 1 + sample.bucket % 50);
				assert_memory_equal(sample.data + 14, "\x45", 1);
				taken++;
				n++;
			}
		}
		sampler_stop(sampler);
	}
	__atomic_store_n(&worker.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_in_range(taken, 3 * RECORDINGS / 2, 3 * RECORDINGS);
}

static void a_block_fits_or_is_not_written(void **state)
{
	static const uint8_t data[7] = "packet";
	const struct pcapng_packet packet = {
	    .len = 9, .captured = sizeof(data), .data = data, .direction = PCAPNG_INBOUND, .comment = "verdict=x"};
	uint8_t out[256];
	size_t len = pcapng_packet(out, sizeof(out), &packet);

	(void)state;
	assert_int_equal(len, 28 + 8 + (4 + 4) + (4 + 12) + 4 + 4);
	for (size_t room = 0; room <= len; room++) {
		memset(out, 0xee, sizeof(out));
		assert_int_equal(pcapng_packet(out, room, &packet), room < len ? 0 : len);
		for (size_t i = room; i < sizeof(out); i++)
			assert_int_equal(out[i], 0xee);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_sample_says_what_explain_says, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_sample_has_both_buckets, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(filters, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(the_rate_is_a_limit, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_pause_allows_no_larger_burst, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(samples_that_do_not_fit_the_ring_are_counted, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_worker_runs_while_recordings_start_and_stop, set_up, tear_down),
	    cmocka_unit_test(a_block_fits_or_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
