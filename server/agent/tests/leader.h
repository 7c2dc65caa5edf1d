/* SPDX-License-Identifier: Apache-2.0 */
/* A leader for tests: what it knows of a server's connections of a service by reports (protocol/README.md, 11). */
#ifndef FAIRLEAD_AGENT_TESTS_LEADER_H
#define FAIRLEAD_AGENT_TESTS_LEADER_H

#include <jansson.h>

#include <fairlead/types.h>

enum {
	LEADER_HASHES_MAX = 1024,
};

struct known {
	fl_u64 hashes[LEADER_HASHES_MAX];
	size_t count;
};

struct leader {
	char memory[65];
	bool is_complete, is_whole; /* a whole set was heard; another one is under way */
	struct known known, whole;
};

/* With another memory, and nothing known. */
void leader_begin(struct leader *leader, const char *memory);

/* Takes the `connections` of a report; ends the test if they are malformed. */
void leader_hear(struct leader *leader, const json_t *connections);

bool known_has(const struct known *known, fl_u64 hash);

#endif
