/* SPDX-License-Identifier: Apache-2.0 */
/* Steering `maat` in lanes (methods/inline.h): the buckets of `hunt`, in the order that loads and filter say. */
#ifndef FAIRLEAD_MUX_MAAT_LANES_H
#define FAIRLEAD_MUX_MAAT_LANES_H

#include "steering/hunt/hunt_lanes.h"
#include "steering/maat/maat_path.h"

VEC_INLINE void maat_lanes_fetch(struct lanes *lanes, vec hash)
{
	const struct maat *maat;
	vec mixed;

	hunt_lanes_fetch(lanes, hash);
	maat = maat_of(lanes->service[0]);
	mixed = vec_mul(hash, vec_all(0x9e3779b97f4a7c15)); /* maat_filter_place() */
	mixed = vec_and(vec_xor(mixed, vec_right(mixed, 32)), vec_all(maat->cells_mask));
	vec_store(lanes->own[0], vec_add(mixed, vec_all((uint64_t)(uintptr_t)maat->cells)));
	for (uint32_t i = 0; i < LANES; i++)
		rte_prefetch0((const void *)(uintptr_t)lanes->own[0][i]);
}

/* Whether the connection's first cell in the filter says that it may be noted. */
static inline uint32_t maat_lanes_cell(const struct lanes *lanes, uint32_t i)
{
	return __atomic_load_n((const uint8_t *)(uintptr_t)lanes->own[0][i], __ATOMIC_RELAXED);
}

/* maat_path_rows() of some lanes. */
static __attribute__((noinline)) void maat_lanes_order_some(struct burst *burst, uint32_t first, struct lanes *lanes,
							    uint32_t some)
{
	const struct maat *maat = maat_of(lanes->service[0]);
	const struct backends *backends = lanes->backends[0];

	for (; some; some &= some - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(some);
		const uint64_t row = lanes->rows[i], bucket = lanes->place[i] & UINT32_MAX, word = lanes->word[i];
		const struct packet packet = {
		    .flags = lanes->syns >> i & 1 ? PACKET_SYN : 0,
		    .at_ip = (uint8_t)(word >> 16),
		    .at_l4 = (uint16_t)(word >> 32),
		    .ip_len = (uint16_t)(word >> 48),
		    .hash = lanes->hash[i],
		    .row = row,
		    .second_row = rows_known(lanes->second_rows[i], backends),
		    .backends = backends,
		};

		if (!maat_is_second(burst, first + i, maat, &packet))
			continue;
		lanes->rows[i] = packet.second_row;
		lanes->second_rows[i] = row;
		lanes->place[i] = (lanes->place[i] & ~(uint64_t)UINT32_MAX) | lanes->second[i];
		lanes->second[i] = bucket;
	}
}

static inline void maat_lanes_order(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	const struct maat *maat = maat_of(lanes->service[0]);
	const enum maat_load load = maat->settings.load;
	uint32_t *const counts = maat->counts + burst->worker * (size_t)MAAT_IDS;
	const uint32_t syns = lanes->syns & lanes->seconds;
	uint32_t cells = 0, some = 0;

#pragma GCC unroll 8
	for (uint32_t i = 0; i < LANES; i++)
		cells |= maat_lanes_cell(lanes, i);
	if (unlikely(cells & MAAT_FILTER_COUNT_MAX))
		for (uint32_t i = 0; i < LANES; i++)
			some |= (uint32_t) !!(maat_lanes_cell(lanes, i) & MAAT_FILTER_COUNT_MAX) << i & lanes->seconds;
	if (unlikely(syns)) /* each may note itself for those behind it */
		some |= lanes->seconds & ~((syns & -syns) - 1);
	if (unlikely(some))
		maat_lanes_order_some(burst, first, lanes, some);
	if (load == MAAT_CONNECTIONS && likely(!lanes->syns))
		return;
#pragma GCC unroll 8
	for (uint32_t i = 0; i < LANES; i++)
		maat_loads_count(counts, 0, fl_row_current(lanes->rows[i]),
				 maat_amount(load, (uint16_t)(lanes->word[i] >> 48), lanes->syns >> i & 1));
}

static const struct lanes_method maat_lanes = {.has_second = true, .order = maat_lanes_order};

#endif
