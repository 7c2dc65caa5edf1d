/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that protocol/README.md section 10 names: what may break a connection, and nothing else may. */
#ifndef FAIRLEAD_MODEL_LIMIT_H
#define FAIRLEAD_MODEL_LIMIT_H

#include "world.h"

enum limit {
	LIMIT_NONE, /* nothing excuses it */
	LIMIT_WINDOW,
	LIMIT_HOLD,
	LIMIT_LOST,
	LIMIT_NOTICE,
	LIMIT_DEAD,
	LIMIT_RETURN,
	LIMIT_FOURTH_MOVE,
	LIMIT_CLOCK,
	LIMIT_DATAGRAM,
	LIMITS,
};

/* The first limit that covers a connection broken by this step from this state. */
enum limit limit_of(const struct world_setting *setting, const struct world *before, struct world_step step);

/* Its name in protocol/README.md. */
const char *limit_name(enum limit limit);

#endif
