/* SPDX-License-Identifier: Apache-2.0 */
#include "ports.h"

#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include <fairlead/types.h>

#include "port.h"

static void *end_new(void *args)
{
	struct ports_end *end = malloc(sizeof(*end));

	if (end)
		*end = *(const struct ports_end *)args;
	return end;
}

bool ports_may_enter(const struct rte_mbuf *mbuf)
{
	return mbuf->nb_segs == 1 && mbuf->pkt_len <= UINT16_MAX && mbuf->data_off >= P4_PORT_HEADROOM &&
	       mbuf->buf_len >= mbuf->data_off + P4_PORT_READABLE;
}

static int receive(void *port, struct rte_swx_pkt *pkt)
{
	struct ports_end *end = port;
	struct ports_burst *burst = end->burst;
	struct rte_mbuf *mbuf;
	uint8_t *arrival;

	if (end->number != burst->wire || burst->next == burst->count) {
		end->empty++;
		return 0;
	}
	mbuf = burst->in[burst->next++];
	mbuf->hash.usr = mbuf->pkt_len;
	arrival = rte_pktmbuf_mtod(mbuf, uint8_t *) - P4_PORT_ARRIVAL_LEN;
	fl_store_be16(arrival, (uint16_t)mbuf->pkt_len);
	fl_store_be16(arrival + 2, mbuf->data_len);
	memset(arrival + 4, 0, P4_PORT_ARRIVAL_LEN - 4);
	*pkt = (struct rte_swx_pkt){.handle = mbuf,
				    .pkt = mbuf->buf_addr,
				    .offset = (uint32_t)mbuf->data_off - P4_PORT_ARRIVAL_LEN,
				    .length = mbuf->pkt_len + P4_PORT_ARRIVAL_LEN};
	end->packets++;
	end->bytes += mbuf->pkt_len;
	return 1;
}

static void in_stats(void *port, struct rte_swx_port_in_stats *stats)
{
	const struct ports_end *end = port;

	*stats = (struct rte_swx_port_in_stats){.n_pkts = end->packets, .n_bytes = end->bytes, .n_empty = end->empty};
}

/* The mbuf, as the program has left it. */
static struct rte_mbuf *leave(struct ports_end *end, const struct rte_swx_pkt *pkt)
{
	struct rte_mbuf *mbuf = pkt->handle;

	mbuf->data_off = (uint16_t)pkt->offset;
	mbuf->data_len = (uint16_t)pkt->length;
	mbuf->pkt_len = pkt->length;
	end->packets++;
	end->bytes += pkt->length;
	return mbuf;
}

static void steer(void *port, struct rte_swx_pkt *pkt)
{
	struct ports_end *end = port;
	struct ports_burst *burst = end->burst;

	burst->out[burst->steered] = leave(end, pkt);
	burst->out_wire[burst->steered++] = (uint8_t)end->number;
}

static void except(void *port, struct rte_swx_pkt *pkt)
{
	struct ports_end *end = port;

	end->burst->left_mbufs[end->burst->left++] = leave(end, pkt);
}

static void drop(void *port, struct rte_swx_pkt *pkt)
{
	struct ports_end *end = port;

	end->burst->dropped++;
	rte_pktmbuf_free(leave(end, pkt));
}

/* No program clones; a clone would be one packet more than entered. */
static void send_fast_clone(void *port, struct rte_swx_pkt *pkt)
{
	(void)port;
	(void)pkt;
}

static void send_clone(void *port, struct rte_swx_pkt *pkt, uint32_t length)
{
	(void)port;
	(void)pkt;
	(void)length;
}

static void out_stats(void *port, struct rte_swx_port_out_stats *stats)
{
	const struct ports_end *end = port;

	*stats = (struct rte_swx_port_out_stats){.n_pkts = end->packets, .n_bytes = end->bytes};
}

static struct rte_swx_port_in_ops in_ops = {.create = end_new, .free = free, .pkt_rx = receive, .stats_read = in_stats};

#define OUT_OPS(tx)                                                                                                    \
	{                                                                                                              \
		.create = end_new, .free = free, .pkt_tx = tx, .pkt_fast_clone_tx = send_fast_clone,                   \
		.pkt_clone_tx = send_clone, .stats_read = out_stats                                                    \
	}

static struct rte_swx_port_out_ops wire_ops = OUT_OPS(steer), exception_ops = OUT_OPS(except), drop_ops = OUT_OPS(drop);

void ports_make(struct ports_ends *ports, struct ports_burst *burst, unsigned wires)
{
	*ports = (struct ports_ends){.ends.wires = wires};
	for (unsigned i = 0; i < wires; i++) {
		ports->in[i] = (struct ports_end){.burst = burst, .number = i};
		ports->ends.in[i] = (struct p4_end_in){&in_ops, &ports->in[i]};
	}
	for (unsigned i = 0; i < P4_PORTS_OUT; i++) {
		ports->out[i] = (struct ports_end){.burst = burst, .number = i};
		ports->ends.out[i] = (struct p4_end_out){i < P4_PORT_EXCEPTION ? &wire_ops
							 : i < P4_PORT_DROP    ? &exception_ops
									       : &drop_ops,
							 &ports->out[i]};
	}
}
