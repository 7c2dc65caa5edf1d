/* SPDX-License-Identifier: Apache-2.0 */
#include "flowtable_mux.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/options.h"
#include "flowtable.h"

static unsigned long flows;
static struct flowtable *tables[OPTIONS_WORKERS_MAX]; /* as long as the process */

/* In place of burst.h's. */
void __wrap_burst_steer(struct burst *burst);
void __wrap_burst_steer_classified(struct burst *burst);

void __wrap_burst_steer(struct burst *burst)
{
	flowtable_steer(tables[burst->worker], burst);
}

void __wrap_burst_steer_classified(struct burst *burst)
{
	flowtable_steer_classified(tables[burst->worker], burst);
}

static int check(const struct options *options, struct reason *why)
{
	if (!options->check_paths)
		return 0;
	return reason_set(why, -EINVAL, "--check-paths is %u; allowed: 0, since each packet changes what is known",
			  options->check_paths);
}

static int open(struct front **front, const struct mux *mux, struct reason *why)
{
	*front = NULL;
	for (unsigned i = 0; i < mux->options->workers; i++) {
		tables[i] = flowtable_new(i, (uint32_t)flows, why);
		if (!tables[i])
			return -ENOMEM;
	}
	return 0;
}

const struct mux_kind *flowtable_mux(int *argc, char **argv)
{
	static const char *const steering[] = {"ring", NULL};
	static const struct mux_serves serves = {.steering = steering};
	static const struct mux_kind kind = {
	    .name = "c", .program = "stateful_mux", .about = "", .serves = &serves, .check = check, .open = open};

	int at = 1;

	while (at < *argc && strcmp(argv[at], "--flows"))
		at++;
	flows = at + 1 < *argc ? strtoul(argv[at + 1], NULL, 10) : 0;
	if (!flows || flows > FLOWTABLE_FLOWS_MAX) {
		fprintf(stderr, "%s: --flows is missing or wrong; allowed: 1..%d\n", argv[0], FLOWTABLE_FLOWS_MAX);
		exit(2);
	}
	*argc -= 2;
	memmove(argv + at, argv + at + 2, (size_t)(*argc - at + 1) * sizeof(*argv)); /* with the NULL at the end */
	return &kind;
}
