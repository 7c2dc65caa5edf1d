/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/metrics.h"

#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>

#include "host/port.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP fairlead_mux_%s %s\n# TYPE fairlead_mux_%s %s\n", name, help, name, type);
}

/* A metric without labels. */
static void one(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	head(out, name, type, help);
	fprintf(out, "fairlead_mux_%s %" PRIu64 "\n", name, value);
}

static void write_packets(FILE *out, const struct counters *counters)
{
	static const char *const samples[SAMPLE_RESULTS] = {
	    [SAMPLE_TAKEN] = "taken", [SAMPLE_LIMITED] = "limited", [SAMPLE_FULL] = "full"};

	head(out, "packets_total", "counter", "Packets received: steered, passed to the kernel, or sent by it.");
	for (int v = 0; v < VERDICTS; v++)
		if (!verdict_is_drop(v))
			fprintf(out, "fairlead_mux_packets_total{verdict=\"%s\"} %" PRIu64 "\n", verdict_name(v),
				counters_packets(counters, v));
	head(out, "drops_total", "counter", "Packets received and dropped, by reason.");
	for (int v = 0; v < VERDICTS; v++)
		if (verdict_is_drop(v))
			fprintf(out, "fairlead_mux_drops_total{reason=\"%s\"} %" PRIu64 "\n", verdict_name(v),
				counters_packets(counters, v));
	head(out, "samples_total", "counter", "Packets that recordings asked for, by what became of the sample.");
	for (int i = 0; i < SAMPLE_RESULTS; i++)
		fprintf(out, "fairlead_mux_samples_total{result=\"%s\"} %" PRIu64 "\n", samples[i],
			counters_samples(counters, i));
	one(out, "bytes_total", "counter", "Bytes of the frames that were steered, as received.",
	    counters_bytes(counters));
	one(out, "moved_packets_total", "counter", "Packets steered with the previous owner of their bucket.",
	    counters_moved(counters));
}

/* What --port says may be anything. */
static void write_label(FILE *out, const char *text)
{
	for (; *text; text++)
		fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* One of the counts that devices keep, of each port. */
static void write_device_count(FILE *out, const struct ports *ports, const char *name, const char *help,
			       const uint64_t counts[OPTIONS_PORTS_MAX])
{
	head(out, name, "counter", help);
	for (unsigned i = 0; i < ports->count; i++) {
		const struct port *port = &ports->port[i];

		fprintf(out, "fairlead_mux_%s{port=\"", name);
		write_label(out, port->interface[0] ? port->interface : port->arguments);
		fprintf(out, "\"} %" PRIu64 "\n", counts[i]);
	}
}

/* What no worker has seen, as the devices tell. */
static void write_ports(FILE *out, const struct ports *ports)
{
	uint64_t missed[OPTIONS_PORTS_MAX] = {0}, no_buffer[OPTIONS_PORTS_MAX] = {0}, errors[OPTIONS_PORTS_MAX] = {0};

	for (unsigned i = 0; i < ports->count; i++) {
		struct rte_eth_stats stats;

		if (rte_eth_stats_get(ports->port[i].id, &stats))
			continue;
		missed[i] = stats.imissed;
		no_buffer[i] = stats.rx_nombuf;
		errors[i] = stats.ierrors;
	}
	write_device_count(out, ports, "rx_missed_total", "Packets that found a port's receive ring full.", missed);
	write_device_count(out, ports, "rx_no_buffer_total", "Packets for which there was no buffer.", no_buffer);
	write_device_count(out, ports, "rx_errors_total", "Packets that a port found damaged.", errors);
}

/* NULL: not in the tables. */
static const struct service *service_of(const struct service_sync *sync)
{
	return service_sync_view_published(sync)->service;
}

/* Those that are not zero: thousands of zeros otherwise. */
static void write_service_drops(FILE *out, const struct counters *counters, const struct service *service)
{
	for (unsigned v = SERVICE_DROP_FIRST; v <= SERVICE_DROP_LAST; v++) {
		uint64_t drops = counters_is_service_drop(v) ? counters_service_drops(counters, service, v) : 0;

		if (drops)
			fprintf(out, "fairlead_mux_service_drops_total{service=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
				service->config.name, verdict_name(v), drops);
	}
}

static void write_services(FILE *out, const struct http_sources *from)
{
	const struct service_sync *sync;

	head(out, "service_packets_total", "counter", "Packets steered, by service.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		if (service_of(sync))
			fprintf(out, "fairlead_mux_service_packets_total{service=\"%s\"} %" PRIu64 "\n",
				service_sync_name(sync), counters_service_packets(from->counters, service_of(sync)));
	head(out, "service_bytes_total", "counter", "Bytes of the IP packets steered, as received, by service.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		if (service_of(sync))
			fprintf(out, "fairlead_mux_service_bytes_total{service=\"%s\"} %" PRIu64 "\n",
				service_sync_name(sync), counters_service_bytes(from->counters, service_of(sync)));
	head(out, "service_drops_total", "counter",
	     "Packets dropped once their service was found, by service and reason.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		if (service_of(sync))
			write_service_drops(out, from->counters, service_of(sync));
	head(out, "lag_generations", "gauge", "Committed generations that the ring that serves lacks.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		fprintf(out, "fairlead_mux_lag_generations{service=\"%s\"} %u\n", service_sync_name(sync),
			lag_generations(&service_sync_view_published(sync)->lag));
	head(out, "lag_seconds", "gauge", "Since when the ring that serves lacks a generation.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		fprintf(out, "fairlead_mux_lag_seconds{service=\"%s\"} %.3f\n", service_sync_name(sync),
			(double)cluster_sync_lag_ms(from->cluster, sync) / 1000);
	head(out, "announced", "gauge", "1 while the service's VIPs are announced.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		fprintf(out, "fairlead_mux_announced{service=\"%s\"} %d\n", service_sync_name(sync),
			service_sync_view_published(sync)->announced);
	head(out, "withdrawn", "gauge",
	     "1 while the VIPs are withdrawn for the reason, although the ring could serve.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync)) {
		const char *why = published_withdrawn(service_sync_view_published(sync));

		fprintf(out, "fairlead_mux_withdrawn{service=\"%s\",reason=\"behind\"} %d\n", service_sync_name(sync),
			why && !strcmp(why, "behind"));
		fprintf(out, "fairlead_mux_withdrawn{service=\"%s\",reason=\"stopping\"} %d\n", service_sync_name(sync),
			why && !strcmp(why, "stopping"));
	}
	head(out, "generation", "gauge", "Generation of the ring that serves, 0 for none.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		fprintf(out, "fairlead_mux_generation{service=\"%s\"} %u\n", service_sync_name(sync),
			service_sync_generation(sync));
	head(out, "service_state", "gauge", "1 for the state that the service is in.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		for (int state = SERVICE_LOADING; state <= SERVICE_STALE; state++)
			fprintf(out, "fairlead_mux_service_state{service=\"%s\",state=\"%s\"} %d\n",
				service_sync_name(sync), service_state_name(state),
				service_sync_state(sync) == (enum service_state)state);
	head(out, "refused_total", "counter", "Configurations, deltas and snapshots refused, by reason.");
	for (sync = cluster_sync_next(from->cluster, NULL); sync; sync = cluster_sync_next(from->cluster, sync))
		for (unsigned reason = 1; reason < REFUSAL_REASONS; reason++)
			if (service_sync_refused(sync, reason)) /* thousands of zeros otherwise */
				fprintf(out, "fairlead_mux_refused_total{service=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
					service_sync_name(sync), refusal_name(reason),
					service_sync_refused(sync, reason));
}

void metrics_write(FILE *out, const struct http_sources *from)
{
	unsigned resolved, unresolved;

	head(out, "info", "gauge", "1; who this is.");
	fprintf(out, "fairlead_mux_info{id=\"%s\",version=\"%s\"} 1\n", from->id, FAIRLEAD_VERSION);
	one(out, "zookeeper_connected", "gauge", "Whether there is a session with ZooKeeper.",
	    cluster_sync_is_connected(from->cluster));
	one(out, "foreign_cluster", "gauge", "Whether ZooKeeper holds another cluster than the one that is served.",
	    cluster_sync_is_foreign(from->cluster));
	one(out, "registered", "gauge", "Whether this mux's own node stands in ZooKeeper.",
	    cluster_sync_is_registered(from->cluster));
	write_packets(out, from->counters);
	write_ports(out, from->ports);
	write_services(out, from);
	if (from->announcer)
		one(out, "announce_drained_total", "counter",
		    "Packets for VIPs that the kernel routed into a service's device; dropped.",
		    announce_drained(from->announcer));
	if (!from->neighbours)
		return;
	neighbours_count(from->neighbours, &resolved, &unresolved);
	head(out, "next_hops", "gauge", "Next hops of backends, by whether their MAC address is known.");
	fprintf(out, "fairlead_mux_next_hops{state=\"resolved\"} %u\n", resolved);
	fprintf(out, "fairlead_mux_next_hops{state=\"unresolved\"} %u\n", unresolved);
}
