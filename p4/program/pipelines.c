/* SPDX-License-Identifier: Apache-2.0 */
#include "pipelines.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include <fairlead/ipip.h>
#include <fairlead/list.h>

#include "compiled/compiled.h"
#include "cores.h"
#include "encap/gue.h"
#include "layout.h"
#include "mirror.h"
#include "port.h"
#include "ports.h"
#include "service/lookup.h"
#include "tally.h"

/* What a worker and its pipeline have told each other last. */
struct told {
	uint64_t macs[P4_PORT_WIRES]; /* mac_word() */
	uint32_t now;
	uint64_t moved, second, second_first, second_syns; /* of its counters, what the worker has counted */
} __attribute__((aligned(64)));

struct pipelines {
	struct front front;
	const struct ports *ports;
	struct cores cores;
	struct mirror *mirror;
	struct told told[OPTIONS_WORKERS_MAX];
};

/* The worker alone writes these registers: clock and MAC addresses must be there before the packets. */
static void tell(struct pipelines *pipelines, struct pipeline *pipeline, const struct front_burst *burst)
{
	struct told *told = &pipelines->told[burst->worker];
	uint64_t mac = __atomic_load_n(&pipelines->ports->port[burst->port].mac, __ATOMIC_RELAXED);
	uint8_t bytes[sizeof(mac)];

	if (told->now != burst->now) {
		told->now = burst->now;
		pipeline_write(pipeline, "clock", 0, burst->now);
	}
	if (told->macs[burst->port] != mac) {
		told->macs[burst->port] = mac;
		memcpy(bytes, &mac, sizeof(bytes));
		pipeline_write(pipeline, "macs", burst->port, p4_mac(bytes));
	}
}

/* Of a steered packet, as its outer headers say. */
struct steered {
	uint32_t frame_len; /* from Ethernet to the inner packet's end */
	uint32_t inner_len;
	uint16_t service;
	bool has_list;
	struct fl_address destination;
};

/* The service that an inner packet is for, whose outer header does not name it; 0: it has just gone. */
static uint16_t service_of(const struct lookup *lookup, const uint8_t *inner)
{
	const struct lookup_port *port = NULL;
	const struct lookup_vip *vip;
	uint32_t address;

	memcpy(&address, inner + 16, sizeof(address));
	vip = lookup_vip(lookup, 0, lookup_low_of_ipv4(address));
	if (vip && !vip->self)
		port = lookup_port(lookup, vip, inner[9], fl_load_be16(inner + FL_IPV4_LEN + 2));
	return port ? port->service->id : 0;
}

static struct steered look_ipip(const struct lookup *lookup, const uint8_t *frame)
{
	const uint8_t *outer = frame + ENCAP_AT_IP;
	uint32_t ip_len = fl_load_be16(outer + FL_IPIP_AT_TOTAL_LEN);

	return (struct steered){.frame_len = ENCAP_AT_IP + ip_len,
				.inner_len = ip_len - FL_IPIP_LEN,
				.service = service_of(lookup, outer + FL_IPIP_LEN),
				.has_list = fl_load_be32(outer + FL_IPIP_AT_PREVIOUS),
				.destination = fl_address_from_ipv4(outer + FL_IPIP_AT_DESTINATION)};
}

static struct steered look(const struct lookup *lookup, const uint8_t *frame)
{
	bool ipv4 = frame[ENCAP_AT_IP - 2] == 0x08;
	const uint8_t *gue = frame + (ipv4 ? GUE_AT_GUE : GUE_AT_GUE6);
	uint32_t ip_len = ipv4 ? fl_load_be16(frame + ENCAP_AT_IP + 2)
			       : FL_IPV6_LEN + (uint32_t)fl_load_be16(frame + ENCAP_AT_IP + 4);
	uint32_t outer = (uint32_t)(gue - frame) + FL_LIST_GUE_LEN + 4U * (gue[0] & 0x1f);
	struct steered steered;

	if (ipv4 && frame[ENCAP_AT_IP] == FL_IPIP_VERSION_IHL)
		return look_ipip(lookup, frame);
	steered = (struct steered){.frame_len = ENCAP_AT_IP + ip_len,
				   .inner_len = ENCAP_AT_IP + ip_len - outer,
				   .service = fl_load_be16(gue + FL_LIST_AT_SERVICE),
				   .has_list = gue[FL_LIST_AT_FLAGS] >> 4};
	if (ipv4)
		steered.destination = fl_address_from_ipv4(frame + ENCAP_AT_IP + 16);
	else
		memcpy(steered.destination.bytes, frame + ENCAP_AT_IP + 24, sizeof(steered.destination.bytes));
	return steered;
}

/* Adds to the worker's counter what the pipeline's own has counted since. */
static void take_count(const struct pipeline *pipeline, const char *name, uint64_t *taken, uint64_t *counter)
{
	uint64_t counted = pipeline_read(pipeline, name, 0);

	counter_add(counter, counted - *taken);
	*taken = counted;
}

static void take_listed(struct pipelines *pipelines, const struct front_burst *burst)
{
	const struct pipeline *pipeline = pipelines->cores.pipeline[burst->worker];
	struct told *told = &pipelines->told[burst->worker];

	take_count(pipeline, "moved", &told->moved, &burst->counters->moved);
	take_count(pipeline, "second", &told->second, &burst->counters->second);
}

/* Of packets of steering maat: those whose second bucket is first. */
static void take_ordered(struct pipelines *pipelines, const struct front_burst *burst)
{
	const struct pipeline *pipeline = pipelines->cores.pipeline[burst->worker];
	struct told *told = &pipelines->told[burst->worker];

	take_count(pipeline, "second_first", &told->second_first, &burst->counters->second_first);
	take_count(pipeline, "second_syns", &told->second_syns, &burst->counters->second_syns);
}

/* Cuts off what Ethernet has padded, and counts as the usual path does (worker.c). */
static void finish(struct pipelines *pipelines, struct front_burst *burst, const struct pipeline_out *out)
{
	const struct lookup *lookup = tables_lookup(pipelines->cores.tables);
	struct worker_counters *counters = burst->counters;
	bool is_ordered = false, is_listed = false;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < out->count; i++) {
		struct rte_mbuf *mbuf = out->mbufs[i];
		struct steered steered = look(lookup, rte_pktmbuf_mtod(mbuf, const uint8_t *));
		uint16_t slot = mirror_slot(pipelines->mirror, steered.service);

		bytes += ports_frame_len(mbuf);
		is_listed |= steered.has_list;
		mbuf->data_len = (uint16_t)steered.frame_len;
		mbuf->pkt_len = steered.frame_len;
		if (mirror_is_ordered(pipelines->mirror, steered.service)) {
			const struct tally_packet packet = {
			    rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, steered.frame_len - steered.inner_len),
			    steered.inner_len, steered.destination};

			tally_order(lookup, burst->worker, &packet);
			is_ordered = true;
		}
		if (slot != MIRROR_SLOT_NONE) {
			counter_add(&counters->services[slot].packets, 1);
			counter_add(&counters->services[slot].bytes, steered.inner_len);
		}
		burst->out[i] = mbuf;
		burst->leave_by[i] = pipelines->ports->port[out->wires[i]].id;
	}
	burst->steered = out->count;
	counter_add(&counters->bytes, bytes);
	if (is_listed)
		take_listed(pipelines, burst);
	if (is_ordered)
		take_ordered(pipelines, burst);
}

static void take(struct front *front, struct front_burst *burst)
{
	struct pipelines *pipelines = (struct pipelines *)front;
	struct pipeline *pipeline = pipelines->cores.pipeline[burst->worker];
	struct pipeline_out out;

	if (cores_is_closed(&pipelines->cores))
		return;
	tell(pipelines, pipeline, burst);
	burst->count = pipeline_run(pipeline, burst->port, burst->mbufs, burst->count, &out);
	finish(pipelines, burst, &out);
}

void pipelines_close(struct front *front)
{
	struct pipelines *pipelines = (struct pipelines *)front;

	mirror_free(pipelines->mirror);
	cores_clear(&pipelines->cores);
	free(pipelines);
}

/* How to run the pipelines, if the options leave that open. */
static enum pipeline_mode choose(enum pipeline_mode wanted)
{
	struct reason why;
	int error;

	if (wanted != PIPELINE_AUTO)
		return wanted;
	error = compiled_check(&why);
	if (error && error != -ENOTSUP)
		fprintf(stderr, "mux event=not_compiled why=\"%s\"\n", why.text);
	return error ? PIPELINE_INTERPRETED : PIPELINE_COMPILED;
}

int pipelines_open(struct front **out, const struct mux *mux, struct reason *why)
{
	struct pipelines *pipelines = aligned_alloc(64, sizeof(*pipelines));
	enum pipeline_mode mode = choose(mux->options->pipeline);

	if (!pipelines)
		return reason_set(why, -ENOMEM, "no memory for pipelines");
	memset(pipelines, 0, sizeof(*pipelines));
	pipelines->front.take = take;
	pipelines->front.mode = mode == PIPELINE_COMPILED ? "compiled" : "interpreted";
	pipelines->ports = mux->ports;
	if (!cores_init(&pipelines->cores, mux->tables, mux->options->workers, mux->ports->count, mode, why))
		pipelines->mirror = mirror_new(&pipelines->cores, mux, why);
	if (!pipelines->mirror) {
		pipelines_close(&pipelines->front);
		return -ENOMEM;
	}
	fprintf(stderr, "mux event=pipeline mode=%s\n", pipelines->front.mode);
	*out = &pipelines->front;
	return 0;
}
