// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/generation_notice.h>
#include <fairlead/list_tag.h>

#include "keys.h"

/* Which of a pair the cluster's key is: KEY of the headers whose tags are by it is the lowest bit of its first byte. */
static unsigned int bit_of(const struct fl_siphash_key *cluster)
{
	return cluster->k0 & 1;
}

/* Where there is one key only, it is both. */
static void pair_set(struct fl_key_pair *pair, const struct fl_siphash_key *cluster, unsigned int count,
		     const struct fl_siphash_key *key)
{
	if (count == 1)
		pair->by_bit[0] = pair->by_bit[1] = *key;
	else
		pair->by_bit[bit_of(cluster)] = *key;
}

static void add(struct keys *keys, const struct fl_siphash_key *cluster, unsigned int count,
		const struct fl_address self[2])
{
	struct fl_siphash_key key;
	fl_u32 i;

	for (i = 0; i < 2; i++) {
		key = fl_generation_key(cluster, &self[i]);
		pair_set(&keys->notices[i], cluster, count, &key);
	}
	for (i = 0; i < FL_SERVER_SERVICES; i++) {
		key = fl_list_key(cluster, (fl_u16)i);
		keys->services[i].service = i;
		pair_set(&keys->services[i].keys, cluster, count, &key);
	}
}

int keys_derive(struct keys *keys, const struct fl_siphash_key *cluster, unsigned int count,
		const struct fl_address self[2])
{
	unsigned int i;

	memset(keys, 0, sizeof(*keys));
	keys->services = calloc(FL_SERVER_SERVICES, sizeof(*keys->services));
	if (!keys->services)
		return -ENOMEM;
	keys->service_count = FL_SERVER_SERVICES;
	for (i = 0; i < count; i++)
		add(keys, &cluster[i], count, self);
	return 0;
}

void keys_free(struct keys *keys)
{
	if (keys->services)
		explicit_bzero(keys->services, keys->service_count * sizeof(*keys->services));
	free(keys->services);
	memset(keys, 0, sizeof(*keys));
}
