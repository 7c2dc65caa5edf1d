/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/metrics.h"

#include <string.h>

#include <rte_ethdev.h>

#include "config/protection.h"
#include "control/cluster/cluster_sync.h"
#include "host/announce.h"
#include "host/needs.h"
#include "host/neighbour.h"
#include "host/port.h"
#include "packet/counters.h"
#include "ring/backend.h"
#include "ring/lists.h"
#include "steering/maat/maat.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

/* How many services can't be forwarded for this reason. */
static unsigned count_sick(const struct sources *from, enum ailment ailment)
{
	unsigned count = from->cluster->sick.of_mux == ailment;

	SOURCES_EACH_SERVICE (from, sync)
		count += sync->ring.published.sick.ailment == ailment;
	return count;
}

static void write_mux(struct exposition *to, const struct sources *from)
{
	exposition_begin(to, "info", "gauge", "Always 1; the labels name this mux and its version.");
	fprintf(to->out, "fairlead_mux_info{id=\"%s\",version=\"%s\"} 1\n", from->id, FAIRLEAD_VERSION);
	if (from->pipeline) {
		exposition_begin(to, "pipeline_info", "gauge",
				 "Always 1; the label tells how the pipeline of a mux of kind p4 runs.");
		exposition_add(to, "mode", from->pipeline, 1);
	}
	exposition_begin(to, "unprotected", "gauge",
			 "1 for each protection against others in the network that this mux lacks.");
	for (enum protection i = 0; i < PROTECTIONS; i++)
		exposition_add(to, "what", protections[i].name, from->unprotected >> i & 1);
	exposition_write(to, "zookeeper_connected", "gauge", "1 while there is a session with ZooKeeper.",
			 tree_is_connected(from->cluster->tree));
	exposition_write(to, "foreign_cluster", "gauge",
			 "1 while ZooKeeper holds a different cluster from the one that is served.",
			 from->cluster->is_foreign);
	exposition_write(to, "registered", "gauge", "1 while this mux's own node exists in ZooKeeper.",
			 registration_is_registered(from->cluster->registration));
	exposition_begin(to, "sick", "gauge",
			 "1 while this mux can't forward packets of some service, for this reason.");
	for (enum ailment i = AILMENT_NONE + 1; i < AILMENTS; i++)
		exposition_add(to, "reason", ailment_name(i), count_sick(from, i) > 0);
}

static void write_saved(struct exposition *to, const struct sources *from)
{
	const struct state_keeper *state = from->cluster->state;
	uint64_t unsaved = 0;

	if (!state) /* --state-dir none */
		return;
	SOURCES_EACH_SERVICE (from, sync)
		unsaved += published_is_unsaved(&sync->ring.published);
	exposition_write(to, "state_usable", "gauge",
			 "1 while the state can be kept on disk; 0: --state-dir cannot be used, or the last write "
			 "failed.",
			 state->saver && !state->write_error);
	exposition_write(to, "state_unsaved", "gauge", "Services whose last change is not on disk yet.", unsaved);
	exposition_begin(to, "state_writes_total", "counter",
			 "Writes and removals of files of the state on disk, by result.");
	exposition_add(to, "result", "written", state->written);
	exposition_add(to, "result", "failed", state->failed);
	exposition_begin(to, "state_refused_total", "counter",
			 "Files of the state on disk that were refused at the start, by reason.");
	for (enum state_error error = STATE_UNREADABLE; error < STATE_ERRORS; error++)
		exposition_add(to, "reason", state_error_name(error), state->refused[error]);
}

static void write_clock(struct exposition *to, struct registration *registration)
{
	exposition_begin(to, "clock_difference_seconds", "gauge",
			 "Seconds that this clock is at least ahead of ZooKeeper's; negative: behind; absent while "
			 "unknown.");
	/* while there is no session, nothing is compared */
	if (registration_is_registered(registration) && registration->clock.is_known)
		exposition_add_decimal(to, NULL, NULL, (double)registration->clock.ahead_ms / 1000);
	exposition_write(to, "window_time_seconds", "gauge",
			 "Unix time by which windows of former owners end; 0: not known, none ends.",
			 registration_seconds(registration));
}

static void write_verdicts(struct exposition *to, const struct sources *from, bool drops)
{
	for (int v = 0; v < VERDICTS; v++)
		if (verdict_is_drop(v) == drops)
			exposition_add(to, drops ? "reason" : "verdict", verdict_name(v),
				       counters_packets(from->counters, v));
}

/* What the ports count of themselves; at: of the number in struct rte_eth_stats. */
static void write_device(struct exposition *to, const struct sources *from, const char *name, const char *help,
			 size_t at)
{
	exposition_begin(to, name, "counter", help);
	for (unsigned i = 0; i < from->ports->count; i++) {
		const struct port *port = &from->ports->port[i];
		struct rte_eth_stats stats;
		uint64_t number = 0;

		if (!rte_eth_stats_get(port->id, &stats))
			memcpy(&number, (const char *)&stats + at, sizeof(number));
		exposition_add(to, "port", port->interface[0] ? port->interface : port->arguments, number);
	}
}

static void write_packets(struct exposition *to, const struct sources *from)
{
	static const char *const results[SAMPLE_RESULTS] = {
	    [SAMPLE_TAKEN] = "taken", [SAMPLE_LIMITED] = "limited", [SAMPLE_FULL] = "full"};

	exposition_begin(to, "packets_total", "counter", "Packets received and not dropped, by verdict.");
	write_verdicts(to, from, false);
	exposition_begin(to, "drops_total", "counter", "Packets received and dropped, by reason.");
	write_verdicts(to, from, true);
	exposition_begin(to, "samples_total", "counter", "Packets that matched the filter of a recording, by result.");
	for (int i = 0; i < SAMPLE_RESULTS; i++)
		exposition_add(to, "result", results[i], counters_samples(from->counters, i));
	write_device(to, from, "rx_missed_total", "Packets lost because a port's receive ring was full.",
		     offsetof(struct rte_eth_stats, imissed));
	write_device(to, from, "rx_no_buffer_total", "Packets lost because no buffer was free.",
		     offsetof(struct rte_eth_stats, rx_nombuf));
	write_device(to, from, "rx_errors_total", "Packets that a port received damaged.",
		     offsetof(struct rte_eth_stats, ierrors));
}

static const struct service_sync *next_service(struct exposition *to, const struct sources *from,
					       const struct service_sync *after)
{
	const struct service_sync *sync = cluster_sync_next(from->cluster, after);

	to->service = sync ? sync->name : NULL;
	return sync;
}

/* Each service, which is the label of all samples meanwhile. */
#define METRICS_EACH_SERVICE(to, from, sync)                                                                           \
	for (const struct service_sync *sync = next_service(to, from, NULL); sync; sync = next_service(to, from, sync))

/* NULL: not in the tables. */
static const struct service *service_of(const struct service_sync *sync)
{
	return sync->ring.published.service;
}

static const struct counters *counters_of_service(const struct service_sync *sync)
{
	return sync->ring.published.place->counters;
}

/* Writes only reasons with drops; all of them would be thousands of zeros. */
static void write_service_drops(struct exposition *to, const struct service_sync *sync)
{
	const struct service *service = service_of(sync);

	for (unsigned v = 0; service && v < VERDICTS; v++) {
		uint64_t drops =
		    verdict_is_service_drop(v) ? counters_service_drops(counters_of_service(sync), service, v) : 0;

		if (drops)
			exposition_add(to, "reason", verdict_name(v), drops);
	}
}

static void write_service_packets(struct exposition *to, const struct sources *from)
{
	exposition_begin(to, "service_packets_total", "counter", "Packets steered, by service.");
	METRICS_EACH_SERVICE (to, from, sync)
		if (service_of(sync))
			exposition_add(to, NULL, NULL,
				       counters_service_packets(counters_of_service(sync), service_of(sync)));
	exposition_begin(to, "service_bytes_total", "counter",
			 "Bytes of the IP packets steered, as received, by service.");
	METRICS_EACH_SERVICE (to, from, sync)
		if (service_of(sync))
			exposition_add(to, NULL, NULL,
				       counters_service_bytes(counters_of_service(sync), service_of(sync)));
	exposition_begin(to, "service_drops_total", "counter",
			 "Packets dropped after their service was found, by service and reason.");
	METRICS_EACH_SERVICE (to, from, sync)
		write_service_drops(to, sync);
}

static void write_announced(struct exposition *to, const struct sources *from)
{
	static const char *const reasons[] = {"behind", "settled", "stopping", "worker", "port", "neighbour"};

	exposition_begin(to, "lag_generations", "gauge", "Number of committed generations that the ring lacks.");
	METRICS_EACH_SERVICE (to, from, sync)
		exposition_add(to, NULL, NULL, lag_generations(&sync->ring.published.lag));
	exposition_begin(to, "lag_seconds", "gauge", "How long the ring has lacked a committed generation.");
	METRICS_EACH_SERVICE (to, from, sync)
		exposition_add_decimal(to, NULL, NULL,
				       (double)lag_ms(&sync->ring.published.lag, tree_now(sync->context->tree)) / 1000);
	exposition_begin(to, "announced", "gauge", "1 while the service's VIPs are announced.");
	METRICS_EACH_SERVICE (to, from, sync)
		exposition_add(to, NULL, NULL, sync->ring.published.announced);
	exposition_begin(to, "withdrawn", "gauge",
			 "1 while the VIPs are withdrawn for this reason although the ring could serve.");
	METRICS_EACH_SERVICE (to, from, sync)
		for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
			const char *withdrawn = published_withdrawn(&sync->ring.published);

			exposition_add(to, "reason", reasons[i], withdrawn && !strcmp(withdrawn, reasons[i]));
		}
}

static void write_states(struct exposition *to, const struct sources *from)
{
	exposition_begin(to, "generation", "gauge", "Generation of the ring that is served; 0: none.");
	METRICS_EACH_SERVICE (to, from, sync)
		exposition_add(to, NULL, NULL, ring_sync_generation(&sync->ring));
	if (from->cluster->state) {
		exposition_begin(to, "restored", "gauge",
				 "1 while the service is served from disk, and ZooKeeper has not confirmed it yet.");
		METRICS_EACH_SERVICE (to, from, sync)
			exposition_add(to, NULL, NULL, sync->ring.published.restored && !sync->ring.published.lag.read);
	}
	exposition_begin(to, "service_state", "gauge", "1 for the state that the service is in.");
	METRICS_EACH_SERVICE (to, from, sync)
		for (enum service_state state = SERVICE_LOADING; state <= SERVICE_STALE; state++)
			exposition_add(to, "state", service_state_name(state), service_sync_state(sync) == state);
	exposition_begin(to, "refused_total", "counter",
			 "Configurations, deltas, snapshots and arrays rejected, by reason.");
	METRICS_EACH_SERVICE (to, from, sync)
		for (unsigned reason = 1; reason < REFUSAL_REASONS; reason++)
			if (sync->ring.refused[reason]) /* all of them would be thousands of zeros */
				exposition_add(to, "reason", refusal_name(reason), sync->ring.refused[reason]);
}

/* Nothing for services without arrays. */
static void write_arrays(struct exposition *to, const struct sources *from)
{
	exposition_begin(to, "arrays_generation", "gauge",
			 "Generation of the arrays in use; previous 0: packets are steered by the low bits of the "
			 "hash.");
	METRICS_EACH_SERVICE (to, from, sync) {
		const struct arrays_set *arrays = &sync->ring.published.arrays;

		if (arrays->newest)
			exposition_add(to, "arrays", "newest", arrays->version.newest);
		if (arrays->newest && arrays->version.has_previous)
			exposition_add(to, "arrays", "previous", arrays->version.previous);
	}
	exposition_begin(to, "arrays_bytes", "gauge", "Memory of the arrays in use.");
	METRICS_EACH_SERVICE (to, from, sync)
		if (sync->ring.published.arrays.newest)
			exposition_add(to, NULL, NULL, arrays_set_memory(&sync->ring.published.arrays));
	exposition_begin(to, "arrays_load_seconds", "gauge", "Time to read and check the latest arrays.");
	METRICS_EACH_SERVICE (to, from, sync)
		if (sync->ring.arrays.list.version.newest)
			exposition_add_decimal(to, NULL, NULL, (double)sync->ring.arrays.took_ms / 1000);
	exposition_begin(to, "arrays_refused_total", "counter", "Arrays, and lists of them, rejected, by reason.");
	METRICS_EACH_SERVICE (to, from, sync) {
		const struct arrays_refusals *refusals = &sync->ring.arrays.refusals;

		for (size_t i = 0; refusals->at[i].word; i++)
			exposition_add(to, "reason", refusals->at[i].word, refusals->at[i].count);
	}
}

/* NULL: not with steering maat. */
static const struct maat *maat_at(const struct service_sync *sync)
{
	return service_of(sync) ? maat_of(service_of(sync)) : NULL;
}

/* Only known ones. */
static void write_backend_loads(struct exposition *to, const struct service_sync *sync)
{
	const struct maat *maat = maat_at(sync);
	const struct ring *ring = maat ? service_ring(service_of(sync)) : NULL;

	for (uint32_t i = 0; ring && i < ring_backends(ring)->count; i++) {
		uint16_t id = ring_backends(ring)->list[i].id;
		float load = maat_loads_float(&maat->loads->scores[id]);
		char number[8];

		snprintf(number, sizeof(number), "%u", id);
		if (load >= 0)
			exposition_add_decimal(to, "backend", number, (double)load);
	}
}

static void write_maat(struct exposition *to, const struct sources *from)
{
	exposition_begin(to, "filter_cells", "gauge",
			 "Cells of the filters of steering maat, by whether they are in use.");
	METRICS_EACH_SERVICE (to, from, sync) {
		const struct maat *maat = maat_at(sync);
		uint32_t used = maat ? maat_filter_fill(maat->filter) : 0;

		if (!maat)
			continue;
		exposition_add(to, "state", "used", used);
		exposition_add(to, "state", "free", maat->filter->mask + 1 - used);
	}
	exposition_begin(to, "backend_load", "gauge",
			 "Load over weight of backends with a known load, by which steering maat chooses.");
	METRICS_EACH_SERVICE (to, from, sync)
		write_backend_loads(to, sync);
}

static void write_host(struct exposition *to, const struct sources *from)
{
	const struct lists *lists = from->tables->lists;
	unsigned count = 0, resolved, unresolved, sums[NEED_KINDS] = {0};

	if (from->announcer)
		exposition_write(to, "announce_drained_total", "counter",
				 "Packets to VIPs that the kernel sent to a service's TUN device, where they are "
				 "dropped.",
				 from->announcer->drained);
	exposition_write(to, "list_cells", "gauge", "Memory of lists of former owners, in units of 32 bytes.",
			 lists->used);
	exposition_write(to, "lists_refused_total", "counter", "Lists of former owners for which there was no room.",
			 lists->refused);
	if (from->cluster->needs) {
		const struct need *list = needs_list(from->cluster->needs, &count);

		exposition_begin(to, "needs", "gauge",
				 "Addresses that this mux uses itself and no VIP may have, by use.");
		for (unsigned i = 0; i < count; i++)
			sums[list[i].kind]++;
		for (enum need_kind kind = NEED_OWN; kind < NEED_KINDS; kind++)
			exposition_add(to, "kind", need_name(kind), sums[kind]);
	}
	if (from->neighbours) {
		neighbours_count(from->neighbours, &resolved, &unresolved);
		exposition_begin(to, "next_hops", "gauge",
				 "Next hops of backends, by whether their MAC address is known.");
		exposition_add(to, "state", "resolved", resolved);
		exposition_add(to, "state", "unresolved", unresolved);
	}
}

void metrics_write(FILE *out, const struct sources *from)
{
	struct exposition to = {.out = out, .prefix = "fairlead_mux"};

	write_mux(&to, from);
	write_saved(&to, from);
	write_clock(&to, from->cluster->registration);
	write_packets(&to, from);
	write_service_packets(&to, from);
	write_announced(&to, from);
	write_states(&to, from);
	write_arrays(&to, from);
	write_maat(&to, from);
	write_host(&to, from);
	peer_metrics_write(&to, from);
	for (unsigned i = 0; i < plain_counters_count; i++)
		exposition_write(&to, plain_counters[i].metric, "counter", plain_counters[i].help,
				 counters_plain(from->counters, &plain_counters[i]));
}
