// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>

#include "forget.h"
#include "quiet.h"

/* Deletes the service's buckets and removed servers among these keys; returns how many buckets. */
static unsigned int moves_delete(int map, fl_u16 service, const struct fl_memory_key *keys, __u32 n)
{
	unsigned int deleted = 0;
	__u32 i;

	for (i = 0; i < n; i++)
		if ((keys[i].service & ~FL_MEMORY_REMOVED) == service && !bpf_map_delete_elem(map, &keys[i]))
			deleted += !fl_memory_is_of_removed(&keys[i]);
	return deleted;
}

int forget_service(const struct running *running, fl_u16 service, struct forgotten *forgotten)
{
	static struct fl_memory_key keys[RUNNING_BATCH];
	static struct fl_bucket_memory values[RUNNING_BATCH];
	__u32 slot = service, none = 0, *cursor = NULL, position, n;
	bool last = false;
	int err;

	*forgotten = (struct forgotten){.service = service};
	while (!last) {
		n = running_batch(running->memory, &cursor, &position, keys, values, &last);
		forgotten->moves += moves_delete(running->memory, service, keys, n);
	}
	if (bpf_map_lookup_elem(running->generations, &slot, &forgotten->generation))
		return -errno;
	err = running->quiet < 0 ? 0 : quiet_again(running->quiet); /* before it knows no late mux */
	if (!err && bpf_map_update_elem(running->generations, &slot, &none, BPF_ANY))
		err = -errno;
	return err;
}

int forget_report(const struct forgotten *forgotten, const char *where)
{
	if (!forgotten->generation && !forgotten->moves) {
		fprintf(stderr, "fairlead-server: %s: nothing is known of service %u\n", where, forgotten->service);
		return -ENOENT;
	}
	printf(
	    "%s: forgot service %u: generation %u, and the moves of %u buckets; packets and notices teach them again\n",
	    where, forgotten->service, forgotten->generation, forgotten->moves);
	return 0;
}
