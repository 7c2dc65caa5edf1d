/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/hello_metrics.h"

#include <inttypes.h>

#include "config/address.h"
#include "control/cluster_sync.h"
#include "control/lag_quorum.h"
#include "hello/hello.h"

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP fairlead_mux_%s %s\n# TYPE fairlead_mux_%s %s\n", name, help, name, type);
}

static void write_value(FILE *out, const char *name, const char *help, uint64_t value)
{
	write_head(out, name, "counter", help);
	fprintf(out, "fairlead_mux_%s %" PRIu64 "\n", name, value);
}

/* Peers with a node should be heard; those without one may be gone for good. */
static void write_peers(FILE *out, const struct hello_peers *peers, uint64_t now_ms)
{
	unsigned heard = 0, silent = 0, gone = 0;

	for (unsigned i = 0; i < peers->count; i++) {
		const struct hello_peer *peer = &peers->list[i];

		if (hello_peer_is_heard(peer, now_ms))
			heard++;
		else if (peer->has_node)
			silent++;
		else
			gone++;
	}
	write_head(out, "hello_peers", "gauge", "Other muxes: heard; silent, but in ZooKeeper; gone: neither.");
	fprintf(out,
		"fairlead_mux_hello_peers{state=\"heard\"} %u\nfairlead_mux_hello_peers{state=\"silent\"} %u\n"
		"fairlead_mux_hello_peers{state=\"gone\"} %u\n",
		heard, silent, gone);
}

static void write_ages(FILE *out, const struct hello_peers *peers, uint64_t now_ms)
{
	write_head(out, "hello_age_seconds", "gauge", "Time since the last accepted hello of a mux that was heard.");
	for (unsigned i = 0; i < peers->count; i++) {
		const struct hello_peer *peer = &peers->list[i];
		char address[ADDRESS_TEXT_MAX];

		if (peer->was_heard)
			fprintf(out, "fairlead_mux_hello_age_seconds{mux=\"%s\",address=\"%s\"} %.3f\n", peer->node.id,
				address_print(&peer->node.address, address), (double)(now_ms - peer->heard_ms) / 1000);
	}
}

static void write_refused(FILE *out, const struct hello_counters *counters)
{
	write_head(out, "hello_refused_total", "counter", "Hellos received and refused, by reason.");
	for (enum hello_error error = HELLO_OK + 1; error < HELLO_ERRORS; error++)
		fprintf(out, "fairlead_mux_hello_refused_total{reason=\"%s\"} %" PRIu64 "\n", hello_error_name(error),
			counters->refused[error]);
}

/* Each service of this mux, by what others say of it. */
static void write_quorums(FILE *out, const struct sources *from, const char *name, const char *help, bool is_ahead)
{
	const struct hello_peers *peers = from->hello->peers;
	uint64_t now_ms = from->hello->now_ms;

	write_head(out, name, "gauge", help);
	for (const struct service_sync *sync = cluster_sync_next(from->cluster, NULL); sync;
	     sync = cluster_sync_next(from->cluster, sync)) {
		const struct published_service *published = &sync->ring.published;
		struct lag_quorum quorum;

		if (!published->service)
			continue;
		quorum =
		    lag_quorum_heard(peers, published->service->id, ring_sync_generation(&sync->ring), now_ms, NULL);
		fprintf(out, "fairlead_mux_%s{service=\"%s\"} %u\n", name, sync->name,
			is_ahead ? quorum.ahead : quorum.muxes);
	}
}

void hello_metrics_write(FILE *out, const struct sources *from)
{
	const struct hello_counters *counters = &from->hello->counters;
	const struct hello_peers *peers = from->hello->peers;
	uint64_t now_ms = from->hello->now_ms;

	write_peers(out, peers, now_ms);
	write_ages(out, peers, now_ms);
	write_value(out, "hello_sent_total", "Packets of hellos sent to other muxes.", counters->sent);
	write_value(out, "hello_unsent_total", "Packets of hellos that the kernel did not send, e.g. without a route.",
		    counters->failed);
	write_value(out, "hello_received_total", "Packets received on the hellos' port.", counters->received);
	write_refused(out, counters);
	write_quorums(out, from, "hello_muxes",
		      "Muxes that announce the service or withdrew it as behind, and this one, as heard.", false);
	write_quorums(out, from, "hello_muxes_ahead",
		      "Those of them that announce a higher generation than this mux serves.", true);
}
