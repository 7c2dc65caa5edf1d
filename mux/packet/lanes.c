/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/lanes_stages.h"

#include <rte_branch_prediction.h>

#include "headers/headers.h"
#include "packet/general.h"
#include "packet/mixed.h"

enum {
	FEW = BURST_FEW, /* packets in lanes, below which */
	AVOID = 31,      /* groups do not try */
};

/*
 * Where hardly any packet stays in its lane, the next groups do not try: they are likely to be of the same kind, and
 * would pay for both ways.
 */
static inline void look(struct burst *burst, uint32_t first, struct lanes *lanes, const struct lanes *before)
{
	lanes->by_lanes = lanes->clamped = lanes->steady = lanes->seconds = lanes->listed = 0;
	lanes->with_second = lanes->merged = 0;
	lanes->has_rows = lanes->is_unpacked = lanes->is_waiting = false;
	if (unlikely(burst->avoid || first + FEW > burst->count)) {
		burst->avoid -= !!burst->avoid;
		lanes->in = lanes->udp = lanes->syns = 0;
		lanes->is_one = true;
		lanes->is_ipv6 = false;
		lanes->destination = 0;
		lanes->service[0] = NULL;
		return;
	}
	lanes_look(burst, first, lanes, before);
	if (unlikely(__builtin_popcount(lanes->in) < FEW) && (!lanes->in || first + LANES <= burst->count))
		burst->avoid = AVOID;
}

static inline void rows_of(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	if (likely(lanes->by_lanes == LANES_ALL))
		lanes_rows(burst, first, lanes);
	else
		mixed_rows(burst, first, lanes);
}

/* Lists of all groups' headers. */
static __attribute__((noinline)) void measure_all(const struct burst *burst, struct lanes *lanes, uint32_t groups)
{
	for (uint32_t g = 0; g < groups; g++)
		if (lanes[g].listed)
			lanes_measure(burst, &lanes[g]);
}

/* Tags of all groups' headers. */
static __attribute__((noinline)) void tag_all(const struct burst *burst, struct lanes *lanes, uint32_t groups)
{
	for (uint32_t g = 0; g < groups; g++)
		lanes_tag(burst, &lanes[g]);
}

static inline void encap_of(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	uint32_t written = 0;

	if (likely(lanes->steady))
		written = lanes_headers(burst, first, lanes);
	else if (!lanes->is_unpacked)
		lanes_unpack(burst, first, lanes);
	if (unlikely(written != LANES_ALL))
		headers_write_rest(burst, first, first + LANES, written);
}

/*
 * What the caller wants to know of packets that stayed in their lanes to the end: if all did, have one service and
 * leave by one port, no more than that.
 */
static inline void tell(struct burst *burst, const struct lanes *lanes, uint32_t groups)
{
	bool is_one = groups * LANES == burst->count;
	uint32_t ip_bytes = 0;

	for (uint32_t g = 0; g < groups; g++) {
		is_one &= !lanes[g].is_unpacked && lanes[g].is_one && lanes[g].port != PORTS_DIFFER &&
			  lanes[g].port == lanes[0].port && lanes[g].service[0] == lanes[0].service[0];
		ip_bytes += lanes_ip_bytes(&lanes[g]);
	}
	if (likely(is_one)) {
		burst->one = lanes[0].service[0];
		burst->one_port = lanes[0].port;
		burst->ip_bytes = ip_bytes;
		return;
	}
	for (uint32_t g = 0; g < groups; g++)
		if (!lanes[g].is_unpacked)
			lanes_tell(burst, g * LANES, &lanes[g]);
}

/* Frames of no bytes, which stay in no lane, behind the last packet of a burst. */
static void fill_up(struct burst *burst, uint32_t groups)
{
	static uint8_t nothing;
	static struct rte_mbuf no_frame = {.buf_addr = &nothing, .nb_segs = 1};

	for (uint32_t i = burst->count; i < groups * LANES; i++)
		burst->mbufs[i] = &no_frame;
}

void lanes_steer(struct burst *burst)
{
	struct lanes lanes[BURST_MAX / LANES];
	const uint32_t groups = (burst->count + LANES - 1) / LANES;
	bool are_several = false, are_listed = false;
	uint32_t hashed = 0;

	fill_up(burst, groups);
	for (uint32_t i = 0; i < LANES; i++)
		general_fetch(burst->mbufs[i]);
	for (uint32_t g = 0; g < groups; g++) {
		for (uint32_t i = (g + 1) * LANES; i < (g + 2) * LANES && i < burst->count; i++)
			general_fetch(burst->mbufs[i]);
		look(burst, g * LANES, &lanes[g], g ? &lanes[g - 1] : NULL);
		are_several |= !lanes[g].is_one;
		if (g % 2 && likely(!are_several)) {
			lanes_hash_two(&lanes[g - 1], &lanes[g]);
			hashed = g + 1;
		}
	}
	if (unlikely(are_several))
		mixed_find_services(burst, lanes, groups);
	for (uint32_t g = hashed; g < groups; g += 2)
		lanes_hash_two(&lanes[g], &lanes[g + 1 < groups ? g + 1 : g]);
	for (uint32_t g = 0; g < groups; g++)
		if (unlikely(lanes[g].by_lanes != LANES_ALL)) {
			lanes_unpack(burst, g * LANES, &lanes[g]);
			mixed_complete_head(burst, g * LANES, &lanes[g]);
		} else if (unlikely(lanes[g].is_waiting)) {
			lanes_buckets(&lanes[g]);
		}
	for (uint32_t g = 0; g < groups; g++) {
		rows_of(burst, g * LANES, &lanes[g]);
		are_listed |= lanes_need_lists(&lanes[g]);
	}
	if (unlikely(are_listed || burst->tag_flags))
		measure_all(burst, lanes, groups);
	if (unlikely(burst->tag_flags))
		tag_all(burst, lanes, groups);
	for (uint32_t g = 0; g < groups; g++)
		encap_of(burst, g * LANES, &lanes[g]);
	tell(burst, lanes, groups);
}
