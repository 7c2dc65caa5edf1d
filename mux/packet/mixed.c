/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/mixed.h"

#include "packet/general.h"
#include "flow/rows.h"
#include "headers/lanes_headers.h"
#include "service/lookup.h"
#include "flow/service.h"

void mixed_find_services(struct burst *burst, struct lanes *lanes, uint32_t groups)
{
	for (uint32_t g = 0; g < groups; g++)
		if (!lanes[g].is_one && !lanes[g].is_ipv6)
			lanes_find(burst->lookup, &lanes[g]);
	for (uint32_t g = 0; g < groups; g++)
		if (!lanes[g].is_one)
			lanes_begin(&lanes[g]);
}

void mixed_complete_head(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	for (uint32_t i = 0; i < LANES; i++)
		if (!(lanes->in >> i & 1))
			general_classify_one(burst, first + i);
	if (lanes->in != LANES_ALL)
		general_hash_group(burst, first, first + LANES, lanes->in);
	for (uint32_t left = lanes->in & ~(uint32_t)lanes->by_lanes; left; left &= left - 1)
		general_find_row(burst, first + (uint32_t)__builtin_ctz(left));
}

void mixed_rows(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	static const struct backend no_backend;

	if (!lanes->is_unpacked)
		lanes_unpack(burst, first, lanes);
	general_rows(burst, first, first + LANES);
	for (uint32_t i = 0; i < LANES; i++) {
		const struct packet *packet = &burst->packets[first + i];

		lanes->line[i] = (uintptr_t)&no_backend;
		lanes->rows[i] = 0;
		if (!((lanes->by_lanes & ~lanes->clamped) >> i & 1) || packet->verdict != VERDICT_SERVICE ||
		    lists_flags(packet->row) & FL_LIST_IPV6)
			continue;
		lanes->line[i] = (uintptr_t)&packet->backends->rows[fl_row_current(packet->row)];
		lanes->rows[i] = packet->row;
		lanes->steady |= (uint8_t)(1U << i);
		lanes->listed |= (uint8_t)((uint32_t)packet_is_moved(packet) << i);
	}
	if (lanes->listed)
		lanes_fetch_lists(burst, lanes);
}
