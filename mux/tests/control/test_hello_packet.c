/* SPDX-License-Identifier: Apache-2.0 */
/* Hellos against hello.json: what is read and written, what is malformed, and whose hellos a reader accepts. */
#include <stdlib.h>
#include <string.h>

#include "hello/hello_peers.h"
#include "vectors.h"

static struct tag_keys keys; /* of the file */

static struct hello_service service_of(const json_t *row)
{
	return (struct hello_service){.id = (uint16_t)vectors_number(row, "id"),
				      .flags = (uint8_t)vectors_number(row, "flags"),
				      .generation = (uint32_t)vectors_number(row, "generation"),
				      .settled = (uint32_t)vectors_number(row, "settled")};
}

/* 16 hex digits. */
static uint64_t wide_of(const json_t *row, const char *name)
{
	return strtoull(vectors_text(row, name), NULL, 16);
}

/* A writer writes no extensions. */
static void written_again(const struct vectors_bytes *bytes, const struct hello_head *head,
			  const struct hello_service *services)
{
	const struct fl_siphash_key *key = tag_keys_of(&keys, head->key);
	uint8_t out[HELLO_LEN_MAX];
	size_t len = hello_write(head, services, head->has_tag ? key : NULL, out);

	assert_int_equal(len, bytes->len);
	assert_memory_equal(out, bytes->data, head->has_tag ? len - HELLO_TAG_LEN : len);
	if (head->has_tag && hello_tag_is_right(bytes->data, head, key))
		assert_memory_equal(out, bytes->data, len);
}

static void valid(void **state)
{
	const json_t *fields = vectors_get(*state, "fields"), *services = vectors_list(fields, "services");
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes"), cluster = vectors_bytes(fields, "cluster");
	struct fl_address sender = vectors_address(fields, "sender");
	struct hello_service written[HELLO_SERVICES_MAX];
	struct hello_head head;

	assert_int_equal(hello_parse(bytes.data, bytes.len, &head), HELLO_OK);
	assert_int_equal(head.has_tag, !vectors_is_null(fields, "tag"));
	assert_int_equal(head.count, json_array_size(services));
	assert_memory_equal(&head.sender, &sender, sizeof(sender));
	assert_int_equal(cluster.len, sizeof(head.cluster));
	assert_memory_equal(head.cluster, cluster.data, cluster.len);
	assert_true(head.boot == wide_of(fields, "boot"));
	assert_true(head.counter == wide_of(fields, "counter"));
	for (unsigned i = 0; i < head.count; i++) {
		struct hello_service expected = service_of(json_array_get(services, i));

		written[i] = hello_service_at(bytes.data, i);
		assert_int_equal(written[i].id, expected.id);
		assert_int_equal(written[i].flags, expected.flags);
		assert_int_equal(written[i].generation, expected.generation);
		assert_int_equal(written[i].settled, expected.settled);
	}
	assert_int_equal(head.key, vectors_bool(fields, "key"));
	if (!head.extensions)
		written_again(&bytes, &head, written);
	vectors_free(&bytes);
	vectors_free(&cluster);
}

static enum hello_error word_of(const json_t *row, const char *name)
{
	const char *word = vectors_text(row, name);

	for (enum hello_error error = HELLO_OK; error < HELLO_ERRORS; error++)
		if (!strcmp(word, hello_error_name(error)))
			return error;
	fail_msg("unknown word %s", word);
	return HELLO_ERRORS;
}

static void malformed(void **state)
{
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct hello_head head, untouched;

	memset(&head, 0xa5, sizeof(head));
	untouched = head;
	assert_int_equal(hello_parse(bytes.data, bytes.len, &head), word_of(*state, "error"));
	assert_memory_equal(&head, &untouched, sizeof(head));
	vectors_free(&bytes);
}

static struct fl_siphash_key key_at(const json_t *list, size_t i)
{
	json_t *one = json_pack("{s:O}", "key", json_array_get(list, i));
	struct fl_siphash_key key = vectors_key(one, "key");

	json_decref(one);
	return key;
}

/* None to two. False: none. */
static bool keys_of(const json_t *row, struct tag_keys *out)
{
	const json_t *list = vectors_list(row, "keys");
	size_t count = json_array_size(list);

	assert_in_range(count, 0, 2);
	if (!count)
		return false;
	out->current = key_at(list, 0);
	out->by_bit[0] = out->by_bit[1] = out->current;
	if (count == 2) {
		struct fl_siphash_key next = key_at(list, 1);

		out->by_bit[fl_key_bit(&next)] = next;
	}
	return true;
}

/* The reader as the row describes it; the first hello that it gets is the row's. */
static void judged(void **state)
{
	const json_t *reader = vectors_get(*state, "reader"), *list = vectors_list(reader, "peers");
	struct vectors_bytes bytes = vectors_bytes(*state, "bytes");
	struct fl_address self = vectors_address(reader, "self"), source = vectors_address(reader, "source");
	enum hello_error expected = word_of(*state, "result");
	struct hello_node nodes[4] = {0};
	struct tag_keys its;
	struct hello_peers *peers;
	struct hello_head head;
	size_t count = json_array_size(list);

	peers = hello_peers_new(&self, keys_of(reader, &its) ? &its : NULL);
	assert_non_null(peers);
	if (!vectors_is_null(reader, "cluster")) {
		struct vectors_bytes cluster = vectors_bytes(reader, "cluster");

		hello_peers_join(peers, cluster.data);
		vectors_free(&cluster);
	}
	assert_in_range(count, 0, 4);
	for (size_t i = 0; i < count; i++) {
		json_t *one = json_pack("{s:O}", "address", json_array_get(list, i));

		nodes[i].address = vectors_address(one, "address");
		json_decref(one);
	}
	hello_peers_set_nodes(peers, nodes, (unsigned)count, 1000);
	assert_int_equal(hello_peers_hear(peers, &source, bytes.data, bytes.len, 1000), expected);
	if (!expected) {
		const struct hello_peer *peer = hello_peers_find(peers, &source);

		assert_non_null(peer);
		assert_true(hello_peer_is_heard(peer, 1000));
		assert_int_equal(hello_parse(bytes.data, bytes.len, &head), HELLO_OK);
		for (unsigned i = 0; i < head.count; i++) {
			struct hello_service told = hello_service_at(bytes.data, i);
			const struct hello_service *kept = hello_peer_service(peer, told.id, 1000);

			assert_non_null(kept);
			assert_int_equal(kept->generation, told.generation);
			assert_int_equal(kept->settled, told.settled);
			assert_int_equal(kept->flags, told.flags);
		}
	} else {
		const struct hello_peer *peer = hello_peers_find(peers, &source);

		assert_true(!peer || (!peer->was_heard && !peer->count));
	}
	hello_peers_free(peers);
	vectors_free(&bytes);
}

static void clusters(void **state)
{
	static const char *const wrong[] = {"", "0011", "00112233445566778899aabbccddeefg",
					    "00112233445566778899aabbccddeeff0", "00112233445566778899AABBCCDDEEFF"};
	uint8_t out[HELLO_CLUSTER_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(hello_cluster_parse(wrong[i], out));
	assert_true(hello_cluster_parse("00112233445566778899aabbccddeeff", out));
	assert_int_equal(out[0], 0x00);
	assert_int_equal(out[10], 0xaa);
	assert_int_equal(out[15], 0xff);
}

int main(int argc, char **argv)
{
	json_t *file = vectors_load(argc > 1 ? argv[1] : ".", "hello.json");
	struct vectors_tests tests = {NULL, 0};
	int failed;

	assert_true(keys_of(file, &keys));
	vectors_add(&tests, file, "valid", valid);
	vectors_add(&tests, file, "extended", valid);
	vectors_add(&tests, file, "malformed", malformed);
	vectors_add(&tests, file, "judged", judged);
	vectors_add_plain(&tests, "names of clusters", clusters, NULL);
	failed = vectors_run("hello packet", &tests);
	json_decref(file);
	return failed;
}
