/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reads of one service in ZooKeeper (protocol/README.md section 4): the paths, the requests and their answers.
 *
 * A generation is its delta or snapshot and, if the service's steering method has data of its own, that data under the
 * same number. Both are requested at once, and the answer is delivered when both have arrived.
 */
#ifndef MUX_SERVICE_READS_H
#define MUX_SERVICE_READS_H

#include "control/zookeeper.h"

enum service_read {
	READ_CONFIG,          /* sets a watch */
	READ_CONFIG_EXISTS,   /* sets a watch */
	READ_LATEST,          /* the number of the latest generation; sets a watch */
	READ_SNAPSHOT_NUMBER, /* of the latest snapshot */
	READ_SNAPSHOT,
	READ_DELTA,
};

/* The answer to one read; valid only during the call that delivers it. */
struct service_answer {
	enum service_read what;
	uint32_t generation;          /* of a snapshot or delta */
	const struct zk_reply *reply; /* of a snapshot or delta: all chunks, as chunks_read() answers */
	const struct zk_reply *blob;  /* the steering method's data of that generation; NULL: none was requested */
};

typedef void (*service_answer_fn)(void *context, const struct service_answer *answer);

struct service_reads;

/* fn runs once for each read that is answered before service_reads_end(). */
struct service_reads *service_reads_new(struct zk_client *zk, const char *root, const char *service,
					service_answer_fn fn, void *context);
/* Delivers no further answers; frees itself when the last one has arrived. */
void service_reads_end(struct service_reads *reads);

/* Any read but a generation's. */
void service_reads_node(struct service_reads *reads, enum service_read what);
/* READ_SNAPSHOT or READ_DELTA. blob: the node of the steering method's data below the generation's, NULL: none. */
void service_reads_generation(struct service_reads *reads, enum service_read what, uint32_t generation,
			      const char *blob);

/* Which read fetches a node below the service's own; false: this mux does not read it. */
bool service_reads_find(const char *tail, enum service_read *what);

/* The data as a decimal scalar, 1 .. 2^32 - 1; 0 for anything else. */
uint32_t service_reads_number(const struct zk_reply *reply);

#endif
