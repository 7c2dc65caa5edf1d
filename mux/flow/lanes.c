/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/lanes.h"

#include "flow/vec.h"
#include "ring/backend.h"

_Static_assert((int)VEC_LANES == LANES, "a vector has a lane for each packet of a group");
_Static_assert(offsetof(struct packet, service) == 24 && offsetof(struct packet, hash) == 32, "words of struct packet");
_Static_assert(offsetof(struct packet, bucket) == 40 && offsetof(struct packet, ring) == 48, "words of struct packet");

/* rows_known() of second rows. */
VEC_INLINE vec known_seconds(const struct lanes *lanes)
{
	const vec rows = vec_load(lanes->second_rows), low16 = vec_all(0xffff);
	const vec_mask known = vec_less(vec_and(rows, low16), vec_all(lanes->backends[0]->size));

	return vec_select(known, rows, vec_and(rows, vec_all(~0xffffULL)));
}

__attribute__((noinline)) void lanes_unpack(struct burst *burst, uint32_t first, struct lanes *lanes)
{
	vec v[8];

	lanes->is_unpacked = true;
	if (!lanes->in)
		return;
	v[0] = vec_load(lanes->word);
	v[1] = vec_load(lanes->key[0]);
	v[2] = vec_load(lanes->key[1]);
	v[3] = lanes->is_one ? vec_all((uint64_t)(uintptr_t)lanes->service[0]) : vec_load(lanes->service);
	v[4] = vec_load(lanes->hash);
	v[5] = vec_load(lanes->place);
	v[6] = lanes->is_one ? vec_all((uint64_t)(uintptr_t)lanes->ring[0]) : vec_load(lanes->ring);
	v[6] = lanes->has_rows ? vec_load(lanes->rows) : v[6];
	v[7] = lanes->is_one ? vec_all((uint64_t)(uintptr_t)lanes->backends[0]) : vec_load(lanes->backends);
	v[7] = lanes->has_rows ? v[7] : vec_all(0);
	if (lanes->has_rows && lanes->seconds) {
		const vec_mask seconds = vec_mask_of(lanes->seconds);

		v[1] = vec_select(seconds, known_seconds(lanes), v[1]);
		v[2] = vec_select(seconds, vec_load(lanes->second), v[2]);
		burst->seconds |= (uint32_t)lanes->seconds << first;
	}
	for (int i = 0; i < 8; i += 2)
		vec_store_words((uint8_t *)&burst->packets[first] + i * sizeof(uint64_t), sizeof(struct packet),
				lanes->in, v[i], v[i + 1]);
}
