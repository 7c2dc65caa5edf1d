/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_memory.h>

#include "config/options.h"
#include "encap/gue.h"
#include "flow_packet.h"
#include "host/port.h"
#include "image.h"
#include "host/mac.h"
#include "packet/burst.h"
#include "service/tables.h"
#include "stand.h"
#include "steering/ring/steering_ring.h"

enum { RING = 2048, HEADROOM = 128, ETHERNET = 14, NOW = 1700000000 };

static_assert((int)FLOW_WORK_BURST == (int)BURST_MAX, "a burst of a worker");

struct flow_work {
	struct tables *tables;
	struct flow_packets packets;
	uint32_t at;
	struct burst burst;
};

/*
 * Without huge pages DPDK's memory is a memfd, which transparent huge pages do not cover; what malloc gives the other
 * tables they do. So anonymous memory takes its place, with the pages that DPDK has written so far.
 */
static int replace(const struct rte_memseg_list *list, void *argument)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = list->len / page, kept = 0;
	unsigned char *resident = malloc(pages);
	uint8_t *base = list->base_va, *copy;
	bool *failed = argument;

	*failed = true;
	if (!resident || mincore(base, list->len, resident))
		return -1;
	for (size_t i = 0; i < pages; i++)
		kept += resident[i] & 1;
	copy = malloc(kept * page + 1);
	if (!copy)
		return -1;
	for (size_t i = 0, at = 0; i < pages; i++)
		if (resident[i] & 1)
			memcpy(copy + at++ * page, base + i * page, page);
	if (mmap(base, list->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		return -1;
	madvise(base, list->len, MADV_HUGEPAGE);
	for (size_t i = 0, at = 0; i < pages; i++)
		if (resident[i] & 1)
			memcpy(base + i * page, copy + at++ * page, page);
	free(copy);
	free(resident);
	*failed = false;
	return 0;
}

bool flow_work_start(uint32_t megabytes, char *why, size_t size)
{
	static struct options options = {.no_huge = true, .workers = 1};
	struct reason reason = {{0}};
	bool failed = true;

	options.memory = megabytes;
	if (ports_environment(&options, &reason)) {
		snprintf(why, size, "%s", reason.text);
		return false;
	}
	rte_memseg_list_walk(replace, &failed);
	if (failed)
		snprintf(why, size, "DPDK's memory can't be replaced by anonymous memory");
	return !failed;
}

void flow_work_end(void)
{
	rte_eal_cleanup();
}

struct flow_work *flow_work_new(uint32_t buckets)
{
	static struct next_hop hop = {.resolved = true,
				      .mtu = 9000,
				      .source_mac = {2, 0, 0, 0, 0, 1},
				      .source = {{[10] = 0xff, 0xff, 10, 1, 0, 11}}};
	static const struct next_hops hops = {.context = &hop, .lookup = image_hop};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct service_config config = image_config(1, "10.99.0.0", buckets);
	struct delta snapshot = image_snapshot(1, 1, buckets, STAND_BACKENDS);
	struct flow_work *work = aligned_alloc(64, (sizeof(*work) + 63) / 64 * 64);
	struct service *service;
	struct reason why;

	if (!work)
		return NULL;
	memset(work, 0, sizeof(*work));
	work->tables = tables_new(1, &hops);
	config.encap = &encap_gue;
	config.steering = &steering_ring;
	if (!work->tables || !flow_packets_new(&work->packets, RING) ||
	    tables_add(work->tables, &config, &service, &why) ||
	    tables_load(work->tables, service, &snapshot, NULL, &why))
		return NULL;
	image_free(&snapshot);
	for (uint32_t i = 0; i < RING; i++)
		flow_packet_write(&work->packets, i, i * 2654435761U, 1, false);
	work->burst.lookup = tables_lookup(work->tables);
	work->burst.mac = mac_word(mac);
	work->burst.now = NOW;
	work->burst.count = BURST_MAX;
	return work;
}

/* A packet as it came: the outer header took the place of its Ethernet header. */
static inline void restore(struct rte_mbuf *mbuf)
{
	static const uint8_t head[ETHERNET] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};

	mbuf->data_off = HEADROOM;
	mbuf->data_len = FLOW_PACKET_BYTES;
	mbuf->pkt_len = FLOW_PACKET_BYTES;
	memcpy((uint8_t *)mbuf->buf_addr + HEADROOM, head, ETHERNET);
}

bool flow_work_burst(struct flow_work *work)
{
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		work->burst.mbufs[i] = &work->packets.mbufs[work->at + i];
		restore(work->burst.mbufs[i]);
	}
	work->at = (work->at + BURST_MAX) % RING;
	burst_steer(&work->burst);
	return work->burst.packets[0].verdict == VERDICT_SERVICE &&
	       work->burst.packets[BURST_MAX - 1].verdict == VERDICT_SERVICE;
}

void flow_work_cpu(char *out, size_t size)
{
	stand_cpu(out, size);
}
