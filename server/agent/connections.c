// SPDX-License-Identifier: Apache-2.0
#include "connections.h"

#include <stdlib.h>
#include <string.h>

enum numbers {
	SLOTS_MIN = 1024,
	KEY_BYTES = 22, /* without padding */
};

struct connections *connections_new(const struct fl_siphash_key *seed)
{
	struct connections *connections = calloc(1, sizeof(*connections));

	if (!connections)
		return NULL;
	connections->seed = *seed;
	connections->mask = SLOTS_MIN - 1;
	connections->slots = calloc(SLOTS_MIN, sizeof(struct connection));
	if (!connections->slots) {
		free(connections);
		return NULL;
	}
	return connections;
}

void connections_free(struct connections *connections)
{
	if (!connections)
		return;
	free(connections->slots);
	free(connections);
}

_Static_assert(offsetof(struct connection_key, endpoint) + sizeof(fl_u16) == KEY_BYTES, "the length of a key");
_Static_assert(offsetof(struct connection, mark) == KEY_BYTES, "a connection begins as its key does");

static fl_u32 hash(const struct connections *connections, const struct connection_key *key)
{
	return (fl_u32)fl_siphash(&connections->seed, (const fl_u8 *)key, KEY_BYTES);
}

static struct connection *probe(const struct connections *connections, const struct connection_key *key, fl_u32 hashed)
{
	size_t at = hashed & connections->mask;

	while (connections->slots[at].state != CONNECTION_NONE &&
	       (connections->slots[at].slot_hash != hashed || memcmp(&connections->slots[at], key, KEY_BYTES)))
		at = (at + 1) & connections->mask;
	return &connections->slots[at];
}

struct connection *connections_find(const struct connections *connections, const struct connection_key *key)
{
	struct connection *found = probe(connections, key, hash(connections, key));

	return found->state == CONNECTION_NONE ? NULL : found;
}

static bool grow(struct connections *connections)
{
	size_t slots = 2 * (connections->mask + 1), i;
	struct connection *old = connections->slots;
	size_t old_slots = connections->mask + 1;
	struct connection *new = calloc(slots, sizeof(*new));

	if (!new)
		return false;
	connections->slots = new;
	connections->mask = slots - 1;
	for (i = 0; i < old_slots; i++) {
		size_t at = old[i].slot_hash & connections->mask;

		if (old[i].state == CONNECTION_NONE)
			continue;
		while (new[at].state != CONNECTION_NONE)
			at = (at + 1) & connections->mask;
		new[at] = old[i];
	}
	free(old);
	return true;
}

struct connection *connections_add(struct connections *connections, const struct connection_key *key)
{
	fl_u32 hashed = hash(connections, key);
	struct connection *slot;

	if (4 * (connections->used + 1) > 3 * (connections->mask + 1) && !grow(connections))
		return NULL;
	slot = probe(connections, key, hashed);
	*slot = (struct connection){.remote = key->remote,
				    .remote_port = key->remote_port,
				    .local_port = key->local_port,
				    .endpoint = key->endpoint,
				    .state = CONNECTION_LIVE,
				    .slot_hash = hashed};
	connections->used++;
	return slot;
}

void connections_remove(struct connections *connections, struct connection *connection)
{
	size_t hole = (size_t)(connection - connections->slots), at = hole;

	for (;;) {
		at = (at + 1) & connections->mask;
		if (connections->slots[at].state == CONNECTION_NONE)
			break;
		/* it may move to the hole unless its first slot lies behind the hole */
		if (((at - connections->slots[at].slot_hash) & connections->mask) >=
		    ((at - hole) & connections->mask)) {
			connections->slots[hole] = connections->slots[at];
			hole = at;
		}
	}
	connections->slots[hole] = (struct connection){0};
	connections->used--;
}
