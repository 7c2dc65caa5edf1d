/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/stuck.h"

bool stuck_judge(struct stuck *stuck, uint64_t refused, uint64_t accepted, uint64_t now_ms)
{
	if (stuck_asks(stuck, refused)) {
		if (!stuck->since_ms || accepted != stuck->accepted)
			stuck->since_ms = now_ms;
		stuck->refused = refused;
		stuck->accepted = accepted;
		stuck->refused_ms = now_ms;
	} else if (now_ms - stuck->refused_ms >= STUCK_QUIET_MS) {
		stuck->since_ms = 0;
	}
	return stuck->since_ms && stuck->refused_ms - stuck->since_ms >= STUCK_MS;
}
