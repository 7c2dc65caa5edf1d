/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/metrics.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <rte_ethdev.h>

#include "config/protection.h"
#include "control/cluster_sync.h"
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

void metrics_sample(FILE *out, const char *name, const char *label, const char *value, uint64_t number)
{
	fprintf(out, "fairlead_mux_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, value, number);
}

/* With the label service and one more. */
static void service_sample(FILE *out, const char *name, const struct service_sync *sync, const char *label,
			   const char *value, uint64_t number)
{
	fprintf(out, "fairlead_mux_%s{service=\"%s\",%s=\"%s\"} %" PRIu64 "\n", name, sync->name, label, value, number);
}

static void write_info(FILE *out, const char *name, const struct sources *from)
{
	fprintf(out, "fairlead_mux_%s{id=\"%s\",version=\"%s\"} 1\n", name, from->id, FAIRLEAD_VERSION);
}

static void write_pipeline(FILE *out, const char *name, const struct sources *from)
{
	metrics_sample(out, name, "mode", from->pipeline, 1);
}

static bool has_pipeline(const struct sources *from)
{
	return from->pipeline;
}

static void write_unprotected(FILE *out, const char *name, const struct sources *from)
{
	for (enum protection i = 0; i < PROTECTIONS; i++)
		metrics_sample(out, name, "what", protections[i].name, from->unprotected >> i & 1);
}

static uint64_t is_connected(const struct sources *from)
{
	return zk_is_connected(from->cluster->zk);
}

static uint64_t is_foreign(const struct sources *from)
{
	return from->cluster->is_foreign;
}

static uint64_t is_registered(const struct sources *from)
{
	return registration_is_registered(from->cluster->registration);
}

/* --state-dir is not none. */
static bool has_state(const struct sources *from)
{
	return from->cluster->state;
}

static uint64_t is_state_usable(const struct sources *from)
{
	return (from->cluster->state->saver && !from->cluster->state->write_error);
}

static uint64_t unsaved(const struct sources *from)
{
	uint64_t count = 0;

	for (const struct service_sync *sync = cluster_sync_next(from->cluster, NULL); sync;
	     sync = cluster_sync_next(from->cluster, sync))
		count += published_is_unsaved(&sync->ring.published);
	return count;
}

static void write_state_writes(FILE *out, const char *name, const struct sources *from)
{
	const struct state_keeper *state = from->cluster->state;

	metrics_sample(out, name, "result", "written", state->written);
	metrics_sample(out, name, "result", "failed", state->failed);
}

static void write_state_refused(FILE *out, const char *name, const struct sources *from)
{
	const struct state_keeper *state = from->cluster->state;

	for (enum state_error error = STATE_UNREADABLE; error < STATE_ERRORS; error++)
		metrics_sample(out, name, "reason", state_error_name(error), state->refused[error]);
}

/* Whether it is current: while there is no session, nothing is compared. */
static bool has_clock(const struct sources *from)
{
	return registration_is_registered(from->cluster->registration) && from->cluster->registration->clock.is_known;
}

static void write_clock(FILE *out, const char *name, const struct sources *from)
{
	if (has_clock(from))
		fprintf(out, "fairlead_mux_%s %.3f\n", name,
			(double)from->cluster->registration->clock.ahead_ms / 1000);
}

static uint64_t window_time(const struct sources *from)
{
	return registration_seconds(from->cluster->registration);
}

static void write_packets(FILE *out, const char *name, const struct sources *from)
{
	for (int v = 0; v < VERDICTS; v++)
		if (!verdict_is_drop(v))
			metrics_sample(out, name, "verdict", verdict_name(v), counters_packets(from->counters, v));
}

static void write_drops(FILE *out, const char *name, const struct sources *from)
{
	for (int v = 0; v < VERDICTS; v++)
		if (verdict_is_drop(v))
			metrics_sample(out, name, "reason", verdict_name(v), counters_packets(from->counters, v));
}

static void write_samples(FILE *out, const char *name, const struct sources *from)
{
	static const char *const results[SAMPLE_RESULTS] = {
	    [SAMPLE_TAKEN] = "taken", [SAMPLE_LIMITED] = "limited", [SAMPLE_FULL] = "full"};

	for (int i = 0; i < SAMPLE_RESULTS; i++)
		metrics_sample(out, name, "result", results[i], counters_samples(from->counters, i));
}

/* NULL: not in the tables. */
static const struct service *service_of(const struct service_sync *sync)
{
	return sync->ring.published.service;
}

static const struct counters *counters_of_service(const struct service_sync *sync)
{
	return sync->ring.published.place->counters;
}

static void write_service_packets(FILE *out, const char *name, const struct service_sync *sync)
{
	if (service_of(sync))
		metrics_sample(out, name, "service", sync->name,
			       counters_service_packets(counters_of_service(sync), service_of(sync)));
}

static void write_service_bytes(FILE *out, const char *name, const struct service_sync *sync)
{
	if (service_of(sync))
		metrics_sample(out, name, "service", sync->name,
			       counters_service_bytes(counters_of_service(sync), service_of(sync)));
}

/* Writes only reasons with drops; all of them would be thousands of zeros. */
static void write_service_drops(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct service *service = service_of(sync);

	for (unsigned v = 0; service && v < VERDICTS; v++) {
		uint64_t drops =
		    verdict_is_service_drop(v) ? counters_service_drops(counters_of_service(sync), service, v) : 0;

		if (drops)
			service_sample(out, name, sync, "reason", verdict_name(v), drops);
	}
}

static void write_lag_generations(FILE *out, const char *name, const struct service_sync *sync)
{
	metrics_sample(out, name, "service", sync->name, lag_generations(&sync->ring.published.lag));
}

static void write_lag_seconds(FILE *out, const char *name, const struct service_sync *sync)
{
	fprintf(out, "fairlead_mux_%s{service=\"%s\"} %.3f\n", name, sync->name,
		(double)lag_ms(&sync->ring.published.lag, zk_now(sync->context->zk)) / 1000);
}

static void write_announced(FILE *out, const char *name, const struct service_sync *sync)
{
	metrics_sample(out, name, "service", sync->name, sync->ring.published.announced);
}

static void write_withdrawn(FILE *out, const char *name, const struct service_sync *sync)
{
	static const char *const reasons[] = {"behind", "settled", "stopping"};
	const char *withdrawn = published_withdrawn(&sync->ring.published);

	for (int i = 0; i < 3; i++)
		service_sample(out, name, sync, "reason", reasons[i], withdrawn && !strcmp(withdrawn, reasons[i]));
}

static void write_generation(FILE *out, const char *name, const struct service_sync *sync)
{
	metrics_sample(out, name, "service", sync->name, ring_sync_generation(&sync->ring));
}

/* ZooKeeper has not said yet what is committed. */
static void write_restored(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct published_service *published = &sync->ring.published;

	metrics_sample(out, name, "service", sync->name, published->restored && !published->lag.read);
}

static void write_state(FILE *out, const char *name, const struct service_sync *sync)
{
	for (enum service_state state = SERVICE_LOADING; state <= SERVICE_STALE; state++)
		service_sample(out, name, sync, "state", service_state_name(state), service_sync_state(sync) == state);
}

static void write_refused(FILE *out, const char *name, const struct service_sync *sync)
{
	for (unsigned reason = 1; reason < REFUSAL_REASONS; reason++)
		if (sync->ring.refused[reason]) /* all of them would be thousands of zeros */
			service_sample(out, name, sync, "reason", refusal_name(reason), sync->ring.refused[reason]);
}

/* Nothing for services without arrays. */
static void write_arrays(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct arrays_set *arrays = &sync->ring.published.arrays;

	if (arrays->newest)
		service_sample(out, name, sync, "arrays", "newest", arrays->version.newest);
	if (arrays->newest && arrays->version.has_previous)
		service_sample(out, name, sync, "arrays", "previous", arrays->version.previous);
}

static void write_arrays_bytes(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct arrays_set *arrays = &sync->ring.published.arrays;

	if (arrays->newest)
		metrics_sample(out, name, "service", sync->name, arrays_set_memory(arrays));
}

static void write_arrays_load(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct arrays_sync *arrays = &sync->ring.arrays;

	if (arrays->list.version.newest)
		fprintf(out, "fairlead_mux_%s{service=\"%s\"} %.3f\n", name, sync->name,
			(double)arrays->took_ms / 1000);
}

static void write_arrays_refused(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct arrays_refusals *refusals = &sync->ring.arrays.refusals;

	for (size_t i = 0; refusals->at[i].word; i++)
		service_sample(out, name, sync, "reason", refusals->at[i].word, refusals->at[i].count);
}

/* NULL: not with steering maat. */
static const struct maat *maat_at(const struct service_sync *sync)
{
	return service_of(sync) ? maat_of(service_of(sync)) : NULL;
}

static void write_filter_cells(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct maat *maat = maat_at(sync);
	uint32_t used = maat ? maat_filter_fill(maat->filter) : 0;

	if (!maat)
		return;
	service_sample(out, name, sync, "state", "used", used);
	service_sample(out, name, sync, "state", "free", maat->filter->mask + 1 - used);
}

/* Only known ones. */
static void write_backend_load(FILE *out, const char *name, const struct service_sync *sync)
{
	const struct maat *maat = maat_at(sync);
	const struct ring *ring = maat ? service_ring(service_of(sync)) : NULL;

	for (uint32_t i = 0; ring && i < ring_backends(ring)->count; i++) {
		uint16_t id = ring_backends(ring)->list[i].id;
		float load = maat_loads_float(&maat->loads->scores[id]);

		if (load >= 0)
			fprintf(out, "fairlead_mux_%s{service=\"%s\",backend=\"%u\"} %.3f\n", name, sync->name, id,
				(double)load);
	}
}

static uint64_t list_cells(const struct sources *from)
{
	return tables_lists(from->tables)->used;
}

static uint64_t lists_refused(const struct sources *from)
{
	return tables_lists(from->tables)->refused;
}

static bool has_announcer(const struct sources *from)
{
	return from->announcer;
}

static uint64_t drained(const struct sources *from)
{
	return from->announcer->drained;
}

static bool has_neighbours(const struct sources *from)
{
	return from->neighbours;
}

static void write_next_hops(FILE *out, const char *name, const struct sources *from)
{
	unsigned resolved, unresolved;

	neighbours_count(from->neighbours, &resolved, &unresolved);
	metrics_sample(out, name, "state", "resolved", resolved);
	metrics_sample(out, name, "state", "unresolved", unresolved);
}

static void write_needs(FILE *out, const char *name, const struct sources *from)
{
	unsigned count = 0, sums[NEED_KINDS] = {0};
	const struct need *list = needs_list(from->cluster->needs, &count);

	for (unsigned i = 0; i < count; i++)
		sums[list[i].kind]++;
	for (enum need_kind kind = NEED_OWN; kind < NEED_KINDS; kind++)
		metrics_sample(out, name, "kind", need_name(kind), sums[kind]);
}

static bool has_needs(const struct sources *from)
{
	return from->cluster->needs;
}

/* clang-format off */
static const struct metric metrics[] = {
	{"info", "gauge", "Always 1; the labels name this mux and its version.", .write = write_info},
	{"pipeline_info", "gauge", "Always 1; the label tells how the pipeline of a mux of kind p4 runs.", .write = write_pipeline,
	 .is_there = has_pipeline},
	{"unprotected", "gauge", "1 for each protection against others in the network that this mux lacks.",
	 .write = write_unprotected},
	{"zookeeper_connected", "gauge", "1 while there is a session with ZooKeeper.",
	 .value = is_connected},
	{"foreign_cluster", "gauge", "1 while ZooKeeper holds a different cluster from the one that is served.",
	 .value = is_foreign},
	{"registered", "gauge", "1 while this mux's own node exists in ZooKeeper.",
	 .value = is_registered},
	{"state_usable", "gauge", "1 while the state can be kept on disk; 0: --state-dir cannot be used, or the last write failed.",
	 .value = is_state_usable, .is_there = has_state},
	{"state_unsaved", "gauge", "Services whose last change is not on disk yet.", .value = unsaved,
	 .is_there = has_state},
	{"state_writes_total", "counter", "Writes and removals of files of the state on disk, by result.",
	 .write = write_state_writes, .is_there = has_state},
	{"state_refused_total", "counter", "Files of the state on disk that were refused at the start, by reason.",
	 .write = write_state_refused, .is_there = has_state},
	{"clock_difference_seconds", "gauge",
	 "Seconds that this clock is at least ahead of ZooKeeper's; negative: behind; absent while unknown.",
	 .write = write_clock},
	{"window_time_seconds", "gauge", "Unix time by which windows of former owners end; 0: not known, none ends.",
	 .value = window_time},
	{"packets_total", "counter", "Packets received and not dropped, by verdict.",
	 .write = write_packets},
	{"drops_total", "counter", "Packets received and dropped, by reason.", .write = write_drops},
	{"samples_total", "counter", "Packets that matched the filter of a recording, by result.",
	 .write = write_samples},
	{"rx_missed_total", "counter", "Packets lost because a port's receive ring was full.",
	 .device = offsetof(struct rte_eth_stats, imissed)},
	{"rx_no_buffer_total", "counter", "Packets lost because no buffer was free.",
	 .device = offsetof(struct rte_eth_stats, rx_nombuf)},
	{"rx_errors_total", "counter", "Packets that a port received damaged.",
	 .device = offsetof(struct rte_eth_stats, ierrors)},
	{"service_packets_total", "counter", "Packets steered, by service.", .service = write_service_packets},
	{"service_bytes_total", "counter", "Bytes of the IP packets steered, as received, by service.",
	 .service = write_service_bytes},
	{"service_drops_total", "counter", "Packets dropped after their service was found, by service and reason.",
	 .service = write_service_drops},
	{"lag_generations", "gauge", "Number of committed generations that the ring lacks.",
	 .service = write_lag_generations},
	{"lag_seconds", "gauge", "How long the ring has lacked a committed generation.", .service = write_lag_seconds},
	{"announced", "gauge", "1 while the service's VIPs are announced.", .service = write_announced},
	{"withdrawn", "gauge", "1 while the VIPs are withdrawn for this reason although the ring could serve.",
	 .service = write_withdrawn},
	{"generation", "gauge", "Generation of the ring that is served; 0: none.", .service = write_generation},
	{"restored", "gauge", "1 while the service is served from disk, and ZooKeeper has not confirmed it yet.",
	 .service = write_restored, .is_there = has_state},
	{"service_state", "gauge", "1 for the state that the service is in.", .service = write_state},
	{"refused_total", "counter", "Configurations, deltas, snapshots and arrays rejected, by reason.",
	 .service = write_refused},
	{"arrays_generation", "gauge",
	 "Generation of the arrays in use; previous 0: packets are steered by the low bits of the hash.",
	 .service = write_arrays},
	{"arrays_bytes", "gauge", "Memory of the arrays in use.", .service = write_arrays_bytes},
	{"arrays_load_seconds", "gauge",
	 "Time to read and check the latest arrays.",
	 .service = write_arrays_load},
	{"arrays_refused_total", "counter", "Arrays, and lists of them, rejected, by reason.",
	 .service = write_arrays_refused},
	{"filter_cells", "gauge", "Cells of the filters of steering maat, by whether they are in use.",
	 .service = write_filter_cells},
	{"backend_load", "gauge", "Load over weight of backends with a known load, by which steering maat chooses.",
	 .service = write_backend_load},
	{"announce_drained_total", "counter",
	 "Packets to VIPs that the kernel sent to a service's TUN device, where they are dropped.", .value = drained,
	 .is_there = has_announcer},
	{"list_cells", "gauge", "Memory of lists of former owners, in units of 32 bytes.", .value = list_cells},
	{"lists_refused_total", "counter", "Lists of former owners for which there was no room.",
	 .value = lists_refused},
	{"needs", "gauge", "Addresses that this mux uses itself and no VIP may have, by use.",
	 .write = write_needs, .is_there = has_needs},
	{"next_hops", "gauge", "Next hops of backends, by whether their MAC address is known.",
	 .write = write_next_hops, .is_there = has_neighbours},
};
/* clang-format on */

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP fairlead_mux_%s %s\n# TYPE fairlead_mux_%s %s\n", name, help, name, type);
}

static void write_value(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "fairlead_mux_%s %" PRIu64 "\n", name, value);
}

/* An argument of --port may contain any character. */
static void write_label(FILE *out, const char *text)
{
	for (; *text; text++)
		fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void write_devices(FILE *out, const struct metric *metric, const struct ports *ports)
{
	for (unsigned i = 0; i < ports->count; i++) {
		const struct port *port = &ports->port[i];
		struct rte_eth_stats stats;

		fprintf(out, "fairlead_mux_%s{port=\"", metric->name);
		write_label(out, port->interface[0] ? port->interface : port->arguments);
		fprintf(out, "\"} %" PRIu64 "\n",
			rte_eth_stats_get(port->id, &stats)
			    ? 0
			    : *(const uint64_t *)(const void *)((const char *)&stats + metric->device));
	}
}

static void write_services(FILE *out, const struct metric *metric, const struct sources *from)
{
	for (const struct service_sync *sync = cluster_sync_next(from->cluster, NULL); sync;
	     sync = cluster_sync_next(from->cluster, sync))
		metric->service(out, metric->name, sync);
}

static void write_metric(FILE *out, const struct metric *metric, const struct sources *from)
{
	if (metric->is_there && !metric->is_there(from))
		return;
	write_head(out, metric->name, metric->type, metric->help);
	if (metric->value)
		write_value(out, metric->name, metric->value(from));
	else if (metric->write)
		metric->write(out, metric->name, from);
	else if (metric->service)
		write_services(out, metric, from);
	else
		write_devices(out, metric, from->ports);
}

void metrics_write(FILE *out, const struct sources *from)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		write_metric(out, &metrics[i], from);
	for (size_t i = 0; i < peer_metrics_count; i++)
		write_metric(out, &peer_metrics[i], from);
	for (unsigned i = 0; i < plain_counters_count; i++) {
		write_head(out, plain_counters[i].metric, "counter", plain_counters[i].help);
		write_value(out, plain_counters[i].metric, counters_plain(from->counters, &plain_counters[i]));
	}
}
