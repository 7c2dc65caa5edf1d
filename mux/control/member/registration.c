/* SPDX-License-Identifier: Apache-2.0 */
#include "control/member/registration.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/clock.h"

enum { REGISTRATION_ADDRESS_MAX = 128 }; /* of both addresses as text */

static void write_node(struct registration *own);
static void look(struct registration *own);

/* When to write the node again although nothing changes. The answer to the write that creates it has no time in it. */
static uint64_t compare_later(const struct registration *own)
{
	if (!own->is_ours)
		return tree_jitter(CLOCK_COMPARE_FIRST_MS);
	return CLOCK_COMPARE_PERIOD_MS + tree_jitter(CLOCK_COMPARE_PERIOD_MS / 10);
}

/* No other mux has the id, as far as known. */
static void allow(struct registration *own)
{
	own->refuse_at = UINT64_MAX;
	if (own->may_serve || own->is_refused)
		return;
	own->may_serve = true;
	own->calls.may_serve(own->context);
}

static void set_state(struct registration *own, enum registration_state state)
{
	enum registration_state before = own->state;

	if (state == before)
		return;
	own->state = state;
	if (state == REGISTRATION_NOT_ADDED)
		fprintf(
		    stderr,
		    "mux event=not_added path=%s why=\"no operator has added it to this cluster, or it was removed: "
		    "fairleadctl mux add\"\n",
		    own->entry);
	else if (state == REGISTRATION_DENIED)
		fprintf(stderr,
			"mux event=not_allowed path=%s why=\"--zookeeper-auth lacks its login, as fairleadctl mux add "
			"printed it\"\n",
			own->entry);
	else if (before != REGISTRATION_UNKNOWN)
		fprintf(stderr, "mux event=added path=%s\n", own->entry);
	if (own->calls.changed)
		own->calls.changed(own->context);
}

static void on_entry(void *context, const struct tree_reply *reply)
{
	struct registration *own = context;

	own->is_looking = false;
	if (own->look_again) {
		look(own);
	} else if (reply->result == TREE_OK) {
		own->added_in = tree_session(own->tree);
		if (own->state != REGISTRATION_DENIED)
			set_state(own, REGISTRATION_ADDED);
		write_node(own);
	} else if (reply->result == TREE_MISSING) { /* the watch reports when it is there */
		own->is_ours = false;
		set_state(own, REGISTRATION_NOT_ADDED);
	} else {
		if (reply->result == TREE_DENIED)
			set_state(own, REGISTRATION_DENIED);
		own->retry_at = tree_now(own->tree) + REGISTRATION_RETRY_MS;
	}
}

/* Whether the mux is added; then its node is written. */
static void look(struct registration *own)
{
	own->look_again = own->is_looking;
	if (own->is_looking || !tree_is_connected(own->tree))
		return;
	own->is_looking = true;
	tree_exists(own->tree, own->entry, true, on_entry, own);
}

/* The node belongs to another session. */
static void taken(struct registration *own, const struct tree_reply *reply)
{
	char address[REGISTRATION_ADDRESS_MAX];
	bool is_own = own->calls.is_own_place(own->context, (const char *)reply->data, address, sizeof(address));
	uint64_t now = tree_now(own->tree);

	if (reply->owner != own->taken)
		fprintf(stderr, "mux event=node_taken path=%s session=0x%" PRIx64 " address=%s place=%s\n", own->path,
			(uint64_t)reply->owner, address, is_own ? "own" : "other");
	own->taken = reply->owner;
	if (is_own)
		allow(own);
	if (own->may_serve || own->is_refused)
		return;
	if (own->refuse_at == UINT64_MAX)
		own->refuse_at = now + REGISTRATION_SESSIONS * (uint64_t)tree_session_ms(own->tree);
	if (now < own->refuse_at) {
		own->retry_at = own->refuse_at; /* a last look, unless the watch fires before */
		return;
	}
	own->is_refused = true;
	own->calls.refused(own->context, address);
}

static void on_owner(void *context, const struct tree_reply *reply)
{
	struct registration *own = context;

	own->is_writing = false;
	if (reply->result == TREE_MISSING) { /* gone since */
		write_node(own);
		return;
	}
	if (reply->result != TREE_OK) {
		own->retry_at = tree_now(own->tree) + REGISTRATION_RETRY_MS;
		return;
	}
	if (reply->owner != tree_session(own->tree)) {
		taken(own, reply);
		return;
	}
	own->is_ours = true;
	allow(own);
	write_node(own);
}

static void on_created(void *context, const struct tree_reply *reply)
{
	struct registration *own = context;

	own->is_writing = false;
	if (reply->result == TREE_EXISTS) {
		own->is_writing = true;
		tree_get(own->tree, own->path, true, on_owner, own);
		return;
	}
	if (reply->result == TREE_OK) {
		own->is_ours = true;
		own->taken = 0;
		set_state(own, REGISTRATION_ADDED);
		fprintf(stderr, "mux event=registered path=%s session=0x%" PRIx64 "\n", own->path,
			(uint64_t)tree_session(own->tree));
		allow(own);
		return;
	}
	if (reply->result == TREE_MISSING) { /* removed meanwhile */
		look(own);
		return;
	}
	if (reply->result == TREE_DENIED)
		set_state(own, REGISTRATION_DENIED);
	own->retry_at = tree_now(own->tree) + REGISTRATION_RETRY_MS;
}

static void on_set(void *context, const struct tree_reply *reply)
{
	struct registration *own = context;

	own->is_writing = false;
	if (reply->result == TREE_OK)
		clock_compare_answered(&own->clock, reply->written_ms, (int64_t)clock_unix_ms(), tree_now(own->tree));
	if (reply->result == TREE_MISSING) { /* deleted: with the entry, or by hand */
		own->is_ours = false;
		look(own);
	} else if (reply->result != TREE_OK) {
		own->retry_at = tree_now(own->tree) + REGISTRATION_RETRY_MS;
	}
}

static void write_node(struct registration *own)
{
	char *text;

	if (own->is_writing || own->state == REGISTRATION_NOT_ADDED || !tree_is_connected(own->tree))
		return;
	text = own->calls.render(own->context);
	if (!text) {
		own->retry_at = tree_now(own->tree) + REGISTRATION_RETRY_MS;
		return;
	}
	own->is_writing = true;
	own->has_changed = false;
	own->write_at = tree_now(own->tree) + compare_later(own);
	clock_compare_sent(&own->clock, (int64_t)clock_unix_ms());
	if (own->is_ours)
		tree_set(own->tree, own->path, text, on_set, own);
	else
		tree_create_ephemeral(own->tree, own->path, text, on_created, own);
	free(text);
}

void registration_connected(struct registration *own)
{
	own->is_ours = false; /* until the server confirms it: the session may be new */
	own->refuse_at = UINT64_MAX;
	look(own);
}

void registration_changed(struct registration *own, uint32_t within_ms)
{
	uint64_t at = tree_now(own->tree) + (within_ms ? tree_jitter(within_ms) : 0);

	if (own->has_changed)
		return;
	own->has_changed = true;
	if (at < own->write_at)
		own->write_at = at;
}

void registration_watched(struct registration *own, const char *path)
{
	if (!strcmp(path, own->entry))
		look(own);
	else if (!strcmp(path, own->path) && !own->is_ours)
		write_node(own);
}

/* A change waits for the write under way, and for the node to be ours. */
uint64_t registration_deadline(const struct registration *own)
{
	return own->is_ours && !own->is_writing && own->write_at < own->retry_at ? own->write_at : own->retry_at;
}

void registration_run(struct registration *own, uint64_t now_ms)
{
	if (now_ms < registration_deadline(own))
		return;
	own->retry_at = UINT64_MAX;
	if (own->is_ours)
		write_node(own);
	else
		look(own);
}

uint32_t registration_seconds(struct registration *own)
{
	return clock_compare_seconds(&own->clock, tree_now(own->tree));
}

bool registration_was_added(const struct registration *own)
{
	return own->added_in && own->added_in == tree_session(own->tree);
}

bool registration_is_registered(const struct registration *own)
{
	return own->is_ours && tree_is_connected(own->tree);
}

struct registration *registration_new(struct tree *tree, const char *entry, const struct registration_calls *calls,
				      void *context)
{
	struct registration *own = tree_alloc(sizeof(*own));

	*own = (struct registration){
	    .tree = tree,
	    .entry = tree_copy(entry),
	    .path = tree_path(entry, REGISTRATION_NODE),
	    .calls = *calls,
	    .context = context,
	    .write_at = UINT64_MAX,
	    .retry_at = UINT64_MAX,
	    .refuse_at = UINT64_MAX,
	};
	return own;
}

void registration_free(struct registration *own)
{
	free(own->entry);
	free(own->path);
	free(own);
}
