// SPDX-License-Identifier: Apache-2.0
/*
 * Which SYNs the program refuses, by load and by what sockets the host has: what becomes of the packet, byte by byte if
 * it is sent on, and what is counted of it. The policies themselves have their tests in server/tests/test_load.c.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "counters.h"
#include "program.h"
#include "refuse_row.h"
#include "../skeleton.h"
#include "vectors.h"

enum {
	WINDOW = 50,
	SENDERS = 4,
	SENT = 5000, /* by each */
};

static const struct fl_siphash_key key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static struct fl_server *plain, *tagged, *ipv4_only, *never_on; /* the last one sends nothing on */

static void check_counts(struct fl_server *program, const struct refuse_counts *expected)
{
	struct fl_load_state state = rig_load_get(program);

	refuse_check_counts(&state, expected);
}

static void check_row(const struct refuse_row *row, enum rig_family family)
{
	struct fl_list list = refuse_row_list(row, family);
	struct packet_tcp tcp = refuse_row_inner(row, family);
	struct packet packet = refuse_packet(&list, &tcp), sent = packet;
	int action;

	rig_generation_set(plain, RIG_GENERATION);
	rig_load_set(plain, row->setting);
	action = rig_run(plain, &packet);
	rig_check_counted(plain, row->counter);
	assert_int_equal(action, row->counter == FL_COUNTER_CHAIN        ? XDP_TX
				 : row->counter == FL_COUNTER_DROP_STALE ? XDP_DROP
									 : XDP_PASS);
	if (row->counter == FL_COUNTER_CHAIN)
		refuse_row_check_sent_on(row, &sent, &packet);
	check_counts(plain, &row->counts);
}

static void run(void **state)
{
	check_row(*state, RIG_IPV4);
	check_row(*state, RIG_IPV6);
}

/* One more SYN that another server would take, too. Returns whether it was sent on. */
static bool syn_offer(struct fl_server *program)
{
	struct fl_list list = refuse_row_list(&refuse_offer, RIG_IPV4);
	struct packet packet = refuse_packet(&list, &rig_packets(RIG_IPV4)->syn);

	return rig_run(program, &packet) == XDP_TX;
}

/* A SYN like the row's. */
static struct packet syn_of(const struct refuse_row *row)
{
	struct fl_list list = refuse_row_list(row, RIG_IPV4);

	return refuse_packet(&list, &rig_packets(RIG_IPV4)->syn);
}

static void end_check(struct fl_server *program, const struct refuse_row *row, enum fl_counter expected)
{
	struct packet packet = syn_of(row);

	rig_run(program, &packet);
	rig_check_counted(program, expected);
}

/* A server of a family of which this one has no address cannot be sent to. */
static void other_family(void **state)
{
	(void)state;
	rig_load_set(ipv4_only, &refuse_full);
	end_check(ipv4_only, &refuse_offer6, FL_COUNTER_DELIVER_SYN);
	check_counts(ipv4_only, &(struct refuse_counts){.taken = 1});
	end_check(ipv4_only, &refuse_offer, FL_COUNTER_CHAIN);
	check_counts(ipv4_only, &(struct refuse_counts){.passed = 1, .taken = 1});
}

static fl_u64 ticks_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (fl_u64)now.tv_sec * 1000000000 + (fl_u64)now.tv_nsec;
}

/* One SYN has the kernel resolve a neighbour; the others are taken for a second. */
static void silent_neighbour(void **state)
{
	const struct refuse_row *rows[] = {&refuse_silent, &refuse_silent6};
	struct fl_address next;
	struct packet packet;
	size_t i, tries, sent;
	fl_u64 begun = 0;

	(void)state;
	for (i = 0; i < 2; i++) {
		next = packet_address(rows[i]->next);
		for (tries = 0; tries < 100; tries++) { /* until it takes less than the second */
			bpf_map_delete_elem(bpf_map__fd(plain->maps.asked), &next);
			rig_load_set(plain, &refuse_full);
			begun = ticks_ns();
			end_check(plain, rows[i], FL_COUNTER_CHAIN_BY_KERNEL);
			check_counts(plain, &(struct refuse_counts){.passed = 1});
			for (sent = 0; sent < 2; sent++) {
				packet = syn_of(rows[i]);
				rig_run(plain, &packet);
			}
			if (ticks_ns() - begun < 1000000000)
				break;
		}
		check_counts(plain, &(struct refuse_counts){.taken = 2, .passed = 1});
	}
}

static void setting_write(struct fl_server *program, const struct fl_load_setting *setting)
{
	__u32 slot = RIG_SERVICE;

	assert_int_equal(bpf_map_update_elem(bpf_map__fd(program->maps.load_settings), &slot, setting, BPF_ANY), 0);
}

/* A setting counts until its end, by the clock that advances by ticks, which the host of a machine may delay. */
static void expires(void **state)
{
	struct fl_load_setting setting = refuse_full;
	struct timespec now;

	(void)state;
	rig_load_set(plain, NULL);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	setting.until_ns = (fl_u64)now.tv_sec * 1000000000 + (fl_u64)now.tv_nsec + 60000000000;
	setting_write(plain, &setting);
	assert_true(syn_offer(plain));
	setting.until_ns -= 60000000000;
	setting_write(plain, &setting);
	assert_false(syn_offer(plain));
	check_counts(plain, &(struct refuse_counts){.passed = 1});
}

/* What was taken since the reading counts as work, until the next reading. */
static void counts_since_reading(void **state)
{
	struct fl_load_setting setting = {.until_ns = UINT64_MAX, .busy = 2, .threshold = 4, .policy = FL_LOAD_STATIC};

	(void)state;
	rig_load_set(plain, &setting);
	assert_false(syn_offer(plain));
	assert_false(syn_offer(plain));
	assert_true(syn_offer(plain));
	setting.sequence++;
	setting.busy = 3;
	setting_write(plain, &setting);
	assert_false(syn_offer(plain));
	assert_true(syn_offer(plain));
	check_counts(plain, &(struct refuse_counts){.taken = 3, .passed = 2});
}

static void dynamic_adapts(void **state)
{
	struct fl_load_setting setting = {.until_ns = UINT64_MAX,
					  .busy = 2,
					  .threshold = 1,
					  .window = WINDOW,
					  .epsilon = 100,
					  .policy = FL_LOAD_DYNAMIC};
	int i;

	(void)state;
	rig_load_set(plain, &setting);
	for (i = 1; i < 2 * WINDOW; i++)
		assert_true(syn_offer(plain));
	assert_int_equal(rig_load_get(plain).threshold, 2);
	assert_false(syn_offer(plain)); /* the second window's last: now the threshold is 3 */
	assert_int_equal(rig_load_get(plain).threshold, 3);
	for (i = 0; i < WINDOW; i++) {
		setting.busy = 0;
		setting.sequence++;
		setting_write(plain, &setting);
		assert_false(syn_offer(plain));
	}
	assert_int_equal(rig_load_get(plain).threshold, 2);
	check_counts(plain, &(struct refuse_counts){.taken = WINDOW + 1, .passed = 2 * WINDOW - 1});
}

static void another_service(void **state)
{
	struct fl_list list = refuse_row_list(&refuse_offer, RIG_IPV4);
	struct packet packet;

	(void)state;
	rig_load_set(plain, &refuse_full);
	list.service = RIG_SERVICE + 1;
	packet = refuse_packet(&list, &rig_packets(RIG_IPV4)->syn);
	assert_int_equal(rig_run(plain, &packet), XDP_PASS);
	rig_check_counted(plain, FL_COUNTER_DELIVER_SYN);
	check_counts(plain, &(struct refuse_counts){0});
}

/* A packet of a stranger is dropped before anybody is asked. */
static void untrusted(void **state)
{
	struct fl_list list = refuse_row_list(&refuse_offer, RIG_IPV4);
	struct packet packet = refuse_packet(&list, &rig_packets(RIG_IPV4)->syn);
	fl_u8 *ip = packet.data + PACKET_OUTER_AT;

	(void)state;
	rig_load_set(plain, &refuse_full);
	fl_store_be32(ip + 12, 0xc0000201);
	fl_store_be16(ip + 10, 0);
	fl_store_be16(ip + 10, packet_checksum(ip, 20, 0));
	assert_int_equal(rig_run(plain, &packet), XDP_DROP);
	rig_check_counted(plain, FL_COUNTER_DROP_UNTRUSTED_SENDER);
	check_counts(plain, &(struct refuse_counts){0});
}

/* Where packets are not sent on, nothing is refused. */
static void without_chaining(void **state)
{
	(void)state;
	rig_load_set(never_on, &refuse_full);
	assert_false(syn_offer(never_on));
	rig_check_counted(never_on, FL_COUNTER_DELIVER_SYN);
	check_counts(never_on, &(struct refuse_counts){.unasked = 1});
}

static struct packet tagged_make(fl_u64 change)
{
	struct fl_list list = refuse_row_list(&refuse_offer, RIG_IPV4);
	const struct packet_tcp *syn = &rig_packets(RIG_IPV4)->syn;
	struct fl_siphash_key own = fl_list_key(&key, RIG_SERVICE);
	struct fl_address self = packet_address(RIG_SELF);
	struct packet inner = {.len = 0};
	struct fl_list_message message;

	packet_add_tcp(&inner, syn);
	list.flags |= FL_LIST_TAG;
	assert_true(fl_list_tag_message(&list, &self, inner.data, inner.data + inner.len, &message));
	fl_store_be64(list.tag, fl_list_tag(&own, &message) ^ change);
	return refuse_packet(&list, syn);
}

/* It stays right, as it covers the order of the list. */
static void tag_stays(void **state)
{
	struct packet packet = tagged_make(0), sent = packet;

	(void)state;
	rig_load_set(tagged, &refuse_full);
	assert_int_equal(rig_run(tagged, &packet), XDP_TX);
	rig_check_counted(tagged, FL_COUNTER_CHAIN);
	refuse_row_check_sent_on(&refuse_offer, &sent, &packet);
	check_counts(tagged, &(struct refuse_counts){.passed = 1});
}

static void tag_is_wrong(void **state)
{
	struct packet packet = tagged_make(1);

	(void)state;
	rig_load_set(tagged, &refuse_full);
	assert_int_equal(rig_run(tagged, &packet), XDP_DROP);
	rig_check_counted(tagged, FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	check_counts(tagged, &(struct refuse_counts){0});
}

/* SYNs as one CPU sees them, without looking at counters. */
static void *offers_send(void *packet)
{
	const struct packet *syn = packet;
	struct xdp_md context = {.data_end = (__u32)syn->len, .ingress_ifindex = rig_interface()};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = syn->data, .data_size_in = (__u32)syn->len,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = 1);
	int i;

	for (i = 0; i < SENT; i++) {
		options.data_size_out = 0; /* or the last packet's size is the limit of this one's */
		if (bpf_prog_test_run_opts(bpf_program__fd(plain->progs.fairlead_server), &options))
			return packet;
	}
	return NULL;
}

/* Several CPUs at once count every offer, and take no more than the threshold and one each. */
static void many_at_once(void **state)
{
	struct fl_load_setting setting = {.threshold = 1000, .sequence = 1, .policy = FL_LOAD_STATIC};
	struct fl_list list = refuse_row_list(&refuse_offer, RIG_IPV4);
	struct packet packet = refuse_packet(&list, &rig_packets(RIG_IPV4)->syn);
	pthread_t senders[SENDERS];
	struct fl_load_state counted;
	void *failed;
	int i;

	(void)state;
	rig_load_set(plain, &setting);
	for (i = 0; i < SENDERS; i++)
		assert_int_equal(pthread_create(&senders[i], NULL, offers_send, &packet), 0);
	for (i = 0; i < SENDERS; i++) {
		pthread_join(senders[i], &failed);
		assert_null(failed);
	}
	counted = rig_load_get(plain);
	assert_int_equal(fl_load_offered(&counted), SENDERS * SENT);
	assert_in_range(counted.taken, setting.threshold, setting.threshold + SENDERS - 1);
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"a setting expires", expires},
	    {"what was taken since the reading counts", counts_since_reading},
	    {"dynamic adapts", dynamic_adapts},
	    {"another service is busy", another_service},
	    {"a stranger's SYN is no offer", untrusted},
	    {"without chaining nothing is refused", without_chaining},
	    {"a server of another family is not sent to", other_family},
	    {"a neighbour that does not answer", silent_neighbour},
	    {"a SYN that is sent on keeps its tag", tag_stays},
	    {"a SYN with a wrong tag is no offer", tag_is_wrong},
	    {"many at once", many_at_once},
	};
	struct config config = rig_config_both();
	struct vectors_tests tests = {NULL, 0};
	size_t i;
	int failed;

	rig_open();
	plain = rig_load(&config);
	config = rig_config();
	ipv4_only = rig_load(&config);
	config = rig_config_both();
	config.program.chaining = 0;
	never_on = rig_load(&config);
	config.program.chaining = 1;
	rig_tag(&config, &key);
	tagged = rig_load(&config);
	for (i = 0; refuse_rows[i].name; i++)
		vectors_add_plain(&tests, refuse_rows[i].name, run, (void *)(uintptr_t)&refuse_rows[i]);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("refusing by the XDP program", &tests);
	program_close(plain);
	program_close(ipv4_only);
	program_close(never_on);
	program_close(tagged);
	return failed;
}
