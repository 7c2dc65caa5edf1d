/* SPDX-License-Identifier: Apache-2.0 */
/* What a controller answers to a report (protocol/README.md, 11). */
#ifndef FAIRLEAD_AGENT_ANSWER_H
#define FAIRLEAD_AGENT_ANSWER_H

#include "census.h"

enum answer_limits {
	ANSWER_SECONDS_MAX = 3600,
};

struct asked {
	size_t service; /* its place in the services */
	char name[QUESTION_NAME_MAX + 1];
	struct bucket_set *buckets; /* NULL: absent, as the question was answered before */
};

struct asked_connections {
	size_t service;
	struct told_answer told;
};

struct answer {
	char services_version[SERVICES_VERSION_MAX + 1];
	fl_u32 next_seconds;
	size_t count;
	struct asked *list; /* empty if services_version is not that of the services, as is the other list */
	size_t connections_count;
	struct asked_connections *connections;
};

/* Reads an answer to a report about these services. False: refused, the reason was printed; nothing is to be freed. */
bool answer_read(const char *text, size_t len, const struct services *services, struct answer *answer);
void answer_free(struct answer *answer);

/*
 * Makes the census's questions those of the answer, and hands on what it says about connections, unless it is about
 * other services. Takes the buckets out of the answer. False, after printing it: the answer leaves out the buckets of a
 * question that the census does not have; that question is dropped. `random` is any number, drawn evenly.
 */
bool answer_apply(struct answer *answer, struct census *census, fl_u64 now_ns, fl_u32 random);

#endif
