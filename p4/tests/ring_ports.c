/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_ports.h"

#include <stdlib.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <fairlead/ip.h>
#include <fairlead/types.h>

struct port_in {
	struct p4_port_in_params params;
	struct rte_mbuf *mbufs[P4_PORT_BURST];
	uint32_t count, at;
	uint64_t bytes, empty;
};

struct port_out {
	struct p4_port_out_params params;
	struct rte_mbuf *mbufs[P4_PORT_BURST];
	uint32_t count;
	uint64_t bytes;
};

static void *create_in(void *args)
{
	const struct p4_port_in_params *params = args;
	struct port_in *port;

	if (!params || !params->counts)
		return NULL;
	port = calloc(1, sizeof(*port));
	if (port)
		port->params = *params;
	return port;
}

static void free_in(void *object)
{
	struct port_in *port = object;

	if (!port)
		return;
	while (port->at < port->count)
		rte_pktmbuf_free(port->mbufs[port->at++]);
	free(port);
}

/* Whether the pipeline may read and write around this frame's start. */
static bool has_room(const struct rte_mbuf *mbuf)
{
	return mbuf->data_off >= P4_PORT_HEADROOM && mbuf->buf_len >= mbuf->data_off + P4_PORT_READABLE;
}

static void refuse(struct port_in *port, struct rte_mbuf *mbuf)
{
	const struct p4_port_in_params *params = &port->params;

	params->counts->refused++;
	if (params->exception_port != P4_PORT_NONE &&
	    rte_eth_tx_burst(params->exception_port, params->exception_queue, &mbuf, 1))
		return;
	params->counts->refused_full++;
	rte_pktmbuf_free(mbuf);
}

/* The next frame that may enter; NULL: none has arrived. */
static struct rte_mbuf *receive(struct port_in *port)
{
	for (;;) {
		struct rte_mbuf *mbuf;

		if (port->at == port->count) {
			port->at = port->count = 0;
			if (port->params.port != P4_PORT_NONE)
				port->count =
				    rte_eth_rx_burst(port->params.port, port->params.queue, port->mbufs, P4_PORT_BURST);
			if (!port->count)
				return NULL;
		}
		mbuf = port->mbufs[port->at++];
		if (port->at < port->count)
			rte_prefetch0(rte_pktmbuf_mtod(port->mbufs[port->at], void *));
		port->params.counts->packets++;
		if (has_room(mbuf))
			return mbuf;
		refuse(port, mbuf);
	}
}

/* Frames are at most 65,535 bytes long: a longer one says so, and then exceeds what IP may carry. */
static uint16_t clipped(uint32_t len)
{
	return len < UINT16_MAX ? (uint16_t)len : UINT16_MAX;
}

static int receive_packet(void *object, struct rte_swx_pkt *out)
{
	struct port_in *port = object;
	struct rte_mbuf *mbuf = receive(port);
	uint8_t *arrival;

	if (!mbuf) {
		port->empty++;
		return 0;
	}
	arrival = rte_pktmbuf_mtod(mbuf, uint8_t *) - P4_PORT_ARRIVAL_LEN;
	fl_store_be16(arrival, clipped(mbuf->pkt_len));
	fl_store_be16(arrival + 2, mbuf->data_len);
	fl_store_be32(arrival + 4, 0);
	port->bytes += mbuf->pkt_len;
	out->handle = mbuf;
	out->pkt = mbuf->buf_addr;
	out->offset = mbuf->data_off - (uint32_t)P4_PORT_ARRIVAL_LEN;
	out->length = mbuf->pkt_len + P4_PORT_ARRIVAL_LEN;
	return 1;
}

static void read_stats_in(void *object, struct rte_swx_port_in_stats *stats)
{
	const struct port_in *port = object;

	*stats = (struct rte_swx_port_in_stats){
	    .n_pkts = port->params.counts->packets, .n_bytes = port->bytes, .n_empty = port->empty};
}

static void *create_out(void *args)
{
	const struct p4_port_out_params *params = args;
	struct port_out *port;

	if (!params || !params->counts || params->port == P4_PORT_NONE)
		return NULL;
	port = calloc(1, sizeof(*port));
	if (port)
		port->params = *params;
	return port;
}

static void flush(void *object)
{
	struct port_out *port = object;
	uint32_t sent;

	if (!port->count)
		return;
	sent = rte_eth_tx_burst(port->params.port, port->params.queue, port->mbufs, (uint16_t)port->count);
	port->params.counts->packets += sent;
	port->params.counts->full += port->count - sent;
	while (sent < port->count)
		rte_pktmbuf_free(port->mbufs[sent++]);
	port->count = 0;
}

static void free_out(void *object)
{
	if (object)
		flush(object);
	free(object);
}

/* Sets a frame's length to what its outer IP header says, if that is less: all of it is in the first buffer. */
static void trim(struct rte_mbuf *mbuf)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t len = fl_load_be16(frame + FL_ETHERNET_LEN - 2) == FL_TYPE_IPV4
			   ? FL_ETHERNET_LEN + fl_load_be16(frame + FL_ETHERNET_LEN + 2)
			   : FL_ETHERNET_LEN + FL_IPV6_LEN + fl_load_be16(frame + FL_ETHERNET_LEN + 4);

	if (len >= mbuf->pkt_len)
		return;
	mbuf->data_len = (uint16_t)len;
	mbuf->pkt_len = len;
}

static void send_packet(void *object, struct rte_swx_pkt *packet)
{
	struct port_out *port = object;
	struct rte_mbuf *mbuf = packet->handle;

	mbuf->data_len = (uint16_t)(packet->length + mbuf->data_len - mbuf->pkt_len);
	mbuf->pkt_len = packet->length;
	mbuf->data_off = (uint16_t)packet->offset;
	if (port->params.trim)
		trim(mbuf);
	port->bytes += mbuf->pkt_len;
	port->mbufs[port->count++] = mbuf;
	if (port->count == P4_PORT_BURST)
		flush(port);
}

/* The program has no mirroring, for which SWX wants these. */
static void send_fast_clone(void *object, struct rte_swx_pkt *packet)
{
	(void)object;
	(void)packet;
}

static void send_clone(void *object, struct rte_swx_pkt *packet, uint32_t truncation)
{
	(void)object;
	(void)packet;
	(void)truncation;
}

static void read_stats_out(void *object, struct rte_swx_port_out_stats *stats)
{
	const struct port_out *port = object;

	*stats = (struct rte_swx_port_out_stats){
	    .n_pkts = port->params.counts->packets, .n_bytes = port->bytes, .n_pkts_drop = port->params.counts->full};
}

static void *create_nowhere(void *args)
{
	return args;
}

static void free_nowhere(void *object)
{
	(void)object;
}

static void drop(void *object, struct rte_swx_pkt *packet)
{
	struct p4_port_out_counts *counts = object;

	counts->packets++;
	rte_pktmbuf_free(packet->handle);
}

static void read_stats_nowhere(void *object, struct rte_swx_port_out_stats *stats)
{
	const struct p4_port_out_counts *counts = object;

	*stats = (struct rte_swx_port_out_stats){.n_pkts_drop = counts->packets};
}

struct rte_swx_port_in_ops p4_port_in = {
    .create = create_in, .free = free_in, .pkt_rx = receive_packet, .stats_read = read_stats_in};
struct rte_swx_port_out_ops p4_port_out = {.create = create_out,
					   .free = free_out,
					   .pkt_tx = send_packet,
					   .pkt_fast_clone_tx = send_fast_clone,
					   .pkt_clone_tx = send_clone,
					   .flush = flush,
					   .stats_read = read_stats_out};
struct rte_swx_port_out_ops p4_port_nowhere = {.create = create_nowhere,
					       .free = free_nowhere,
					       .pkt_tx = drop,
					       .pkt_fast_clone_tx = send_fast_clone,
					       .pkt_clone_tx = send_clone,
					       .stats_read = read_stats_nowhere};
