/* SPDX-License-Identifier: Apache-2.0 */
#include "control/lag_quorum.h"

#include <stddef.h>

struct lag_quorum lag_quorum_heard(const struct hello_peers *peers, uint16_t service, uint32_t generation,
				   uint64_t now_ms, const struct hello_peer **first_ahead)
{
	struct lag_quorum quorum;

	lag_quorum_start(&quorum);
	if (first_ahead)
		*first_ahead = NULL;
	for (unsigned i = 0; peers && i < hello_peers_count(peers); i++) {
		const struct hello_peer *peer = hello_peers_at(peers, i);
		const struct hello_service *said = hello_peer_service(peer, service, now_ms);
		struct lag_view other = {0};

		if (said)
			other = (struct lag_view){.generation = said->generation,
						  .announces = said->flags & HELLO_ANNOUNCES,
						  .is_behind = said->flags & HELLO_BEHIND,
						  .settled = said->settled};
		if (lag_quorum_add(&quorum, &other, generation) && first_ahead && !*first_ahead)
			*first_ahead = peer;
	}
	return quorum;
}
