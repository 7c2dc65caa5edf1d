/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/path_check.h"

#include <stdlib.h>
#include <string.h>

#include "headers/headers.h"
#include "packet/classify.h"
#include "flow/service.h"
#include "steering/steering.h"

enum {
	BUFFER = RTE_PKTMBUF_HEADROOM + PATH_CHECK_FRAME_MAX + HEADERS_LEN_MAX,
	TRIES = 4, /* the tables may change between two runs, but hardly each time */
};

/* One run's copies. */
struct copies {
	struct burst burst;
	struct rte_mbuf mbufs[BURST_MAX];
	uint8_t buffers[BURST_MAX][BUFFER];
};

struct path_check {
	struct copies found, wanted;
};

struct path_check *path_check_new(void)
{
	struct path_check *check = aligned_alloc(_Alignof(struct path_check), sizeof(*check));

	return check ? memset(check, 0, sizeof(*check)) : NULL;
}

void path_check_free(struct path_check *check)
{
	free(check);
}

/* Whether steering the packet twice would change what is known of loads. */
static bool is_counted(const struct burst *burst, const struct rte_mbuf *mbuf)
{
	struct packet packet;

	classify(burst->lookup, burst->mac, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, mbuf->pkt_len,
		 &packet);
	return packet.verdict == VERDICT_SERVICE && steerings[packet.service->steering]->tick;
}

static bool is_checked(const struct burst *burst, const struct rte_mbuf *mbuf)
{
	return mbuf->data_len <= PATH_CHECK_FRAME_MAX && mbuf->data_off <= RTE_PKTMBUF_HEADROOM &&
	       !is_counted(burst, mbuf);
}

static void copy(struct copies *copies, const struct burst *burst)
{
	struct burst *out = &copies->burst;

	out->lookup = burst->lookup;
	out->tag_flags = burst->tag_flags;
	out->mac = burst->mac;
	out->now = burst->now;
	out->worker = burst->worker;
	out->avoid = 0;
	out->is_brief = false;
	out->count = 0;
	for (uint32_t i = 0; i < burst->count; i++) {
		const struct rte_mbuf *from = burst->mbufs[i];
		struct rte_mbuf *mbuf = &copies->mbufs[out->count];
		uint8_t *buffer = copies->buffers[out->count];

		if (!is_checked(burst, from))
			continue;
		*mbuf = (struct rte_mbuf){.nb_segs = from->nb_segs,
					  .buf_addr = buffer,
					  .buf_len = BUFFER,
					  .data_off = from->data_off,
					  .data_len = from->data_len,
					  .pkt_len = from->pkt_len};
		memcpy(buffer + from->data_off, rte_pktmbuf_mtod(from, const uint8_t *), from->data_len);
		out->mbufs[out->count++] = mbuf;
	}
}

static bool is_alike(const struct copies *a, const struct copies *b, uint32_t i)
{
	const struct packet *x = &a->burst.packets[i], *y = &b->burst.packets[i];
	const struct rte_mbuf *p = &a->mbufs[i], *q = &b->mbufs[i];

	if (x->verdict != y->verdict || p->data_off != q->data_off || p->data_len != q->data_len ||
	    p->pkt_len != q->pkt_len ||
	    memcmp(rte_pktmbuf_mtod(p, const uint8_t *), rte_pktmbuf_mtod(q, const uint8_t *), p->data_len))
		return false;
	return x->verdict != VERDICT_SERVICE ||
	       (x->service == y->service && x->port == y->port && x->ip_len == y->ip_len && x->flags == y->flags);
}

static struct path_check_result compare(struct path_check *check, const struct burst *burst,
					void (*steer)(struct burst *burst))
{
	struct path_check_result result = {0};

	copy(&check->found, burst);
	copy(&check->wanted, burst);
	steer(&check->found.burst);
	burst_steer_by(&check->wanted.burst, BURST_REFERENCE);
	result.packets = check->found.burst.count;
	for (uint32_t i = 0; i < result.packets; i++)
		result.differ += !is_alike(&check->found, &check->wanted, i);
	return result;
}

struct path_check_result path_check(struct path_check *check, const struct burst *burst,
				    void (*steer)(struct burst *burst))
{
	struct path_check_result result = compare(check, burst, steer);

	for (int i = 1; i < TRIES && result.differ; i++)
		result = compare(check, burst, steer);
	return result;
}
