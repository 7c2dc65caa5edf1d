// SPDX-License-Identifier: Apache-2.0
/*
 * decide.json against a server: a packet of the row's class, tagged, as a tag vouches for any generation. A candidate that
 * is no address, or of a family of which the server has none, cannot be sent to: what comes then is the row's `skipped`.
 */
#include <stdio.h>
#include <string.h>

#include "list_form.h"

enum {
	DATAGRAM_LEN = 32,
};

static const struct fl_siphash_key cluster = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static const struct list_form *form;
static struct config config;

static const char *const packets[] = {
    [FL_PACKET_SYN] = "syn",         [FL_PACKET_COOKIE_ACK] = "cookie_ack", [FL_PACKET_LOCAL_SOCKET] = "local_socket",
    [FL_PACKET_UNKNOWN] = "unknown", [FL_PACKET_NO_RESET] = "no_reset",     [FL_PACKET_REFUSED] = "refused",
};

static const char *const verdicts[FL_VERDICTS] = {
    [FL_VERDICT_DELIVER] = "deliver",
    [FL_VERDICT_CHAIN] = "chain",
    [FL_VERDICT_DROP_STALE] = "drop_stale",
    [FL_VERDICT_DROP_UNTRUSTED] = "drop_untrusted",
    [FL_VERDICT_DROP_MALFORMED] = "drop_malformed",
};

static enum fl_packet_class class_of(const json_t *in)
{
	return (enum fl_packet_class)vectors_word(in, "packet", packets, sizeof(packets) / sizeof(*packets));
}

static const char *text_at(const json_t *in, const char *list, size_t i)
{
	return json_string_value(json_array_get(vectors_list(in, list), i));
}

static void server_set(const json_t *in)
{
	char addresses[96];
	const char *ipv4 = text_at(in, "self", 0), *ipv6 = text_at(in, "self", 1);

	snprintf(addresses, sizeof(addresses), "%s%s%s", ipv4 ? ipv4 : "", ipv4 && ipv6 ? "," : "", ipv6 ? ipv6 : "");
	config = rig_config_both();
	assert_int_equal(config_set(&config, "address", addresses), 0);
	rig_tag(&config, &cluster);
	form->set(&config);
}

static void inner_add(struct packet *packet, enum fl_packet_class class)
{
	const struct rig_packets *rig = rig_packets(RIG_IPV4);

	if (class == FL_PACKET_NO_RESET)
		packet_add_udp(packet, &rig->udp_unconnected, DATAGRAM_LEN);
	else
		packet_add_tcp(packet, class == FL_PACKET_COOKIE_ACK     ? &rig->cookie_ack
				       : class == FL_PACKET_LOCAL_SOCKET ? &rig->established
				       : class == FL_PACKET_UNKNOWN      ? &rig->unknown
									 : &rig->syn);
}

static struct fl_list list_of(const json_t *in, const struct fl_address *self)
{
	struct fl_list list = rig_list(RIG_IPV4);
	size_t count = json_array_size(vectors_list(in, "candidates"));

	list.generation = (fl_u32)vectors_number(in, "generation");
	list.left = (fl_u8)vectors_number(in, "left");
	list.flags = FL_LIST_TAG;
	if (vectors_bool(in, "late"))
		list.flags |= FL_LIST_LATE;
	if (!fl_address_is_ipv4(self))
		list.flags |= FL_LIST_IPV6;
	for (; list.count < count; list.count++) {
		list.candidate[list.count] = packet_address(text_at(in, "candidates", list.count));
		if (!fl_address_is_ipv4(&list.candidate[list.count]))
			list.flags |= FL_LIST_IPV6;
	}
	return list;
}

/* The packet with this list and its tag; one that is malformed has a header that is longer than its list. */
static struct packet packet_of(const json_t *in, struct fl_list list, const struct fl_address *self)
{
	struct fl_siphash_key key = fl_list_key(&cluster, RIG_SERVICE);
	const char *stranger = fl_address_is_ipv4(self) ? "192.0.2.1" : "2001:db8:77::1";
	struct fl_address source = packet_address(vectors_bool(in, "trusted") ? RIG_MUX : stranger);
	struct packet packet, inner = {.len = 0};
	struct fl_list_message message;
	fl_u8 gue[FL_LIST_MAX_LEN];

	if (!fl_address_is_ipv4(self) && vectors_bool(in, "trusted"))
		source = packet_address(RIG_MUX6);
	inner_add(&inner, class_of(in));
	assert_true(fl_list_tag_message(&list, self, inner.data, inner.data + inner.len, &message));
	fl_store_be64(list.tag, fl_list_tag(&key, &message));
	packet_begin_outer(&packet, &source, self, FL_LIST_GUE_PORT);
	packet_add_bytes(&packet, gue, fl_list_write(&list, gue));
	if (!vectors_is_null(in, "malformed"))
		packet.data[list_packet_gue_at(&packet)]++;
	packet_add_bytes(&packet, inner.data, inner.len);
	packet_finish_outer(&packet);
	return packet;
}

static enum fl_counter counter_of(const json_t *in, enum fl_verdict verdict)
{
	switch (verdict) {
	case FL_VERDICT_DELIVER:
		return fl_counter_of_delivery(class_of(in));
	case FL_VERDICT_CHAIN:
		return FL_COUNTER_CHAIN;
	case FL_VERDICT_DROP_STALE:
		return FL_COUNTER_DROP_STALE;
	case FL_VERDICT_DROP_UNTRUSTED:
		return FL_COUNTER_DROP_UNTRUSTED_SENDER;
	default:
		return FL_COUNTER_DROP_MALFORMED_LENGTH;
	}
}

static void check_onward(const struct packet *sent, const struct fl_list *list, const struct fl_address *self,
			 const json_t *out)
{
	struct fl_address next = vectors_address(out, "next");
	struct packet rewritten = *sent, expected;
	size_t at = list_packet_gue_at(sent);

	assert_true(fl_list_forward(rewritten.data + at, rewritten.data + rewritten.len, list, self,
				    (fl_u8)vectors_number(out, "left"), vectors_bool(out, "late")));
	expected = list_packet_onward(&config, sent, &next, rewritten.data + at, rewritten.len - at, false);
	form->expect_onward(&expected, false);
}

/* Whether the packet goes to a candidate that it cannot be sent to. */
static bool is_nowhere(const json_t *in, const json_t *out)
{
	struct fl_address next = vectors_address(out, "next");

	return !vectors_is_null(out, "next") &&
	       (fl_address_is_unspecified(&next) || !text_at(in, "self", !fl_address_is_ipv4(&next)));
}

static void decided(void **state)
{
	static const struct fl_load_setting busy = {.busy = 1, .threshold = 1, .window = 50, .policy = FL_LOAD_STATIC};
	const json_t *row = *state, *in = vectors_get(row, "in"), *out = vectors_get(row, "out"), *then = out;
	const char *ipv4 = text_at(in, "self", 0);
	struct fl_address self = packet_address(ipv4 ? ipv4 : text_at(in, "self", 1));
	struct fl_list list = list_of(in, &self);
	struct packet packet = packet_of(in, list, &self), expected;
	enum fl_verdict verdict;

	if (is_nowhere(in, out))
		then = vectors_get(row, "skipped");
	verdict = is_nowhere(in, then) ? FL_VERDICT_DROP_STALE
				       : (enum fl_verdict)vectors_word(then, "verdict", verdicts, FL_VERDICTS);
	server_set(in);
	form->generation_set((fl_u32)vectors_number(in, "seen"));
	form->quiet(vectors_bool(in, "quiet") ? FL_SERVER_QUIET_MAX : 0);
	form->load_set(class_of(in) == FL_PACKET_REFUSED ? &busy : NULL);
	assert_int_equal(form->send(&packet), counter_of(in, verdict));
	if (verdict == FL_VERDICT_CHAIN) {
		check_onward(&packet, &list, &self, then);
	} else if (verdict == FL_VERDICT_DELIVER) {
		expected = list_packet_delivered(&packet, fl_list_len(list.count, list.flags));
		form->expect_delivered(&expected);
	}
	assert_int_equal(form->generation(), vectors_number(out, "seen"));
}

int list_decide_run(const struct list_form *of, const char *folder)
{
	json_t *file = vectors_load(folder, "decide.json");
	struct vectors_tests tests = {NULL, 0};
	char group[64];
	int failed;

	form = of;
	rig_command(
	    "for host in 25 26; do ip neigh replace 10.1.0.$host lladdr 02:00:00:00:00:$host dev rig0 || exit 1;"
	    " done");
	rig_command("ip neigh replace 2001:db8:1::22 lladdr 02:00:00:00:00:22 dev rig0");
	vectors_add(&tests, file, "rows", decided);
	snprintf(group, sizeof(group), "decide.json by %s", form->name);
	failed = vectors_run(group, &tests);
	json_decref(file);
	return failed;
}
