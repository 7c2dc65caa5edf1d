// SPDX-License-Identifier: Apache-2.0
#include "server_looped.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_loop.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* bpftool writes the program as one string */
#include "server_loop.skel.h"
#pragma GCC diagnostic pop

struct looped {
	struct server_loop_bpf *skeleton;
};

static void give_up(const char *what, int err)
{
	fprintf(stderr, "server_bpf: the loop: %s: %s\n", what, strerror(err));
	exit(1);
}

struct looped *looped_open(void)
{
	struct looped *looped = calloc(1, sizeof(*looped));

	if (looped)
		looped->skeleton = server_loop_bpf__open_and_load();
	if (!looped || !looped->skeleton)
		give_up("cannot load its program", errno);
	return looped;
}

void looped_close(struct looped *looped)
{
	server_loop_bpf__destroy(looped->skeleton);
	free(looped);
}

int looped_prepare(struct looped *looped, int program, const struct packet *packet)
{
	struct server_loop original = {.len = (__u32)packet->len};
	__u32 slot = 0;

	if (packet->len < sizeof(original.bytes))
		give_up("a packet shorter than what is put back", EINVAL);
	memcpy(original.bytes, packet->data, sizeof(original.bytes));
	if (bpf_map_update_elem(bpf_map__fd(looped->skeleton->maps.original), &slot, &original, BPF_ANY) ||
	    bpf_map_update_elem(bpf_map__fd(looped->skeleton->maps.subject), &slot, &program, BPF_ANY))
		give_up("cannot fill its maps", errno);
	return bpf_program__fd(looped->skeleton->progs.server_loop);
}
