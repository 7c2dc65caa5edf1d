// SPDX-License-Identifier: GPL-2.0-only
#include "setup.h"

#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

enum {
	ADDRESS_BITS = 128,
};

/* Whether address begins with the prefix. */
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

bool fl_setup_peer_is_valid(const struct fl_peer_key *peer)
{
	unsigned int bit;

	if (peer->prefix_len > ADDRESS_BITS)
		return false;
	for (bit = peer->prefix_len; bit < ADDRESS_BITS; bit++)
		if (peer->address.bytes[bit / 8] & (0x80 >> bit % 8))
			return false;
	return true;
}

struct fl_setup *fl_setup_create(const struct fl_peer_key *peers, unsigned int count)
{
	struct fl_setup *setup = kzalloc(struct_size(setup, peers, count), GFP_KERNEL_ACCOUNT);
	unsigned int i, kept = 0;

	if (!setup)
		return NULL;
	memcpy(setup->peers, peers, count * sizeof(*peers));
	sort(setup->peers, count, sizeof(*peers), compare, NULL);
	for (i = 0; i < count; i++)
		if (!kept || !covers(&setup->peers[kept - 1], &setup->peers[i].address))
			setup->peers[kept++] = setup->peers[i];
	setup->peer_count = kept;
	return setup;
}

void fl_setup_free(struct fl_setup *setup)
{
	kfree_sensitive(setup);
}

bool fl_setup_trusts(const struct fl_setup *setup, const struct fl_address *source)
{
	unsigned int low = 0, high = setup->peer_count;

	/* In the end low is the number of prefixes whose address is not above source. */
	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (memcmp(&setup->peers[middle].address, source, sizeof(*source)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && covers(&setup->peers[low - 1], source);
}
