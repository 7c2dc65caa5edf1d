/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/preflight.h"

#include <stdio.h>
#include <string.h>

#include <rte_eal.h>

#include "host/port.h"
#include "preflight/report.h"

/* Starts DPDK only if it is needed to check some port. Ports are opened, not started. */
static void check_devices(struct preflight *preflight, const struct options *options)
{
	static struct options raw;
	static struct ports ports;
	struct reason why = {""};

	raw = *options;
	raw.ports_count = 0;
	for (unsigned i = 0; i < options->ports_count; i++)
		if (strncmp(options->ports[i], "af_xdp:", 7) && strncmp(options->ports[i], "af_packet:", 10))
			strcpy(raw.ports[raw.ports_count++], options->ports[i]);
	if (!raw.ports_count || preflight_count(preflight, PREFLIGHT_FAIL))
		return;
	raw.no_exception = true; /* checks need no TAP */
	if (ports_environment(&raw, &why) || ports_look(&ports, &raw, &why))
		preflight_add(preflight, "device", NULL, PREFLIGHT_FAIL, "%s", why.text);
	else
		preflight_devices(preflight, &raw, &ports);
	ports_close(&ports);
	rte_eal_cleanup();
}

int preflight_main(const struct options *options)
{
	static struct preflight preflight;

	preflight_host(&preflight, options);
	check_devices(&preflight, options);
	preflight_zookeeper(&preflight, options);
	preflight_print(&preflight, options->json, stdout);
	return preflight_count(&preflight, PREFLIGHT_FAIL) ? 1 : 0;
}

int preflight_before_start(const struct options *options, struct reason *why)
{
	static struct preflight preflight;

	preflight_host(&preflight, options);
	return preflight_log(&preflight, why);
}

static void *check_zookeeper(void *context)
{
	const struct preflight_thread *thread = context;
	static struct preflight preflight;
	struct reason ignored; /* ZooKeeper may become reachable later */

	preflight_zookeeper(&preflight, thread->options);
	preflight_log(&preflight, &ignored);
	return NULL;
}

void preflight_zookeeper_begin(struct preflight_thread *thread, const struct options *options)
{
	thread->options = options;
	thread->runs = !pthread_create(&thread->id, NULL, check_zookeeper, thread);
	if (!thread->runs)
		fprintf(stderr, "mux event=preflight_failed why=\"no thread for the checks of ZooKeeper\"\n");
}

void preflight_zookeeper_end(struct preflight_thread *thread)
{
	if (thread->runs)
		pthread_join(thread->id, NULL);
	thread->runs = false;
}

int preflight_opened(const struct options *options, const struct ports *ports, struct reason *why)
{
	static struct preflight preflight;

	preflight_devices(&preflight, options, ports);
	return preflight_log(&preflight, why);
}
