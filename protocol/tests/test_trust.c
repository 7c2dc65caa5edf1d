/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attackers can forge (protocol/README.md, 2, Keys and trust): each tags each kind of message by every key that it
 * has, and what the receiver makes of it is the table's. And where a captured packet is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fairlead/fragment.h>
#include <fairlead/notice.h>
#include <fairlead/list_tag.h>

enum { WEB = 1, DNS = 2, SERVERS = 4 };

static const struct fl_siphash_key cluster = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

/* A stranger has a cluster's key of its own. `server` is root on server 0, which serves WEB. */
enum attacker { STRANGER, SERVER, MUX, ATTACKERS };

enum message { PACKET_OF_WEB, PACKET_OF_DNS, NOTICE_TO_IT, NOTICE_TO_ANOTHER, HELLO_OR_FRAGMENT, MESSAGES };

static const struct {
	const char *name;
	bool forged[ATTACKERS];
} rows[MESSAGES] = {
    [PACKET_OF_WEB] = {"a packet of the server's service", {false, true, true}},
    [PACKET_OF_DNS] = {"a packet of another service", {false, false, true}},
    [NOTICE_TO_IT] = {"a notice to the server, or its acknowledgement", {false, true, true}},
    [NOTICE_TO_ANOTHER] = {"a notice to another server, or its acknowledgement", {false, false, true}},
    [HELLO_OR_FRAGMENT] = {"a hello, or a fragment between muxes", {false, false, true}},
};

static struct fl_address server(int number)
{
	const fl_u8 ipv4[4] = {10, 1, 0, (fl_u8)(20 + number)};

	return fl_address_from_ipv4(ipv4);
}

/* The key by which the receiver checks a message. */
static struct fl_siphash_key key_of(const struct fl_siphash_key *from, enum message message)
{
	struct fl_address it = server(0), another = server(1);

	switch (message) {
	case PACKET_OF_WEB:
		return fl_list_key(from, WEB);
	case PACKET_OF_DNS:
		return fl_list_key(from, DNS);
	case NOTICE_TO_IT:
		return fl_notice_key(from, &it);
	case NOTICE_TO_ANOTHER:
		return fl_notice_key(from, &another);
	default:
		return fl_mux_key(from);
	}
}

/* The keys of an attacker: all that are made of a cluster's key that it has, or those that a server is given. */
static int keys_of(enum attacker attacker, struct fl_siphash_key out[MESSAGES + 1])
{
	struct fl_siphash_key own = {1, 2};
	int count = 0;

	if (attacker == SERVER) {
		out[count++] = key_of(&cluster, PACKET_OF_WEB);
		out[count++] = key_of(&cluster, NOTICE_TO_IT);
		return count;
	}
	own = attacker == MUX ? cluster : own;
	out[count++] = own;
	for (int message = 0; message < MESSAGES; message++)
		out[count++] = key_of(&own, (enum message)message);
	return count;
}

static const fl_u8 inner[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 6, 0, 0, 10, 2, 0, 1, 10, 99, 0, 1, 0x30, 0x39, 0, 80};

/* The tag that is right by this key. */
static fl_u64 tag_by(const struct fl_siphash_key *key, enum message message)
{
	struct fl_address sender = server(8), to = server(message == NOTICE_TO_ANOTHER);
	struct fl_list list = {.inner_protocol = FL_LIST_GUE_IPV4,
			       .flags = FL_LIST_TAG,
			       .service = message == PACKET_OF_DNS ? DNS : WEB,
			       .generation = 7};
	struct fl_notice notice = {.flags = FL_LIST_TAG, .service = WEB, .generation = 7};
	struct fl_list_message covered;

	switch (message) {
	case PACKET_OF_WEB:
	case PACKET_OF_DNS:
		assert_true(fl_list_tag_message(&list, &to, inner, inner + sizeof(inner), &covered));
		return fl_list_tag(key, &covered);
	case NOTICE_TO_IT:
	case NOTICE_TO_ANOTHER:
		return fl_notice_tag(key, &notice, &to);
	default:
		return fl_fragment_tag(key, FL_LIST_TAG, &sender, &to, inner, sizeof(inner));
	}
}

static void forged(void **state)
{
	(void)state;
	for (int attacker = 0; attacker < ATTACKERS; attacker++) {
		struct fl_siphash_key keys[MESSAGES + 1];
		int count = keys_of((enum attacker)attacker, keys);

		for (int message = 0; message < MESSAGES; message++) {
			struct fl_siphash_key right = key_of(&cluster, (enum message)message);
			bool is_taken = false;

			for (int i = 0; i < count; i++)
				is_taken |=
				    tag_by(&keys[i], (enum message)message) == tag_by(&right, (enum message)message);
			if (is_taken != rows[message].forged[attacker])
				fail_msg("attacker %d, %s: %d", attacker, rows[message].name, is_taken);
		}
	}
}

/* A captured packet at every server, as if any number of candidates were left: taken only where its own way leads. */
static void repeated(void **state)
{
	(void)state;
	for (int at = 0; at < SERVERS; at++) {
		struct fl_siphash_key key = fl_list_key(&cluster, WEB);
		struct fl_list captured = {.inner_protocol = FL_LIST_GUE_IPV4,
					   .flags = FL_LIST_TAG,
					   .count = SERVERS - 1,
					   .left = (fl_u8)(SERVERS - 1 - at),
					   .service = WEB,
					   .generation = 7};
		struct fl_address holder = server(at);
		struct fl_list_message message;
		fl_u8 header[FL_LIST_MAX_LEN];
		int taken = 0;

		for (int i = 0; i < SERVERS - 1; i++)
			captured.candidate[i] = server(i < at ? i : i + 1);
		assert_true(fl_list_tag_message(&captured, &holder, inner, inner + sizeof(inner), &message));
		fl_store_be64(captured.tag, fl_list_tag(&key, &message));
		for (int to = 0; to < SERVERS + 2; to++)
			for (fl_u8 left = 0; left < SERVERS; left++) {
				struct fl_address receiver = server(to);
				struct fl_list sent = captured, read;
				fl_u32 len;

				/* As it was captured, with the `left` that servers write on its way. */
				sent.left = left;
				for (int moved = 0; moved < 2; moved++) {
					len = fl_list_write(&sent, header);
					assert_int_equal(fl_list_parse(header, header + len, len, false, false, &read),
							 FL_LIST_OK);
					assert_true(fl_list_tag_message(&read, &receiver, inner, inner + sizeof(inner),
									&message));
					if (fl_list_tag_is_right(&key, &read, &message)) {
						taken++;
						assert_int_equal(left, SERVERS - 1 - to);
					}
					for (int i = 0; i < SERVERS - 1; i++)
						sent.candidate[i] = server(i < to ? i : i + 1);
				}
			}
		assert_int_equal(taken,
				 SERVERS + 1); /* at each server of its list, and once more where it was captured */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(forged), cmocka_unit_test(repeated)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
