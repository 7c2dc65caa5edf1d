/* SPDX-License-Identifier: Apache-2.0 */
#include "control/muxes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"

enum { PATH_MAX_LEN = 512 };

struct muxes {
	struct store *store;
	struct tables *tables;
	char *path;
	bool is_reading;
	bool again; /* asked for while it was being read */
	uint64_t retry_at;
	int asked;   /* nodes whose answer is not there yet */
	bool failed; /* one of them was not read: whether that mux lives is not known */
	uint32_t found_count;
	struct fl_address *found; /* of this reading */
	uint32_t listed;          /* at the last reading, with the same address or not */
	uint32_t count;
	struct fl_address *addresses; /* as the tables have them */
};

static void read_list(struct muxes *muxes);

static int compare(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct fl_address));
}

/* Hands on what was found, if it is another set than before. */
static void hand_on(struct muxes *muxes)
{
	bool same;

	if (muxes->found_count) /* nothing found: nothing to sort, and no pointer to hand to qsort */
		qsort(muxes->found, muxes->found_count, sizeof(*muxes->found), compare);
	same = muxes->found_count == muxes->count &&
	       (!muxes->count || !memcmp(muxes->found, muxes->addresses, muxes->count * sizeof(*muxes->found)));
	if (!same && tables_set_peers(muxes->tables, muxes->found, muxes->found_count)) {
		muxes->retry_at = store_now(muxes->store) + MUXES_RETRY_MS;
	} else if (!same) {
		free(muxes->addresses);
		muxes->addresses = muxes->found;
		muxes->count = muxes->found_count;
		muxes->found = NULL;
		fprintf(stderr, "mux event=peers muxes=%u\n", muxes->count);
	}
}

/* Everything is answered. A part of the muxes is no set of peers: then the last one stays until all were read. */
static void finish(struct muxes *muxes)
{
	muxes->is_reading = false;
	if (muxes->failed)
		muxes->retry_at = store_now(muxes->store) + MUXES_RETRY_MS;
	else
		hand_on(muxes);
	if (muxes->again)
		read_list(muxes);
}

/* The address that a mux's node says it is reached by; false: it says none. */
static bool read_address(const struct store_reply *reply, struct fl_address *out)
{
	json_t *node = json_loadb((const char *)reply->data, reply->len, JSON_REJECT_DUPLICATES, NULL);
	const char *address = json_string_value(json_object_get(node, "address"));
	const char *address6 = json_string_value(json_object_get(node, "address6"));
	bool found = (address && address_parse(address, out)) || (!address && address6 && address_parse(address6, out));

	json_decref(node);
	return found;
}

static bool is_found(const struct muxes *muxes, const struct fl_address *address)
{
	for (uint32_t i = 0; i < muxes->found_count; i++)
		if (fl_address_equal(&muxes->found[i], address))
			return true;
	return false;
}

static void on_node(void *context, const struct store_reply *reply)
{
	struct muxes *muxes = context;
	struct fl_address address;

	if (reply->rc == ZOK && read_address(reply, &address) && !is_found(muxes, &address))
		muxes->found[muxes->found_count++] = address;
	else if (reply->rc != ZOK && reply->rc != ZNONODE)
		muxes->failed = true;
	if (--muxes->asked == 0)
		finish(muxes);
}

static void on_folder(void *context, const struct store_reply *reply)
{
	struct muxes *muxes = context;

	if (reply->rc != ZNONODE) /* otherwise the watch tells when it comes */
		muxes->retry_at = store_now(muxes->store);
}

static void on_list(void *context, const struct store_reply *reply)
{
	struct muxes *muxes = context;
	char path[PATH_MAX_LEN];

	if (reply->rc == ZNONODE)
		store_exists(muxes->store, muxes->path, true, on_folder, muxes);
	else if (reply->rc != ZOK)
		muxes->retry_at = store_now(muxes->store) + MUXES_RETRY_MS;
	if (reply->rc != ZOK) {
		muxes->is_reading = false;
		return;
	}
	free(muxes->found);
	muxes->found = store_alloc(((size_t)reply->child_count + 1) * sizeof(*muxes->found));
	muxes->found_count = 0;
	muxes->failed = false;
	muxes->listed = (uint32_t)reply->child_count;
	muxes->asked = reply->child_count;
	if (!reply->child_count)
		finish(muxes);
	for (int i = 0; i < reply->child_count; i++) {
		snprintf(path, sizeof(path), "%s/%s", muxes->path, reply->children[i]);
		store_get(muxes->store, path, false, on_node, muxes);
	}
}

static void read_list(struct muxes *muxes)
{
	muxes->again = muxes->is_reading;
	if (muxes->is_reading)
		return;
	muxes->is_reading = true;
	muxes->retry_at = UINT64_MAX;
	store_children(muxes->store, muxes->path, true, on_list, muxes);
}

void muxes_connected(struct muxes *muxes)
{
	read_list(muxes);
}

void muxes_watched(struct muxes *muxes, const char *path)
{
	if (!strcmp(path, muxes->path))
		read_list(muxes);
}

uint32_t muxes_count(const struct muxes *muxes)
{
	return muxes->listed;
}

uint64_t muxes_deadline(const struct muxes *muxes)
{
	return muxes->retry_at;
}

void muxes_run(struct muxes *muxes, uint64_t now_ms)
{
	if (now_ms >= muxes->retry_at)
		read_list(muxes);
}

struct muxes *muxes_new(struct store *store, const char *path, struct tables *tables)
{
	struct muxes *muxes = calloc(1, sizeof(*muxes));

	if (!muxes)
		return NULL;
	muxes->store = store;
	muxes->tables = tables;
	muxes->retry_at = UINT64_MAX;
	muxes->path = strdup(path);
	if (muxes->path)
		return muxes;
	free(muxes);
	return NULL;
}

void muxes_free(struct muxes *muxes)
{
	free(muxes->found);
	free(muxes->addresses);
	free(muxes->path);
	free(muxes);
}
