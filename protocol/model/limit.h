/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that protocol/README.md section 9 names: what may break a connection, and nothing else may. */
#ifndef FAIRLEAD_MODEL_LIMIT_H
#define FAIRLEAD_MODEL_LIMIT_H

#include "world.h"

enum limit {
	LIMIT_NONE, /* nothing excuses it */
	LIMIT_WINDOW,
	LIMIT_CLOCK,
	LIMIT_MUX_BEHIND,
	LIMIT_SECOND_MOVE,
	LIMIT_DATAGRAM,
	LIMITS,
};

/* The first limit that covers a connection broken by a packet of `mux` in this state, taken before the packet. */
enum limit limit_of(const struct world_setting *setting, const struct world *before, enum world_mux mux);

/* Its name in protocol/README.md. */
const char *limit_name(enum limit limit);

#endif
