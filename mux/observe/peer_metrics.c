/* SPDX-License-Identifier: Apache-2.0 */
/* Hellos: which muxes are heard, what was refused, how many are ahead. Notices to servers, and their answers. */
#include "observe/metrics.h"

#include "config/address.h"
#include "control/cluster/cluster_sync.h"
#include "control/withdrawal/lag_quorum.h"
#include "hello/hello.h"
#include "tell/teller.h"

/* Peers with a node should be heard; those without one may be gone for good. */
static void write_peers(struct exposition *to, const struct hello *hello)
{
	const struct hello_peers *peers = hello->peers;
	unsigned heard = 0, silent = 0;

	exposition_begin(to, "hello_peers", "gauge", "Other muxes: heard; silent, but in ZooKeeper; gone: neither.");
	for (unsigned i = 0; i < peers->count; i++) {
		bool is_heard = hello_peer_is_heard(&peers->list[i], hello->now_ms);

		heard += is_heard;
		silent += !is_heard && peers->list[i].has_node;
	}
	exposition_add(to, "state", "heard", heard);
	exposition_add(to, "state", "silent", silent);
	exposition_add(to, "state", "gone", peers->count - heard - silent);
	exposition_begin(to, "hello_age_seconds", "gauge",
			 "Time since the last accepted hello of a mux that was heard.");
	for (unsigned i = 0; i < peers->count; i++) {
		const struct hello_peer *peer = &peers->list[i];
		char address[ADDRESS_TEXT_MAX];

		if (peer->was_heard)
			fprintf(to->out, "fairlead_mux_hello_age_seconds{mux=\"%s\",address=\"%s\"} %.3f\n",
				peer->node.id, address_print(&peer->node.address, address),
				(double)(hello->now_ms - peer->heard_ms) / 1000);
	}
}

/* Each service of this mux, by what others say of it: how many of them are ahead, or how many there are. */
static void write_quorums(struct exposition *to, const struct sources *from, bool ahead)
{
	SOURCES_EACH_SERVICE (from, sync) {
		const struct service *service = sync->ring.published.service;
		struct lag_quorum quorum;

		if (!service)
			continue;
		quorum = lag_quorum_heard(from->hello->peers, service->id, ring_sync_generation(&sync->ring),
					  from->hello->now_ms, NULL);
		exposition_add(to, "service", sync->name, ahead ? quorum.ahead : quorum.muxes);
	}
}

static void write_hellos(struct exposition *to, const struct sources *from)
{
	const struct hello *hello = from->hello;

	write_peers(to, hello);
	exposition_write(to, "hello_sent_total", "counter", "Packets of hellos sent to other muxes.",
			 hello->counters.sent);
	exposition_write(to, "hello_unsent_total", "counter",
			 "Packets of hellos that the kernel did not send, e.g. without a route.",
			 hello->counters.failed);
	exposition_write(to, "hello_received_total", "counter", "Packets received on the hellos' port.",
			 hello->counters.received);
	exposition_begin(to, "hello_refused_total", "counter", "Hellos received and refused, by reason.");
	for (enum hello_error error = HELLO_OK + 1; error < HELLO_ERRORS; error++)
		exposition_add(to, "reason", hello_error_name(error), hello->counters.refused[error]);
	exposition_begin(to, "hello_muxes", "gauge",
			 "Muxes that announce the service or withdrew it as behind, and this one, as heard.");
	write_quorums(to, from, false);
	exposition_begin(to, "hello_muxes_ahead", "gauge",
			 "Those of them that announce a higher generation than this mux serves.");
	write_quorums(to, from, true);
}

static void write_told(const struct exposition *to, const struct teller *teller, enum teller_count first,
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
		exposition_add(to, "result", results[count], teller->counts[count]);
}

void peer_metrics_write(struct exposition *to, const struct sources *from)
{
	if (from->hello)
		write_hellos(to, from);
	exposition_begin(to, "notices_total", "counter", "Notices to servers, by result.");
	write_told(to, from->teller, TELLER_SENT, TELLER_SEND_FAILED);
	exposition_begin(to, "notice_answers_total", "counter", "Answers to notices, by result.");
	write_told(to, from->teller, TELLER_ACKNOWLEDGED, TELLER_UNASKED);
	exposition_begin(to, "generations_told_total", "counter",
			 "Generations of which servers were told before they were applied.");
	write_told(to, from->teller, TELLER_ALL_KNOW, TELLER_TOO_LATE);
	exposition_write(to, "silent_servers", "gauge",
			 "Servers that did not acknowledge in time, which nothing waits for.",
			 teller_silent(from->teller));
}
