// SPDX-License-Identifier: Apache-2.0
/*
 * Tags that the XDP program remembers: right ones vouch for their own packet and for no
 * other, whichever byte of it is changed, and no other tag vouches for it; and by which key a tag is checked. (All rows of
 * `tags`: list_vectors.c.)
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include <linux/bpf.h>

#include "../skeleton.h"
#include "list_packet.h"
#include "program.h"
#include "vectors.h"

static const struct fl_siphash_key cluster = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static struct fl_server *program;
static struct config config;

/* A packet with this list, right or not, and the right tag of a key. */
static struct packet tagged_make(struct fl_list list, const struct fl_siphash_key *key, const struct packet_tcp *tcp)
{
	bool is_ipv6 = list.flags & FL_LIST_IPV6;
	struct fl_address self = packet_address(is_ipv6 ? RIG_SELF6 : RIG_SELF);
	struct packet packet, inner = {.len = 0};
	struct fl_list_message message;
	fl_u8 gue[FL_LIST_MAX_LEN];

	packet_add_tcp(&inner, tcp);
	list.flags |= FL_LIST_TAG;
	assert_true(fl_list_tag_message(&list, &self, inner.data, inner.data + inner.len, &message));
	fl_store_be64(list.tag, fl_list_tag(key, &message));
	list_packet_begin(&packet, &self);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	packet_add_bytes(&packet, inner.data, inner.len);
	packet_finish_outer(&packet);
	return packet;
}

static enum fl_counter send_it(const struct packet *packet)
{
	struct packet sent = *packet;

	rig_run(program, &sent);
	return rig_counter_bumped(program);
}

/* How many tags the program remembers. */
static unsigned int remembered_count(void)
{
	size_t size = bpf_map__value_size(program->maps.tags);
	int cpus = libbpf_num_possible_cpus(), map = bpf_map__fd(program->maps.tags), cpu;
	char *values = calloc((size_t)cpus, size);
	unsigned int count = 0;
	__u32 slot;

	assert_non_null(values);
	for (slot = 0; slot < bpf_map__max_entries(program->maps.tags); slot++) {
		assert_int_equal(bpf_map_lookup_elem(map, &slot, values), 0);
		for (cpu = 0; cpu < cpus; cpu++) {
			fl_u64 tag; /* the value's last word */

			memcpy(&tag, values + ((size_t)cpu + 1) * size - sizeof(tag), sizeof(tag));
			count += tag != 0;
		}
	}
	free(values);
	return count;
}

/* Each byte that the tag covers, and each of the tag, is changed once the tag is remembered. */
static void check_each_byte(struct fl_list list, enum rig_family inner)
{
	struct fl_siphash_key key = fl_list_key(&cluster, RIG_SERVICE);
	const struct packet_tcp *tcp = &rig_packets(inner)->established;
	struct packet packet = tagged_make(list, &key, tcp);
	size_t gue_at = list_packet_gue_at(&packet), header = fl_list_len(list.count, list.flags | FL_LIST_TAG), at;
	size_t source = gue_at + header + (inner == RIG_IPV4 ? 12U : 8U);

	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	for (at = gue_at + FL_LIST_AT_SERVICE; at < gue_at + header; at++) {
		packet.data[at] ^= 0x55;
		assert_int_equal(send_it(&packet), FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
		packet.data[at] ^= 0x55;
	}
	/* of the source's last 4 bytes, the place among the remembered is the same for two of 1024 */
	for (at = source; at < source + (inner == RIG_IPV4 ? 8U : 32U); at++) {
		packet.data[at] ^= 0x55;
		assert_int_equal(send_it(&packet), FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
		packet.data[at] ^= 0x55;
	}
	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_LOCAL_SOCKET);
}

static void each_byte(void **state)
{
	static const char *const names[] = {"10.1.0.21", "10.1.0.23", "10.1.0.24",
					    "10.1.0.12", "10.1.0.1",  "10.1.0.11"};
	int inner, is_ipv6;
	fl_u8 count;

	(void)state;
	for (inner = 0; inner < RIG_FAMILIES; inner++)
		for (is_ipv6 = 0; is_ipv6 <= 1; is_ipv6++)
			for (count = 0; count <= FL_LIST_MAX; count++) {
				struct fl_list list = rig_list((enum rig_family)inner);
				fl_u8 i;

				list.flags = is_ipv6 ? FL_LIST_IPV6 : 0;
				list.count = count;
				list.left = count / 2;
				for (i = 0; i < count; i++)
					list.candidate[i] = packet_address(names[i]);
				check_each_byte(list, (enum rig_family)inner);
			}
}

/* LATE and what is left change on the way. */
static void what_changes_on_the_way(void **state)
{
	struct fl_siphash_key key = fl_list_key(&cluster, RIG_SERVICE);
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet packet = tagged_make(list, &key, &rig_packets(RIG_IPV4)->established);

	(void)state;
	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	packet.data[PACKET_GUE_AT + FL_LIST_AT_FLAGS] |= FL_LIST_LATE;
	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_LOCAL_SOCKET);
}

/* One place is of one connection, and a wrong tag takes none. */
static void places(void **state)
{
	struct fl_siphash_key key = fl_list_key(&cluster, RIG_SERVICE);
	struct packet packet = tagged_make(rig_list(RIG_IPV4), &key, &rig_packets(RIG_IPV4)->syn);
	unsigned int before;

	(void)state;
	program_close(program);
	program = rig_load(&config);
	assert_int_equal(remembered_count(), 0);
	packet.data[PACKET_GUE_AT + FL_LIST_AT_CANDIDATES] ^= 1; /* of the tag */
	assert_int_equal(send_it(&packet), FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	assert_int_equal(remembered_count(), 0);
	packet.data[PACKET_GUE_AT + FL_LIST_AT_CANDIDATES] ^= 1;
	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_SYN);
	before = remembered_count();
	assert_int_equal(before, 1);
	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_SYN);
	assert_int_equal(remembered_count(), before);
}

/* By KEY, while the cluster's key is replaced: each of two clusters' keys with its own bit only. */
static void two_keys(void **state)
{
	const struct fl_siphash_key next = {cluster.k0 ^ 1, cluster.k1};
	const struct keys_file file = {.is_cluster = true, .cluster = {{cluster, next}}};
	struct fl_siphash_key keys[2] = {fl_list_key(&cluster, RIG_SERVICE), fl_list_key(&next, RIG_SERVICE)};
	struct config own = rig_config_both();
	const struct fl_address self[2] = {own.program.self, own.program.self6};
	struct fl_server *plain = program;
	int bit, key;

	(void)state;
	assert_int_equal(keys_make(&file, "key", self, &own.keys), 0);
	own.program.tagged = 1;
	program = rig_load(&own);
	for (bit = 0; bit < 2; bit++)
		for (key = 0; key < 2; key++) {
			struct fl_list list = rig_list(RIG_IPV4);
			struct packet packet;

			list.flags = bit ? FL_LIST_KEY : 0;
			packet = tagged_make(list, &keys[key], &rig_packets(RIG_IPV4)->established);
			assert_int_equal(send_it(&packet), bit == key ? FL_COUNTER_DELIVER_LOCAL_SOCKET
								      : FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
		}
	program_close(program);
	program = plain;
	config_close(&own);
}

/* A server has no key but those of its services: then no tag is right, of whatever key. */
static void no_key(void **state)
{
	struct fl_siphash_key key = fl_list_key(&cluster, RIG_SERVICE), none = {0, 0};
	struct fl_service_keys one = {RIG_SERVICE, {{key, key}}};
	struct config own = config;
	struct fl_server *plain = program;
	struct fl_list list = rig_list(RIG_IPV4);
	struct packet packet;

	(void)state;
	own.keys.services = &one;
	own.keys.count = 1;
	program = rig_load(&own);
	packet = tagged_make(list, &key, &rig_packets(RIG_IPV4)->established);
	assert_int_equal(send_it(&packet), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	list.service = RIG_SERVICE + 1;
	key = fl_list_key(&cluster, RIG_SERVICE + 1);
	packet = tagged_make(list, &key, &rig_packets(RIG_IPV4)->established);
	assert_int_equal(send_it(&packet), FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING);
	packet = tagged_make(list, &none, &rig_packets(RIG_IPV4)->established);
	assert_int_equal(send_it(&packet), FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING);
	program_close(program);
	program = plain;
}

int main(void)
{
	static const struct {
		const char *name;
		CMUnitTestFunction run;
	} cases[] = {
	    {"each byte of header, connection and tag", each_byte},
	    {"what changes on the way", what_changes_on_the_way},
	    {"places of remembered tags", places},
	    {"two keys", two_keys},
	    {"a service whose key the server has not", no_key},
	};
	struct vectors_tests tests = {NULL, 0};
	size_t i;
	int failed;

	rig_stay(); /* each processor remembers for itself */
	rig_open();
	config = rig_config_both();
	rig_tag(&config, &cluster);
	program = rig_load(&config);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		vectors_add_plain(&tests, cases[i].name, cases[i].run, NULL);
	failed = vectors_run("tags by the XDP program", &tests);
	program_close(program);
	return failed;
}
