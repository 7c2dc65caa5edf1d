// SPDX-License-Identifier: Apache-2.0
/*
 * By which keys the module checks tags, of packets and of notices, and which keys it takes. (All rows of `tags`, and what
 * a tag covers: test_list.c.)
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/list_tag.h>
#include <fairlead/module.h>
#include <fairlead/notice.h>

#include "vectors.h"
#include "stand.h"

enum {
	SPARSE = 1000, /* services, each with a number of its own between them */
};

static const struct fl_siphash_key cluster = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static const struct fl_siphash_key next = {0x0706050403020101, 0x0f0e0d0c0b0a0908}; /* its first byte has KEY */

static void set_anew(const struct config *config)
{
	module_detach(stand_client());
	stand_set(config);
}

/* A packet of an open connection with this list, and the tag of a key. */
static enum fl_counter send_tagged(struct fl_list list, const struct fl_siphash_key *key)
{
	struct fl_address self = packet_address(RIG_SELF);
	struct packet packet, inner = {.len = 0};
	struct fl_list_message message;

	packet_add_tcp(&inner, &rig_packets(RIG_IPV4)->established);
	list.flags |= FL_LIST_TAG;
	assert_true(fl_list_tag_message(&list, &self, inner.data, inner.data + inner.len, &message));
	fl_store_be64(list.tag, fl_list_tag(key, &message));
	stand_begin(&packet, RIG_SELF, &list);
	packet_add_bytes(&packet, inner.data, inner.len);
	packet_finish_outer(&packet);
	return stand_send(&packet);
}

/* A notice with the tag of a key of the cluster, to either of the server's addresses. */
static enum fl_counter send_notice(const char *self, const struct fl_siphash_key *of, bool has_key)
{
	struct fl_address server = packet_address(self);
	struct fl_address mux = packet_address(fl_address_is_ipv4(&server) ? RIG_MUX : RIG_MUX6);
	struct fl_notice notice = {
	    .flags = FL_LIST_TAG | (has_key ? FL_LIST_KEY : 0), .service = RIG_SERVICE, .generation = RIG_GENERATION};
	struct fl_siphash_key key = fl_notice_key(of, &server);
	fl_u8 bytes[FL_NOTICE_MAX_LEN];
	struct packet packet;

	notice.tag = fl_notice_tag(&key, &notice, &server);
	packet_begin_outer(&packet, &mux, &server, FL_LIST_GUE_PORT);
	packet_add_bytes(&packet, bytes, fl_notice_write(&notice, bytes));
	packet_finish_outer(&packet);
	return stand_send(&packet);
}

/* By KEY, while the cluster's key is replaced: each of two clusters' keys with its own bit only. */
static void two_keys(void **state)
{
	const struct fl_siphash_key *const clusters[] = {&cluster, &next};
	const struct keys_file file = {.is_cluster = true, .cluster = {{cluster, next}}};
	struct config config = rig_config_both();
	const struct fl_address self[2] = {config.program.self, config.program.self6};
	int bit, key;

	(void)state;
	assert_int_equal(keys_make(&file, "key", self, &config.keys), 0);
	config.program.tagged = 1;
	set_anew(&config);
	for (bit = 0; bit < 2; bit++)
		for (key = 0; key < 2; key++) {
			struct fl_siphash_key of = fl_list_key(clusters[key], RIG_SERVICE);
			enum fl_counter refused = FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG;
			struct fl_list list = rig_list(RIG_IPV4);

			list.flags = bit ? FL_LIST_KEY : 0;
			assert_int_equal(send_tagged(list, &of),
					 bit == key ? FL_COUNTER_DELIVER_LOCAL_SOCKET : refused);
			assert_int_equal(send_notice(RIG_SELF, clusters[key], bit),
					 bit == key ? FL_COUNTER_NOTICE : refused);
			assert_int_equal(send_notice(RIG_SELF6, clusters[key], bit),
					 bit == key ? FL_COUNTER_NOTICE : refused);
		}
	config_close(&config);
}

/* Keys of every other service: those have theirs, and no tag of another is right, of whatever key. */
static void sparse_services(void **state)
{
	static struct fl_service_keys keys[SPARSE];
	struct config config = rig_config_both();
	struct fl_siphash_key none = {0, 0};
	struct fl_list list = rig_list(RIG_IPV4);
	fl_u16 i;

	(void)state;
	rig_tag(&config, &cluster);
	for (i = 0; i < SPARSE; i++) {
		struct fl_siphash_key key = fl_list_key(&cluster, (fl_u16)(2 * i + 7));

		keys[i] = (struct fl_service_keys){2U * i + 7, {{key, key}}};
	}
	config.keys.services = keys;
	config.keys.count = SPARSE;
	set_anew(&config);
	for (i = 0; i < SPARSE + 5; i = (fl_u16)(i < 4 || i > SPARSE - 4 ? i + 1
						 : i * 2 > SPARSE        ? SPARSE - 3
									 : i * 2)) {
		struct fl_siphash_key own = fl_list_key(&cluster, (fl_u16)(2 * i + 7));

		list.service = (fl_u16)(2 * i + 7);
		assert_int_equal(send_tagged(list, &own),
				 i < SPARSE ? FL_COUNTER_DELIVER_LOCAL_SOCKET : FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING);
		list.service--;
		own = fl_list_key(&cluster, list.service);
		assert_int_equal(send_tagged(list, &own), FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING);
		assert_int_equal(send_tagged(list, &none), FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING);
	}
}

/* Both kinds of keys for all services and none, one behind the other, and without keys: in one step each. */
static void changed(void **state)
{
	struct fl_siphash_key key = fl_list_key(&cluster, RIG_SERVICE), other = fl_list_key(&next, RIG_SERVICE);
	struct config tagged = rig_config_both(), replaced = tagged, empty = tagged, untagged = tagged;
	struct fl_list list = rig_list(RIG_IPV4);

	(void)state;
	rig_tag(&tagged, &cluster);
	rig_tag(&replaced, &next);
	rig_tag(&empty, &cluster);
	empty.keys.count = 0;
	set_anew(&tagged);
	assert_int_equal(send_tagged(list, &key), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	assert_int_equal(send_tagged(list, &other), FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	stand_set(&replaced);
	assert_int_equal(send_tagged(list, &key), FL_COUNTER_DROP_UNTRUSTED_TAG_WRONG);
	assert_int_equal(send_tagged(list, &other), FL_COUNTER_DELIVER_LOCAL_SOCKET);
	stand_set(&empty);
	assert_int_equal(send_tagged(list, &key), FL_COUNTER_DROP_UNTRUSTED_KEY_MISSING);
	assert_int_equal(send_notice(RIG_SELF, &cluster, false), FL_COUNTER_NOTICE);
	stand_set(&untagged);
	assert_int_equal(send_tagged(list, &other), FL_COUNTER_DELIVER_LOCAL_SOCKET);
}

/* Keys that the module refuses, and what its sentence says of them; what is set stays. */
static void refused_keys(void **state)
{
	static const struct {
		fl_u64 services[3];
		unsigned int count;
	} rows[] = {
	    {{2, 1}, 2}, {{1, 1}, 2}, {{1, 3, 2}, 3}, {{1, 65536}, 2}, {{(fl_u64)1 << 32}, 1},
	};
	struct fl_siphash_key key = fl_list_key(&cluster, RIG_SERVICE);
	struct config good = rig_config_both(), bad;
	size_t i, j;

	(void)state;
	rig_tag(&good, &cluster);
	set_anew(&good);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fl_service_keys keys[3] = {{.service = 0}};

		bad = good;
		for (j = 0; j < rows[i].count; j++)
			keys[j].service = rows[i].services[j];
		bad.keys.services = keys;
		bad.keys.count = rows[i].count;
		assert_int_equal(stand_try_set(&bad), -EINVAL);
		assert_non_null(strstr(stand_client()->error, "keys must be of services"));
	}
	assert_int_equal(send_tagged(rig_list(RIG_IPV4), &key), FL_COUNTER_DELIVER_LOCAL_SOCKET);
}

/* Sends SET with one of the attributes of keys alone, of so many bytes; returns what became of it. */
static int set_with(fl_u8 tagged, fl_u16 attribute, size_t len)
{
	static const fl_u8 bytes[256];
	struct config config = rig_config();
	struct genetlink *client = stand_client();
	char buffer[4096], answer[4096];
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *generic = mnl_nlmsg_put_extra_header(header, sizeof(*generic));

	header->nlmsg_type = client->family;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	header->nlmsg_seq = ++client->sequence;
	generic->cmd = FAIRLEAD_CMD_SET;
	generic->version = FAIRLEAD_GENL_VERSION;
	config.program.tagged = tagged;
	mnl_attr_put(header, FAIRLEAD_A_CONFIG, sizeof(config.program), &config.program);
	mnl_attr_put(header, FAIRLEAD_A_PEERS, sizeof(config.peers[0]), config.peers);
	mnl_attr_put(header, attribute, len, bytes);
	assert_int_equal(mnl_socket_sendto(client->socket, header, header->nlmsg_len), header->nlmsg_len);
	assert_true(mnl_socket_recvfrom(client->socket, answer, sizeof(answer)) > 0);
	assert_int_equal(((struct nlmsghdr *)answer)->nlmsg_type, NLMSG_ERROR);
	return ((struct nlmsgerr *)mnl_nlmsg_get_payload((struct nlmsghdr *)answer))->error;
}

static void bad_messages(void **state)
{
	const size_t notices = 2 * sizeof(struct fl_key_pair);
	struct config config = rig_config_both();

	(void)state;
	set_anew(&config);
	assert_int_equal(set_with(1, FAIRLEAD_A_NOTICE_KEYS, notices), 0);
	assert_int_equal(set_with(0, FAIRLEAD_A_NOTICE_KEYS, notices), -EINVAL);
	assert_int_equal(set_with(1, FAIRLEAD_A_NOTICE_KEYS, notices - 1), -ERANGE);
	assert_int_equal(set_with(1, FAIRLEAD_A_NOTICE_KEYS, notices + 1), -ERANGE);
	assert_int_equal(set_with(0, FAIRLEAD_A_SERVICE_KEYS, sizeof(struct fl_service_keys)), -EINVAL);
	assert_int_equal(set_with(1, FAIRLEAD_A_SERVICE_KEYS, sizeof(struct fl_service_keys)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_keys),     cmocka_unit_test(sparse_services), cmocka_unit_test(changed),
	    cmocka_unit_test(refused_keys), cmocka_unit_test(bad_messages),
	};

	stand_open();
	return cmocka_run_group_tests_name("keys of the module", tests, NULL, NULL);
}
