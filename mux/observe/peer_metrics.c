/* SPDX-License-Identifier: Apache-2.0 */
/* Hellos: which muxes are heard, what was refused, how many are ahead. Notices to servers, and their answers. */
#include "observe/metrics.h"

#include "config/address.h"
#include "control/cluster_sync.h"
#include "control/lag_quorum.h"
#include "hello/hello.h"
#include "tell/teller.h"

static bool has_hello(const struct sources *from)
{
	return from->hello;
}

/* Peers with a node should be heard; those without one may be gone for good. */
static void write_peers(FILE *out, const char *name, const struct sources *from)
{
	const struct hello_peers *peers = from->hello->peers;
	unsigned heard = 0, silent = 0;

	for (unsigned i = 0; i < peers->count; i++) {
		bool is_heard = hello_peer_is_heard(&peers->list[i], from->hello->now_ms);

		heard += is_heard;
		silent += !is_heard && peers->list[i].has_node;
	}
	metrics_sample(out, name, "state", "heard", heard);
	metrics_sample(out, name, "state", "silent", silent);
	metrics_sample(out, name, "state", "gone", peers->count - heard - silent);
}

static void write_ages(FILE *out, const char *name, const struct sources *from)
{
	for (unsigned i = 0; i < from->hello->peers->count; i++) {
		const struct hello_peer *peer = &from->hello->peers->list[i];
		char address[ADDRESS_TEXT_MAX];

		if (peer->was_heard)
			fprintf(out, "fairlead_mux_%s{mux=\"%s\",address=\"%s\"} %.3f\n", name, peer->node.id,
				address_print(&peer->node.address, address),
				(double)(from->hello->now_ms - peer->heard_ms) / 1000);
	}
}

static uint64_t hellos_sent(const struct sources *from)
{
	return from->hello->counters.sent;
}

static uint64_t hellos_unsent(const struct sources *from)
{
	return from->hello->counters.failed;
}

static uint64_t hellos_received(const struct sources *from)
{
	return from->hello->counters.received;
}

static void write_refused(FILE *out, const char *name, const struct sources *from)
{
	for (enum hello_error error = HELLO_OK + 1; error < HELLO_ERRORS; error++)
		metrics_sample(out, name, "reason", hello_error_name(error), from->hello->counters.refused[error]);
}

/* Each service of this mux, by what others say of it. */
static void write_quorums(FILE *out, const char *name, const struct sources *from)
{
	for (const struct service_sync *sync = cluster_sync_next(from->cluster, NULL); sync;
	     sync = cluster_sync_next(from->cluster, sync)) {
		const struct service *service = sync->ring.published.service;
		struct lag_quorum quorum;

		if (!service)
			continue;
		quorum = lag_quorum_heard(from->hello->peers, service->id, ring_sync_generation(&sync->ring),
					  from->hello->now_ms, NULL);
		metrics_sample(out, name, "service", sync->name,
			       strcmp(name, "hello_muxes") ? quorum.ahead : quorum.muxes);
	}
}

static void write_told(FILE *out, const char *name, const struct sources *from, enum teller_count first,
		       enum teller_count last)
{
	static const char *const results[TELLER_COUNTS] = {
	    [TELLER_SENT] = "sent",
	    [TELLER_REPEATED] = "repeated",
	    [TELLER_REFRESHED] = "refreshed",
	    [TELLER_SEND_FAILED] = "failed",
	    [TELLER_ACKNOWLEDGED] = "acknowledged",
	    [TELLER_BEHIND] = "behind",
	    [TELLER_MALFORMED] = "malformed",
	    [TELLER_TAG] = "tag",
	    [TELLER_UNASKED] = "unasked",
	    [TELLER_ALL_KNOW] = "acknowledged",
	    [TELLER_TOO_LATE] = "too_late",
	};

	for (enum teller_count count = first; count <= last; count++)
		metrics_sample(out, name, "result", results[count], from->teller->counts[count]);
}

static void write_notices(FILE *out, const char *name, const struct sources *from)
{
	write_told(out, name, from, TELLER_SENT, TELLER_SEND_FAILED);
}

static void write_answers(FILE *out, const char *name, const struct sources *from)
{
	write_told(out, name, from, TELLER_ACKNOWLEDGED, TELLER_UNASKED);
}

static void write_generations(FILE *out, const char *name, const struct sources *from)
{
	write_told(out, name, from, TELLER_ALL_KNOW, TELLER_TOO_LATE);
}

static uint64_t silent_servers(const struct sources *from)
{
	return teller_silent(from->teller);
}

/* clang-format off */
const struct metric peer_metrics[] = {
	{"hello_peers", "gauge", "Other muxes: heard; silent, but in ZooKeeper; gone: neither.",
	 .write = write_peers, .is_there = has_hello},
	{"hello_age_seconds", "gauge", "Time since the last accepted hello of a mux that was heard.",
	 .write = write_ages, .is_there = has_hello},
	{"hello_sent_total", "counter", "Packets of hellos sent to other muxes.",
	 .value = hellos_sent, .is_there = has_hello},
	{"hello_unsent_total", "counter", "Packets of hellos that the kernel did not send, e.g. without a route.",
	 .value = hellos_unsent, .is_there = has_hello},
	{"hello_received_total", "counter", "Packets received on the hellos' port.",
	 .value = hellos_received, .is_there = has_hello},
	{"hello_refused_total", "counter", "Hellos received and refused, by reason.",
	 .write = write_refused, .is_there = has_hello},
	{"hello_muxes", "gauge", "Muxes that announce the service or withdrew it as behind, and this one, as heard.",
	 .write = write_quorums, .is_there = has_hello},
	{"hello_muxes_ahead", "gauge", "Those of them that announce a higher generation than this mux serves.",
	 .write = write_quorums, .is_there = has_hello},
	{"notices_total", "counter", "Notices to servers, by result.", .write = write_notices},
	{"notice_answers_total", "counter", "Answers to notices, by result.", .write = write_answers},
	{"generations_told_total", "counter", "Generations of which servers were told before they were applied.",
	 .write = write_generations},
	{"silent_servers", "gauge", "Servers that did not acknowledge in time, which nothing waits for.",
	 .value = silent_servers},
};
/* clang-format on */

const size_t peer_metrics_count = sizeof(peer_metrics) / sizeof(peer_metrics[0]);
