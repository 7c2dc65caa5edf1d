/* SPDX-License-Identifier: Apache-2.0 */
#include "control/withdrawal/lag_quorum.h"

#include <stddef.h>
#include <stdlib.h>

struct lag_quorum lag_quorum_heard(const struct hello_peers *peers, uint16_t service, uint32_t generation,
				   uint64_t now_ms, const struct hello_peer **first_ahead)
{
	struct lag_quorum quorum;

	lag_quorum_start(&quorum);
	if (first_ahead)
		*first_ahead = NULL;
	for (unsigned i = 0; peers && i < peers->count; i++) {
		const struct hello_peer *peer = &peers->list[i];
		const struct hello_service *said = hello_peer_service(peer, service, now_ms);
		struct lag_view other = {0};

		if (said)
			other = (struct lag_view){.generation = said->generation,
						  .announces = said->flags & HELLO_ANNOUNCES,
						  .is_behind = said->flags & HELLO_BEHIND};
		if (lag_quorum_add(&quorum, &other, generation) && first_ahead && !*first_ahead)
			*first_ahead = peer;
	}
	return quorum;
}

static int compare_descending(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a < b) - (a > b);
}

uint32_t lag_quorum_settled(const struct hello_peers *peers, uint16_t service, uint32_t generation, uint64_t now_ms)
{
	struct lag_quorum quorum = lag_quorum_heard(peers, service, generation, now_ms, NULL);
	const struct hello_service *ahead[HELLO_PEERS_MAX];
	unsigned needed = (quorum.muxes + 1) / 2, count = 0;
	uint32_t rings[HELLO_PEERS_MAX], settled = 0;

	for (unsigned i = 0; peers && i < peers->count; i++) {
		const struct hello_service *said = hello_peer_service(&peers->list[i], service, now_ms);

		if (said && said->flags & HELLO_ANNOUNCES && said->generation > generation) {
			ahead[count] = said;
			rings[count++] = said->generation;
		}
	}
	if (count < needed)
		return 0;
	qsort(rings, count, sizeof(rings[0]), compare_descending);
	for (unsigned i = 0; i < count; i++)
		if (ahead[i]->settled <= ahead[i]->generation && ahead[i]->settled <= rings[needed - 1] &&
		    ahead[i]->settled > settled)
			settled = ahead[i]->settled;
	return settled;
}
