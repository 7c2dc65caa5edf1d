/* SPDX-License-Identifier: Apache-2.0 */
/* A controller's question about a service: which of these buckets have connections (protocol/README.md, 11)? */
#ifndef FAIRLEAD_AGENT_QUESTION_H
#define FAIRLEAD_AGENT_QUESTION_H

#include "bucket_set.h"
#include "connections.h"
#include "services.h"

enum {
	QUESTION_NAME_MAX = 64,
};

struct question {
	char name[QUESTION_NAME_MAX + 1]; /* empty: no question */
	struct bucket_set *buckets;
	fl_u64 asked_ns;
	struct bucket_set *half_open; /* of these buckets, those with half-open connections */
	fl_u64 half_open_count;
};

/* No question any more. */
void question_end(struct question *question);

/* Replaces the question. Takes over buckets, which are of the service's ring. */
void question_ask(struct question *question, const char *name, struct bucket_set *buckets, fl_u64 now_ns);

/* A sweep for half-open connections begins, and has found one. two_buckets: by either half of its flow hash. */
void question_sweep(struct question *question);
void question_half_open(struct question *question, fl_u64 flow_hash, bool two_buckets);

struct answer_of {
	const struct question *question;
	struct bucket_set *buckets; /* freed by the caller; NULL: there is no question, or no memory */
	fl_u64 connections;
};

/*
 * Answers all questions by one walk over the table; `answers` has one of each service, with its question. The table has
 * the low half of flow hashes only: where connections have two buckets, the walk computes the hashes, which costs 20 ns
 * each while a question is open. Kept, they would cost each connection of every service 8 bytes more.
 */
void question_answer_all(const struct services *services, const struct connections *table, struct answer_of *answers);

#endif
