/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/service_reads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree/chunks.h"
#include "ring/delta.h"
#include "steering/steering.h"

enum { PATH_LEN_MAX = 1024 };

/* Below the service's node. */
static const char *const tails[] = {
    [READ_CONFIG] = "config", [READ_CONFIG_EXISTS] = "config", [READ_LATEST] = "ring/latest_gen",
    [READ_LOADS] = "loads",   [READ_LOADS_EXISTS] = "loads",   [READ_SNAPSHOT_NUMBER] = "ring/latest_snapshot",
};

static const char list_tail[] = "ring/latest_arrays";

/* Below a generation's node, and how many bytes they may have. */
static const struct {
	const char *node;
	size_t max_len;
} parts[] = {
    [READ_SNAPSHOT] = {"snapshot", DELTA_BYTES_MAX},
    [READ_DELTA] = {"delta", DELTA_BYTES_MAX},
    [READ_ARRAYS] = {"arrays", STEERING_ARRAYS_BYTES_MAX},
    [READ_ARRAYS_PATCH] = {"arrays_patch", STEERING_ARRAYS_BYTES_MAX},
    [READ_AHEAD] = {"arrays", STEERING_ARRAYS_BYTES_MAX},
    [READ_AHEAD_PATCH] = {"arrays_patch", STEERING_ARRAYS_BYTES_MAX},
};

struct service_reads {
	struct tree *tree;
	char *path; /* the service's node */
	service_answer_fn fn;
	void *context;
	unsigned open; /* requests without an answer, and one for the owner */
	bool ended;
};

/* The latest generation's number and the list of arrays: the answer that comes first waits for the other. */
struct latest_read {
	struct service_reads *reads;
	unsigned open; /* without an answer */
	struct kept_reply {
		struct latest_read *latest;
		struct tree_reply reply;
		uint8_t *data;
	} number, list;
};

/* Any other read. */
struct read {
	struct service_reads *reads;
	enum service_read what;
	uint32_t generation;
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

static void on_answer(void *context, const struct tree_reply *reply)
{
	struct read *read = context;

	deliver(read->reads,
		&(struct service_answer){.what = read->what, .generation = read->generation, .reply = reply});
	free(read);
}

static struct read *begin(struct service_reads *reads, enum service_read what, uint32_t generation)
{
	struct read *read = tree_alloc(sizeof(*read));

	*read = (struct read){.reads = reads, .what = what, .generation = generation};
	reads->open++;
	return read;
}

void service_reads_node(struct service_reads *reads, enum service_read what)
{
	struct read *read = begin(reads, what, 0);
	char path[PATH_LEN_MAX];

	snprintf(path, sizeof(path), "%s/%s", reads->path, tails[what]);
	if (what == READ_CONFIG_EXISTS || what == READ_LOADS_EXISTS)
		tree_exists(reads->tree, path, true, on_answer, read);
	else
		tree_get(reads->tree, path, what != READ_SNAPSHOT_NUMBER, on_answer, read);
}

/* Usually in the order of requests; but a request that can't be sent is answered before those under way. */
static void on_latest(void *context, const struct tree_reply *reply)
{
	struct kept_reply *kept = context;
	struct latest_read *latest = kept->latest;

	kept->reply = *reply;
	kept->data = tree_alloc(reply->len);
	if (reply->len)
		memcpy(kept->data, reply->data, reply->len);
	kept->reply.data = kept->data;
	if (--latest->open)
		return;
	deliver(latest->reads, &(struct service_answer){
				   .what = READ_LATEST, .reply = &latest->number.reply, .list = &latest->list.reply});
	free(latest->number.data);
	free(latest->list.data);
	free(latest);
}

void service_reads_latest(struct service_reads *reads, bool with_list)
{
	char path[PATH_LEN_MAX];
	struct latest_read *latest;

	if (!with_list) {
		service_reads_node(reads, READ_LATEST);
		return;
	}
	latest = tree_alloc(sizeof(*latest));
	*latest = (struct latest_read){.reads = reads, .open = 2, .number.latest = latest, .list.latest = latest};
	reads->open++;
	snprintf(path, sizeof(path), "%s/%s", reads->path, tails[READ_LATEST]);
	tree_get(reads->tree, path, true, on_latest, &latest->number);
	snprintf(path, sizeof(path), "%s/%s", reads->path, list_tail);
	tree_get(reads->tree, path, false, on_latest, &latest->list);
}

void service_reads_generation(struct service_reads *reads, enum service_read what, uint32_t generation)
{
	char path[PATH_LEN_MAX];

	snprintf(path, sizeof(path), "%s/ring/gen/%010u/%s", reads->path, generation, parts[what].node);
	chunks_read(reads->tree, path, parts[what].max_len, on_answer, begin(reads, what, generation));
}

bool service_reads_are_open(const struct service_reads *reads)
{
	return reads->open > 1;
}

bool service_reads_find(const char *tail, enum service_read *what)
{
	static const enum service_read watched[] = {READ_CONFIG, READ_LATEST, READ_LOADS};

	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		*what = watched[i];
		if (!strcmp(tail, tails[watched[i]]))
			return true;
	}
	return false;
}

uint32_t service_reads_number(const struct tree_reply *reply)
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

void service_reads_refuse_number(const struct tree_reply *reply, const char *node, struct reason *why)
{
	reason_set(why, -EINVAL, "%s is '%.*s'; allowed: 1..%u", node, reply->len < 20 ? (int)reply->len : 20,
		   (const char *)reply->data, UINT32_MAX);
}

struct service_reads *service_reads_new(struct tree *tree, const char *root, const char *service, service_answer_fn fn,
					void *context)
{
	struct service_reads *reads = tree_alloc(sizeof(*reads));
	char *services = tree_path(root, "services");

	reads->tree = tree;
	reads->path = tree_path(services, service);
	reads->fn = fn;
	reads->context = context;
	reads->open = 1;
	free(services);
	return reads;
}

void service_reads_end(struct service_reads *reads)
{
	reads->ended = true;
	release(reads);
}
