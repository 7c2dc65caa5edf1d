// SPDX-License-Identifier: GPL-2.0-only
#include "setup.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

enum {
	ADDRESS_BITS = 128,
};

static bool covers(const struct fl_peer_key *prefix, const struct fl_address *address)
{
	unsigned int bytes = prefix->prefix_len / 8, bits = prefix->prefix_len % 8;

	if (memcmp(prefix->address.bytes, address->bytes, bytes))
		return false;
	return !bits || !((prefix->address.bytes[bytes] ^ address->bytes[bytes]) >> (8 - bits));
}

/* By address, then by length: a shorter prefix covers a longer one of the same address. */
static int compare(const void *a, const void *b)
{
	const struct fl_peer_key *left = a, *right = b;
	int order = memcmp(&left->address, &right->address, sizeof(left->address));

	return order ? order : (int)left->prefix_len - (int)right->prefix_len;
}

bool fl_setup_peer_is_valid(const struct fl_peer *peer)
{
	const struct fl_peer_key *prefix = &peer->prefix;
	unsigned int bit;

	if (prefix->prefix_len > ADDRESS_BITS || !peer->roles || peer->roles & ~FL_PEER_ANY)
		return false;
	for (bit = prefix->prefix_len; bit < ADDRESS_BITS; bit++)
		if (prefix->address.bytes[bit / 8] & (0x80 >> bit % 8))
			return false;
	return true;
}

/* The longest of the prefixes that covers an address, from this one on outwards; -1: none does. */
static int outwards(const struct fl_setup *setup, int from, const struct fl_address *address)
{
	while (from >= 0 && !covers(&setup->peers[from].peer.prefix, address))
		from = setup->peers[from].around;
	return from;
}

/* Adds a peer behind those that are sorted before it. Of a prefix that is there twice the roles are both's. */
static void peer_add(struct fl_setup *setup, const struct fl_peer *peer)
{
	int last = (int)setup->peer_count - 1, around = outwards(setup, last, &peer->prefix.address);
	struct fl_peer *outer = around < 0 ? NULL : &setup->peers[around].peer;

	if (outer && outer->prefix.prefix_len == peer->prefix.prefix_len)
		outer->roles |= peer->roles;
	else if (!outer || outer->roles != peer->roles)
		setup->peers[setup->peer_count++] = (struct fl_setup_peer){*peer, around};
}

struct fl_setup *fl_setup_create(const struct fl_peer *peers, unsigned int peer_count)
{
	struct fl_setup *setup = kvzalloc(struct_size(setup, peers, peer_count), GFP_KERNEL_ACCOUNT);
	struct fl_peer *sorted = kvmalloc_array(peer_count, sizeof(*sorted), GFP_KERNEL_ACCOUNT);
	unsigned int i;

	if (!setup || !sorted)
		goto err_free;
	memcpy(sorted, peers, peer_count * sizeof(*peers));
	sort(sorted, peer_count, sizeof(*sorted), compare, NULL);
	for (i = 0; i < peer_count; i++)
		peer_add(setup, &sorted[i]);
	kvfree(sorted);
	return setup;

err_free:
	kvfree(sorted);
	kvfree(setup);
	return NULL;
}

void fl_setup_free(struct fl_setup *setup)
{
	kvfree_sensitive(setup->service_keys, setup->service_count * sizeof(*setup->service_keys));
	kvfree_sensitive(setup, struct_size(setup, peers, setup->peer_count));
}

bool fl_setup_trusts(const struct fl_setup *setup, const struct fl_address *address, u32 roles)
{
	unsigned int low = 0, high = setup->peer_count;
	int longest;

	/* In the end low is the number of prefixes whose address is not above this one. */
	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (memcmp(&setup->peers[middle].peer.prefix.address, address, sizeof(*address)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	longest = outwards(setup, (int)low - 1, address);
	return longest >= 0 && setup->peers[longest].peer.roles & roles;
}

const struct fl_siphash_key *fl_setup_service_key(const struct fl_setup *setup, u16 service, bool bit)
{
	const struct fl_service_keys *keys = setup->service_keys;
	unsigned int low = 0, high = setup->service_count;
	u64 place = high ? service - keys[0].service : 0; /* of the service, if the keys are of all from the first on */

	/* With the cluster's key they are. */
	if (place < high && keys[place].service == service)
		return &keys[place].keys.by_bit[bit];
	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (keys[middle].service < service)
			low = middle + 1;
		else
			high = middle;
	}
	return low < setup->service_count && keys[low].service == service ? &keys[low].keys.by_bit[bit] : NULL;
}
