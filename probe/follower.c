/* SPDX-License-Identifier: Apache-2.0 */
#include "follower.h"

#include <stdlib.h>
#include <string.h>

#include "control/service/config_node.h"
#include "ring/delta_decode.h"
#include "ring/fold.h"

static void change(struct follower *follower)
{
	follower->stamp++;
	follower->context->changed(follower->context->owner);
}

static void drop_image(struct follower *follower)
{
	if (follower->image.generation)
		delta_free(&follower->image);
	follower->image = (struct delta){0};
}

bool follower_is_ready(const struct follower *follower)
{
	return follower->has_config && follower->generation && follower->ring == follower->config.id;
}

/* The image's backends are known from here on. */
static void take_backends(struct follower *follower)
{
	const struct delta *image = &follower->image;
	size_t len = image->backends_count * sizeof(*image->backends);

	free(follower->backends);
	follower->backends = tree_alloc(len);
	if (len)
		memcpy(follower->backends, image->backends, len);
	follower->backends_count = image->backends_count;
	follower->ring = image->service;
	follower->generation = image->generation;
	change(follower);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* For a reason unrelated to the stored data. The image waits, too: what failed would be read again at once. */
static void retry(struct follower *follower)
{
	if (!follower->backoff.holds)
		backoff_hold(&follower->backoff, tree_now(follower->context->tree));
}

/* A first delta that is missing is no fault: old ones are deleted, and the snapshot is newer. */
static void refuse(struct follower *follower, unsigned reason, uint32_t generation, const char *why)
{
	const struct delta *image = &follower->image;

	if (++follower->backoff.failures > 1 || reason != REFUSAL_MISSING)
		refusal_open(&follower->ring_refusal, "probe", follower->name, reason, generation, why);
	if (image->generation && (image->service != follower->ring || image->generation > follower->generation))
		take_backends(follower);
	drop_image(follower);
	if (follower->backoff.failures > 1)
		backoff_hold(&follower->backoff, tree_now(follower->context->tree));
}

/* --- the image ---------------------------------------------------------------------------------------------------- */

static void read_generation(struct follower *follower, enum service_read what, uint32_t generation)
{
	follower->is_reading = true;
	service_reads_generation(follower->reads, what, generation);
}

/* After each event that may let the image go on: at most one snapshot or delta is being read. */
static void advance(struct follower *follower)
{
	const struct delta *image = &follower->image;

	if (!follower->has_config || !follower->latest || follower->is_reading || follower->backoff.holds)
		return;
	if (image->service != follower->config.id || image->buckets != follower->config.buckets)
		drop_image(follower);
	if (!image->generation) {
		follower->is_reading = true;
		service_reads_node(follower->reads, READ_SNAPSHOT_NUMBER);
	} else if (image->generation < follower->latest) {
		read_generation(follower, READ_DELTA, image->generation + 1);
	} else {
		follower->backoff.failures = 0;
		refusal_close(&follower->ring_refusal, "probe", follower->name, image->generation);
		if (image->service != follower->ring || image->generation != follower->generation)
			take_backends(follower);
	}
}

static void refuse_number(struct follower *follower, const char *node, const struct tree_reply *reply)
{
	struct reason why;

	service_reads_refuse_number(reply, node, &why);
	refuse(follower, REFUSAL_NUMBER, 0, why.text);
}

static void on_snapshot_number(struct follower *follower, const struct service_answer *answer)
{
	uint32_t generation = answer->reply->result == TREE_OK ? service_reads_number(answer->reply) : 0;

	if (generation > follower->latest)
		follower->latest = generation; /* it is committed; the watch on latest_gen has yet to fire */
	if (generation)
		read_generation(follower, READ_SNAPSHOT, generation);
	else if (answer->reply->result == TREE_OK)
		refuse_number(follower, "latest_snapshot", answer->reply);
	else if (answer->reply->result == TREE_MISSING)
		refuse(follower, REFUSAL_MISSING, 0, "latest_snapshot does not exist");
	else
		retry(follower);
}

/* Returns whether the chunks of a delta or snapshot were read. If not, handles the failure. */
static bool is_complete(struct follower *follower, const struct service_answer *answer)
{
	switch (answer->reply->result) {
	case TREE_OK:
		return true;
	case TREE_MISSING:
	case TREE_MISNAMED:
		refuse(follower, REFUSAL_MISSING, answer->generation, "its chunks are not 0000, 0001, ...");
		return false;
	case TREE_TOO_LONG:
		refuse(follower, FL_DELTA_LENGTH, answer->generation, "the chunks exceed the maximum length");
		return false;
	default:
		retry(follower);
		return false;
	}
}

static void on_snapshot(struct follower *follower, const struct service_answer *answer)
{
	const struct delta_expected expected = {.snapshot = true,
						.service = follower->config.id,
						.generation = answer->generation,
						.buckets = follower->config.buckets};
	struct reason why = {""};
	unsigned reason;

	if (!follower->has_config || !is_complete(follower, answer)) /* it is another service's by now */
		return;
	reason = delta_decode(answer->reply->data, answer->reply->len, &expected, &follower->image, &why);
	if (reason)
		refuse(follower, reason, answer->generation, why.text);
}

static void on_delta(struct follower *follower, const struct service_answer *answer)
{
	struct reason why = {"no memory"};
	struct delta_expected expected;
	struct delta delta;
	unsigned reason;

	if (follower->image.generation + 1 != answer->generation || !is_complete(follower, answer))
		return;
	expected = delta_expected_by(&follower->image);
	expected.generation = answer->generation;
	reason = delta_decode(answer->reply->data, answer->reply->len, &expected, &delta, &why);
	if (!reason) {
		int error = delta_fold(&follower->image, &delta);

		reason = error ? refusal_of(error) : 0;
		delta_free(&delta);
	}
	if (reason)
		refuse(follower, reason, answer->generation, why.text);
}

/* --- configuration and number ------------------------------------------------------------------------------------- */

static void read_latest(struct follower *follower)
{
	service_reads_latest(follower->reads, false);
}

static void on_config(struct follower *follower, const struct service_answer *answer)
{
	const struct tree_reply *reply = answer->reply;
	struct service_config config = {0};
	struct reason why = {""};
	bool is_changed;

	follower->is_unconfirmed = reply->result == TREE_MISSING;
	if (follower->is_unconfirmed) {
		follower->context->vanished(follower->context->owner);
		return;
	}
	if (reply->result != TREE_OK) {
		retry(follower);
		return;
	}
	if (follower->is_deleted)
		read_latest(follower);
	follower->is_deleted = false;
	follower->context->configured(follower->context->owner, follower->name, reply);
	if (config_node_parse((const char *)reply->data, reply->len, follower->name, &config, &why)) {
		/* the one before stays */
		refusal_open(&follower->config_refusal, "probe", follower->name, REFUSAL_CONFIG, 0, why.text);
		return;
	}
	refusal_close(&follower->config_refusal, "probe", follower->name, follower->generation);
	is_changed = follower->has_config && memcmp(&follower->config, &config, sizeof(config));
	follower->config = config;
	follower->has_config = true;
	if (is_changed)
		change(follower);
}

/* Without a config, the watch set by this read reports when it is created. */
static void on_config_exists(struct follower *follower, const struct service_answer *answer)
{
	if (answer->reply->result == TREE_OK) {
		follower_refresh(follower);
	} else if (answer->reply->result != TREE_MISSING) {
		retry(follower);
	} else {
		const bool is_new = !follower->is_deleted;

		drop_image(follower);
		follower->is_deleted = true;
		follower->has_config = false;
		follower->latest = 0;
		follower->generation = 0;
		follower->config_refusal = follower->ring_refusal = (struct refusal){0};
		if (is_new)
			change(follower);
	}
}

/* A generation that goes back is of another service of the same name; its configuration must be read first. */
static void on_latest(struct follower *follower, const struct service_answer *answer)
{
	uint32_t latest = service_reads_number(answer->reply);

	if (answer->reply->result ==
	    TREE_MISSING) { /* without a config there is none: its watch reports the next one */
		if (!follower->is_deleted && !follower->is_unconfirmed) {
			refuse(follower, REFUSAL_MISSING, 0, "latest_gen does not exist");
			backoff_schedule_once(&follower->backoff, tree_now(follower->context->tree));
		}
		return;
	}
	if (answer->reply->result != TREE_OK) {
		retry(follower);
		return;
	}
	if (latest && latest < follower->latest) {
		drop_image(follower);
		follower->has_config = false;
		follower->generation = 0;
		service_reads_node(follower->reads, READ_CONFIG);
	}
	follower->latest = latest;
	if (!latest)
		refuse_number(follower, "latest_gen", answer->reply);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void on_answer(void *context, const struct service_answer *answer)
{
	static void (*const handlers[])(struct follower * follower, const struct service_answer *answer) = {
	    [READ_CONFIG] = on_config,     [READ_CONFIG_EXISTS] = on_config_exists,
	    [READ_LATEST] = on_latest,     [READ_SNAPSHOT_NUMBER] = on_snapshot_number,
	    [READ_SNAPSHOT] = on_snapshot, [READ_DELTA] = on_delta,
	};
	struct follower *follower = context;

	if (answer->what >= READ_SNAPSHOT_NUMBER)
		follower->is_reading = false;
	handlers[answer->what](follower, answer);
	advance(follower);
}

void follower_refresh(struct follower *follower)
{
	backoff_resume(&follower->backoff);
	service_reads_node(follower->reads, READ_CONFIG);
	read_latest(follower);
}

void follower_changed(struct follower *follower, const char *tail)
{
	enum service_read what;

	if (!service_reads_find(tail, &what))
		return;
	if (what == READ_LATEST)
		read_latest(follower);
	else if (what == READ_CONFIG)
		service_reads_node(follower->reads, READ_CONFIG);
}

void follower_confirm(struct follower *follower)
{
	if (follower->is_unconfirmed)
		service_reads_node(follower->reads, READ_CONFIG_EXISTS);
	follower->is_unconfirmed = false;
}

void follower_run(struct follower *follower, uint64_t now_ms)
{
	if (now_ms >= follower->backoff.retry_at)
		follower_refresh(follower);
}

struct follower *follower_new(const struct follower_context *context, const char *name)
{
	struct follower *follower = tree_alloc(sizeof(*follower));

	follower->name = tree_copy(name);
	follower->context = context;
	follower->reads = service_reads_new(context->tree, context->root, name, on_answer, follower);
	backoff_reset(&follower->backoff);
	return follower;
}

void follower_end(struct follower *follower)
{
	service_reads_end(follower->reads);
	drop_image(follower);
	free(follower->backends);
	free(follower->name);
	free(follower);
}
