/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service_reads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/chunks.h"
#include "ring/delta.h"

enum { PATH_LEN_MAX = 1024, BLOB_BYTES_MAX = 1 << 28 };

/* Below the service's node. */
static const char *const tails[] = {
    [READ_CONFIG] = "config",
    [READ_CONFIG_EXISTS] = "config",
    [READ_LATEST] = "ring/latest_gen",
    [READ_SNAPSHOT_NUMBER] = "ring/latest_snapshot",
};

/* The context of a request for one node: which read it is. */
struct node_read {
	struct service_reads *reads;
	enum service_read what;
};

struct service_reads {
	struct zk_client *zk;
	char *path; /* the service's node */
	service_answer_fn fn;
	void *context;
	unsigned open; /* requests without an answer, and one for the owner */
	bool ended;
	struct node_read nodes[READ_SNAPSHOT_NUMBER + 1];
};

/* One of the two parts of a generation; keeps its answer until the other part has one. */
struct part {
	struct generation_read *read;
	struct zk_reply reply;
	uint8_t *data;
	bool answered;
};

struct generation_read {
	struct service_reads *reads;
	enum service_read what;
	uint32_t generation;
	bool has_blob;
	struct part ring, blob;
};

static void release(struct service_reads *reads)
{
	if (--reads->open)
		return;
	free(reads->path);
	free(reads);
}

static void deliver(struct service_reads *reads, const struct service_answer *answer)
{
	if (!reads->ended)
		reads->fn(reads->context, answer);
	release(reads);
}

static void on_node(void *context, const struct zk_reply *reply)
{
	const struct node_read *node = context;

	deliver(node->reads, &(struct service_answer){.what = node->what, .reply = reply});
}

void service_reads_node(struct service_reads *reads, enum service_read what)
{
	char path[PATH_LEN_MAX];
	void *node = &reads->nodes[what];

	snprintf(path, sizeof(path), "%s/%s", reads->path, tails[what]);
	reads->open++;
	if (what == READ_CONFIG_EXISTS)
		zk_exists(reads->zk, path, true, on_node, node);
	else
		zk_get(reads->zk, path, what != READ_SNAPSHOT_NUMBER, on_node, node);
}

static void keep(struct part *part, const struct zk_reply *reply)
{
	part->reply = *reply;
	part->answered = true;
	part->data = zk_alloc(reply->len);
	if (reply->len)
		memcpy(part->data, reply->data, reply->len);
	part->reply.data = part->data;
}

static void on_part(void *context, const struct zk_reply *reply)
{
	struct part *part = context;
	struct generation_read *read = part->read;
	const struct part *other = part == &read->ring ? &read->blob : &read->ring;
	const struct zk_reply *ring = part == &read->ring ? reply : &other->reply;
	const struct zk_reply *blob = part == &read->ring ? &other->reply : reply;

	if (read->has_blob && !other->answered) {
		keep(part, reply);
		return;
	}
	deliver(read->reads, &(struct service_answer){.what = read->what,
						      .generation = read->generation,
						      .reply = ring,
						      .blob = read->has_blob ? blob : NULL});
	free(other->data);
	free(read);
}

static void read_part(struct part *part, const char *node, size_t max_len)
{
	const struct generation_read *read = part->read;
	char path[PATH_LEN_MAX];

	snprintf(path, sizeof(path), "%s/ring/gen/%010u/%s", read->reads->path, read->generation, node);
	chunks_read(read->reads->zk, path, max_len, on_part, part);
}

void service_reads_generation(struct service_reads *reads, enum service_read what, uint32_t generation,
			      const char *blob)
{
	struct generation_read *read = zk_alloc(sizeof(*read));

	*read = (struct generation_read){
	    .reads = reads,
	    .what = what,
	    .generation = generation,
	    .has_blob = blob,
	    .ring = {.read = read},
	    .blob = {.read = read},
	};
	reads->open++;
	read_part(&read->ring, what == READ_SNAPSHOT ? "snapshot" : "delta", DELTA_BYTES_MAX);
	if (blob)
		read_part(&read->blob, blob, BLOB_BYTES_MAX);
}

bool service_reads_find(const char *tail, enum service_read *what)
{
	*what = !strcmp(tail, tails[READ_CONFIG]) ? READ_CONFIG : READ_LATEST;
	return !strcmp(tail, tails[*what]);
}

uint32_t service_reads_number(const struct zk_reply *reply)
{
	uint64_t value = 0;

	if (reply->len > 10)
		return 0;
	for (size_t i = 0; i < reply->len; i++) {
		if (reply->data[i] < '0' || reply->data[i] > '9')
			return 0;
		value = value * 10 + (uint64_t)(reply->data[i] - '0');
	}
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

struct service_reads *service_reads_new(struct zk_client *zk, const char *root, const char *service,
					service_answer_fn fn, void *context)
{
	struct service_reads *reads = calloc(1, sizeof(*reads));

	if (!reads)
		return NULL;
	reads->zk = zk;
	reads->fn = fn;
	reads->context = context;
	reads->open = 1;
	for (int what = 0; what <= READ_SNAPSHOT_NUMBER; what++)
		reads->nodes[what] = (struct node_read){reads, (enum service_read)what};
	if (asprintf(&reads->path, "%s/services/%s", root, service) >= 0)
		return reads;
	free(reads);
	return NULL;
}

void service_reads_end(struct service_reads *reads)
{
	reads->ended = true;
	release(reads);
}
