// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>

#include "forget.h"
#include "quiet.h"

int forget_service(const struct running *running, fl_u16 service, fl_u32 *generation)
{
	__u32 slot = service, none = 0;
	int err;

	if (bpf_map_lookup_elem(running->generations, &slot, generation))
		return -errno;
	err = quiet_begin(running->quiet, running->config.quiet); /* before it knows no late mux */
	if (!err && bpf_map_update_elem(running->generations, &slot, &none, BPF_ANY))
		err = -errno;
	return err;
}

int forget_report(fl_u16 service, fl_u32 generation, const char *where)
{
	if (!generation) {
		fprintf(stderr, "fairlead-server: %s: nothing is known of service %u\n", where, service);
		return -ENOENT;
	}
	printf("%s: forgot service %u: generation %u; the next packet or notice teaches it again\n", where, service,
	       generation);
	return 0;
}
