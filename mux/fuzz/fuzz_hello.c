/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as hellos of any mux, at any time. The first byte says whether there is a key and whether tags are made
 * right; then each packet is a length of two bytes, a sender, a step of the clock, and that many bytes. What is read is
 * what a writer writes; what is refused changes nothing; a counter never falls within a boot, unless there is no key and
 * the sender was silent for as long as what it said counts.
 */
#include <stdlib.h>
#include <string.h>

#include "hello/hello_peers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEYED = 1, TAGGED = 2, MUXES = 4, PACKET_MAX = 1500 };

static const uint8_t cluster[HELLO_CLUSTER_LEN] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
						   0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
static const struct tag_keys keys = {
    {0x1716151413121110, 0x1f1e1d1c1b1a1918},
    {{0x1716151413121110, 0x1f1e1d1c1b1a1918}, {0x2726252423222121, 0x2f2e2d2c2b2a2928}}};

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

static struct fl_address address_of(unsigned mux)
{
	const uint8_t ipv4[4] = {10, 1, 0, (uint8_t)(11 + mux)};

	return fl_address_from_ipv4(ipv4);
}

/* Reading and writing agree. */
static void check_form(const uint8_t *data, size_t len)
{
	struct hello_service services[HELLO_SERVICES_MAX];
	const struct fl_siphash_key *key;
	struct hello_head head, untouched;
	uint8_t out[HELLO_LEN_MAX];
	size_t written;

	memset(&head, 0xa5, sizeof(head));
	untouched = head;
	if (hello_parse(data, len, &head)) {
		require(!memcmp(&head, &untouched, sizeof(head)));
		return;
	}
	require(head.count <= HELLO_SERVICES_MAX && len <= HELLO_LEN_MAX && head.boot && head.counter);
	for (unsigned i = 0; i < head.count; i++)
		services[i] = hello_service_at(data, i);
	if (head.extensions)
		return;
	key = tag_keys_of(&keys, head.key);
	written = hello_write(&head, services, head.has_tag ? key : NULL, out);
	require(written == len);
	require(!memcmp(out, data, head.has_tag ? len - HELLO_TAG_LEN : len));
	require(!head.has_tag || hello_tag_is_right(data, &head, key) == !memcmp(out, data, len));
}

static void check_peers(const struct hello_peers *peers, uint64_t now)
{
	require(peers->count <= MUXES);
	for (unsigned i = 0; i < peers->count; i++) {
		const struct hello_peer *peer = &peers->list[i];
		struct fl_address self = address_of(0);

		require(!fl_address_equal(&peer->node.address, &self));
		require(peer->was_heard || !peer->count);
		for (unsigned n = 0; n < peer->count; n++) {
			require(!n || peer->entries[n - 1].service.id < peer->entries[n].service.id);
			require(peer->entries[n].service.generation && peer->entries[n].heard_ms <= now);
		}
	}
}

static void hear(struct hello_peers *peers, bool is_keyed, unsigned mux, const uint8_t *data, size_t len, uint64_t now)
{
	struct fl_address source = address_of(mux);
	const struct hello_peer *peer = hello_peers_find(peers, &source);
	struct hello_peer before = {0};
	enum hello_error error;
	bool is_forgotten;

	if (peer)
		before = *peer;
	error = hello_peers_hear(peers, &source, data, len, now);
	peer = hello_peers_find(peers, &source);
	if (error) {
		require(!peer || (peer->boot == before.boot && peer->counter == before.counter &&
				  peer->count == before.count && peer->heard_ms == before.heard_ms));
		return;
	}
	require(peer && hello_peer_is_heard(peer, now));
	is_forgotten = !before.was_heard || (!is_keyed && now - before.heard_ms > HELLO_SILENT_MS);
	require(is_forgotten || peer->boot != before.boot || peer->counter > before.counter);
	require(is_forgotten || peer->boot >= before.boot || now - before.heard_ms > HELLO_REBOOT_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fl_address self = address_of(0);
	struct hello_node nodes[2] = {{.address = address_of(0)}, {.address = address_of(1)}};
	struct hello_peers *peers;
	uint64_t now = 1000000;
	uint8_t how;

	if (!size)
		return 0;
	how = *data++;
	size--;
	peers = hello_peers_new(&self, how & KEYED ? &keys : NULL);
	require(peers);
	hello_peers_join(peers, cluster);
	hello_peers_set_nodes(peers, nodes, 2, now);
	while (size >= 4) {
		size_t len = fl_load_be16(data) % PACKET_MAX, room = size - 4;
		unsigned mux = data[2] % MUXES;
		uint8_t *packet;

		now += data[3] * 500U;
		if (len > room)
			len = room;
		packet = malloc(len + 1);
		require(packet);
		memcpy(packet, data + 4, len);
		if (how & TAGGED && len >= HELLO_HEAD_LEN + HELLO_TAG_LEN) {
			struct fl_siphash_key key = fl_mux_key(tag_keys_of(&keys, packet[4] & HELLO_KEY));
			uint64_t tag = fl_siphash(&key, packet, (uint32_t)(len - HELLO_TAG_LEN));

			fl_store_be32(packet + len - HELLO_TAG_LEN, (uint32_t)(tag >> 32));
			fl_store_be32(packet + len - HELLO_TAG_LEN + 4, (uint32_t)tag);
		}
		packet = realloc(packet, len ? len : 1); /* exactly, so that ASan sees a read beyond */
		require(packet);
		check_form(packet, len);
		hear(peers, how & KEYED, mux, packet, len, now);
		check_peers(peers, now);
		free(packet);
		data += 4 + len;
		size -= 4 + len;
	}
	hello_peers_expire(peers, now + HELLO_FORGET_MS + 1);
	hello_peers_free(peers);
	return 0;
}
