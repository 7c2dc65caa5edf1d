/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reads of one service in ZooKeeper (protocol/README.md section 4): the paths, the requests and their answers.
 *
 * If the service's steering method has arrays, the number of the latest generation is read together with the list of
 * arrays, and the answer is delivered when both have arrived. The list is requested second, so it is at least as new.
 */
#ifndef FAIRLEAD_MUX_SERVICE_READS_H
#define FAIRLEAD_MUX_SERVICE_READS_H

#include "tree/tree.h"

enum service_read {
	READ_CONFIG,          /* sets a watch */
	READ_CONFIG_EXISTS,   /* sets a watch */
	READ_LATEST,          /* the number of the latest generation; sets a watch */
	READ_LOADS,           /* what servers report; sets a watch */
	READ_LOADS_EXISTS,    /* sets a watch */
	READ_SNAPSHOT_NUMBER, /* of the latest snapshot */
	READ_SNAPSHOT,
	READ_DELTA,
	READ_ARRAYS,       /* whole */
	READ_ARRAYS_PATCH, /* what changes those before */
	READ_AHEAD,        /* the same of arrays that no generation names yet */
	READ_AHEAD_PATCH,
};

/* The answer to one read; valid only during the call that delivers it. */
struct service_answer {
	enum service_read what;
	uint32_t generation;            /* of what is below a generation's node */
	const struct tree_reply *reply; /* there: all chunks, as chunks_read() answers */
	const struct tree_reply *list;  /* of READ_LATEST: latest_arrays; NULL: it was not requested */
};

typedef void (*service_answer_fn)(void *context, const struct service_answer *answer);

struct service_reads;

/* fn runs once for each read that is answered before service_reads_end(). */
struct service_reads *service_reads_new(struct tree *tree, const char *root, const char *service, service_answer_fn fn,
					void *context);
/* Delivers no further answers; frees itself when the last one has arrived. */
void service_reads_end(struct service_reads *reads);

/* All of them up to READ_SNAPSHOT_NUMBER but READ_LATEST. */
void service_reads_node(struct service_reads *reads, enum service_read what);
/* READ_LATEST. with_list: latest_arrays, too. */
void service_reads_latest(struct service_reads *reads, bool with_list);
/* The others, each below a generation's node. */
void service_reads_generation(struct service_reads *reads, enum service_read what, uint32_t generation);

/* Whether any is not answered yet. */
bool service_reads_are_open(const struct service_reads *reads);

/* Which read fetches a node below the service's own; false: this mux does not read it. */
bool service_reads_find(const char *tail, enum service_read *what);

/* The data as a decimal scalar, 1 .. 2^32 - 1; 0 for anything else. */
uint32_t service_reads_number(const struct tree_reply *reply);
/* Why a node's data is refused as such a number. */
void service_reads_refuse_number(const struct tree_reply *reply, const char *node, struct reason *why);

#endif
