/* SPDX-License-Identifier: Apache-2.0 */
#include "control/withdrawal/lag_withdrawal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"
#include "control/withdrawal/lag_quorum.h"
#include "control/member/registration.h"

enum { PATH_MAX_LEN = 512, NAME_MAX_LEN = 64 };

struct lag_withdrawal {
	struct tree *tree;
	char *path;
	char *id;
	struct lag_limits limits;
	const struct hello_peers *peers; /* NULL: no hellos */
	json_t *others;                  /* the other muxes' nodes at the last complete reading */
	json_t *coming;                  /* those of the current reading */
	unsigned asked;                  /* nodes without an answer yet */
	bool failed;                     /* one of them could not be read */
	bool is_reading;
	bool is_fresh;     /* others has not been used for a decision */
	uint64_t look_at;  /* the next reading is not before */
	bool is_listening; /* services may be held until then: */
	uint64_t listen_until;
	uint64_t hear_at; /* nor, without ZooKeeper, the next decision: each hello wakes the control thread */
};

/* All nodes are answered. A partial reading decides nothing; the next one may. */
static void finish(struct lag_withdrawal *withdrawal)
{
	json_decref(withdrawal->others);
	withdrawal->others = withdrawal->coming;
	withdrawal->coming = NULL;
	withdrawal->is_reading = false;
	withdrawal->is_fresh = !withdrawal->failed;
}

static void on_node(void *context, const struct tree_reply *reply)
{
	struct lag_withdrawal *withdrawal = context;
	json_t *node = NULL;
	const char *id;

	if (reply->result == TREE_OK && reply->owner)
		node = json_loadb((const char *)reply->data, reply->len, JSON_REJECT_DUPLICATES, NULL);
	id = json_string_value(json_object_get(node, "id"));
	if (id && strcmp(id, withdrawal->id))
		json_array_append(withdrawal->coming, node);
	json_decref(node);
	if (reply->result != TREE_OK && reply->result != TREE_MISSING && reply->result != TREE_DENIED)
		withdrawal->failed = true;
	if (!--withdrawal->asked)
		finish(withdrawal);
}

static void on_list(void *context, const struct tree_reply *reply)
{
	struct lag_withdrawal *withdrawal = context;

	if (reply->result != TREE_OK) {
		withdrawal->is_reading = false;
		return;
	}
	withdrawal->coming = json_array();
	withdrawal->failed = false;
	withdrawal->asked = (unsigned)reply->child_count;
	if (!reply->child_count)
		finish(withdrawal);
	for (int i = 0; i < reply->child_count; i++) {
		char path[PATH_MAX_LEN];

		snprintf(path, sizeof(path), "%s/%s/" REGISTRATION_NODE, withdrawal->path, reply->children[i]);
		tree_get(withdrawal->tree, path, false, on_node, withdrawal);
	}
}

static void look(struct lag_withdrawal *withdrawal, uint64_t now_ms)
{
	if (withdrawal->is_reading || now_ms < withdrawal->look_at)
		return;
	withdrawal->is_reading = true;
	withdrawal->look_at = now_ms + LAG_WITHDRAWAL_LOOK_MS + tree_jitter(LAG_WITHDRAWAL_LOOK_JITTER_MS);
	tree_children(withdrawal->tree, withdrawal->path, false, on_list, withdrawal);
}

/* Whether the mux of a node says by itself what it serves. */
static bool is_heard(const struct lag_withdrawal *withdrawal, const json_t *node, uint64_t now_ms)
{
	const char *text = json_string_value(json_object_get(node, "address"));
	const struct hello_peer *peer = NULL;
	struct fl_address address;

	if (!text)
		text = json_string_value(json_object_get(node, "address6"));
	if (withdrawal->peers && text && address_parse(text, &address))
		peer = hello_peers_find(withdrawal->peers, &address);
	return peer && hello_peer_is_heard(peer, now_ms);
}

/* Adds the muxes of the last reading that are not heard; returns the id of one that is ahead, NULL: none. */
static const char *add_nodes(const struct lag_withdrawal *withdrawal, const struct published_service *published,
			     uint64_t now_ms, struct lag_quorum *quorum)
{
	const char *first = NULL;
	size_t i;
	json_t *node;

	json_array_foreach(withdrawal->others, i, node)
	{
		json_t *theirs = json_object_get(json_object_get(node, "services"), published->name);
		json_int_t generation = json_integer_value(json_object_get(theirs, "generation"));
		const char *withdrawn = json_string_value(json_object_get(theirs, "withdrawn"));
		struct lag_view other = {.announces = !withdrawn,
					 .is_behind = withdrawn && strcmp(withdrawn, "stopping") != 0};

		if (generation > 0 && generation <= UINT32_MAX)
			other.generation = (uint32_t)generation;
		if (is_heard(withdrawal, node, now_ms))
			continue;
		if (lag_quorum_add(quorum, &other, published->lag.generation) && !first)
			first = json_string_value(json_object_get(node, "id"));
	}
	return first;
}

/* Counts the other muxes; name: of one that is ahead, "": none. */
static struct lag_quorum count_others(const struct lag_withdrawal *withdrawal,
				      const struct published_service *published, bool follows, uint64_t now_ms,
				      char name[NAME_MAX_LEN])
{
	const struct hello_peer *peer;
	const char *node = NULL;
	struct lag_quorum quorum = lag_quorum_heard(withdrawal->peers, published->service ? published->service->id : 0,
						    published->lag.generation, now_ms, &peer);

	if (follows)
		node = add_nodes(withdrawal, published, now_ms, &quorum);
	if (peer && !peer->node.id[0])
		address_print(&peer->node.address, name);
	else
		snprintf(name, NAME_MAX_LEN, "%s", peer ? peer->node.id : node ? node : "");
	return quorum;
}

static void withdraw(struct published_service *published, const struct lag_quorum *quorum, const char *ahead,
		     uint64_t now_ms)
{
	fprintf(stderr,
		"mux event=withdrawn_behind service=%s generation=%u latest=%u seconds=%" PRIu64
		" ahead=%s muxes_ahead=%u muxes=%u\n",
		published->name, published->lag.generation, published->lag.latest,
		lag_ms(&published->lag, now_ms) / 1000, ahead, quorum->ahead, quorum->muxes);
	published->withdrawn_for_lag = true;
	published_announce(published);
}

static void announce_again(struct published_service *published, const char *cause)
{
	fprintf(stderr, "mux event=returned service=%s generation=%u latest=%u why=%s\n", published->name,
		published->lag.generation, published->lag.latest, cause);
	published->withdrawn_for_lag = false;
	published_announce(published);
}

/* Without ZooKeeper, the muxes for which it has withdrawn say what is settled, until ZooKeeper is read again. */
static void hear_settled(const struct lag_withdrawal *withdrawal, struct published_service *published, uint64_t now_ms)
{
	if (published->withdrawn_for_lag && published->service)
		published->heard_settled =
		    lag_quorum_settled(withdrawal->peers, published->service->id, published->lag.generation, now_ms);
}

/* Whether everyone who may be ahead had the time to say so. */
static bool has_listened(const struct lag_withdrawal *withdrawal, uint64_t now_ms)
{
	if (now_ms >= withdrawal->listen_until)
		return true;
	for (unsigned i = 0; i < withdrawal->peers->count; i++)
		if (!hello_peer_is_heard(&withdrawal->peers->list[i], now_ms))
			return false;
	return true;
}

static bool is_beyond(const struct lag_withdrawal *withdrawal, const struct published_service *published,
		      uint64_t now_ms)
{
	bool is_unconfirmed = published->restored && !published->lag.read;

	return lag_is_beyond(&published->lag, &withdrawal->limits, now_ms) ||
	       (is_unconfirmed && withdrawal->limits.seconds && lag_generations(&published->lag));
}

/* The end of a hold. Returns whether it has come. */
static bool release(struct lag_withdrawal *withdrawal, struct published_service *published, uint64_t now_ms)
{
	char ahead[NAME_MAX_LEN];
	struct lag_quorum quorum;

	if (!has_listened(withdrawal, now_ms))
		return false;
	quorum = count_others(withdrawal, published, false, now_ms, ahead);
	published->is_held = false;
	if (is_beyond(withdrawal, published, now_ms) && lag_quorum_withdraws(&quorum))
		withdraw(published, &quorum, ahead, now_ms);
	else
		published_announce(published);
	return true;
}

/* Decides about one service. Returns whether it was withdrawn or announced again. */
static bool decide(struct lag_withdrawal *withdrawal, struct published_service *published, bool follows,
		   uint64_t now_ms)
{
	struct lag_quorum quorum;
	char ahead[NAME_MAX_LEN];
	bool withdraws;

	if (!follows) { /* the highest generation, whoever is ahead */
		quorum = count_others(withdrawal, published, false, now_ms, ahead);
		if (published->lag.generation)
			lag_hear(&published->lag, quorum.highest, now_ms);
		hear_settled(withdrawal, published, now_ms);
	}
	if (published->is_held)
		return release(withdrawal, published, now_ms);
	if (!published->withdrawn_for_lag && !is_beyond(withdrawal, published, now_ms))
		return false;
	if (published->withdrawn_for_lag && !lag_generations(&published->lag)) {
		announce_again(published, "caught_up");
		return true;
	}
	if (follows) {
		look(withdrawal, now_ms);
		if (!withdrawal->is_fresh)
			return false;
	}
	quorum = count_others(withdrawal, published, follows, now_ms, ahead);
	withdraws =
	    lag_quorum_withdraws(&quorum) || (published->withdrawn_for_lag && published_is_settled_out(published));
	if (withdraws == published->withdrawn_for_lag)
		return false;
	if (withdraws)
		withdraw(published, &quorum, ahead, now_ms);
	else
		announce_again(published, quorum.ahead ? "too_few_are_ahead" : "no_mux_is_ahead");
	return true;
}

bool lag_withdrawal_run(struct lag_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			bool follows, uint64_t now_ms)
{
	bool changed = false;

	if (!follows && !withdrawal->peers) /* nothing tells how others are */
		return false;
	if (!follows && !withdrawal->is_listening && now_ms < withdrawal->hear_at)
		return false;
	withdrawal->hear_at = now_ms + LAG_WITHDRAWAL_HEAR_MS;
	for (unsigned i = 0; i < count; i++)
		changed |= decide(withdrawal, &syncs[i]->ring.published, follows, now_ms);
	withdrawal->is_fresh = false;
	withdrawal->is_listening = withdrawal->is_listening && now_ms < withdrawal->listen_until;
	return changed;
}

void lag_withdrawal_listen(struct lag_withdrawal *withdrawal, uint64_t now_ms)
{
	withdrawal->is_listening = withdrawal->peers;
	withdrawal->listen_until = now_ms + LAG_WITHDRAWAL_LISTEN_MS;
}

void lag_withdrawal_restore(const struct lag_withdrawal *withdrawal, struct published_service *published,
			    uint32_t generation, uint64_t now_ms)
{
	published->restored = generation;
	lag_note(&published->lag, generation, 0, now_ms);
	published->is_held = withdrawal->is_listening && (withdrawal->limits.seconds || withdrawal->limits.generations);
}

uint64_t lag_withdrawal_deadline(const struct lag_withdrawal *withdrawal)
{
	return withdrawal->is_listening ? withdrawal->listen_until : UINT64_MAX;
}

struct lag_withdrawal *lag_withdrawal_new(struct tree *tree, const char *path, const char *id,
					  const struct lag_limits *limits, const struct hello_peers *peers)
{
	struct lag_withdrawal *withdrawal = tree_alloc(sizeof(*withdrawal));

	withdrawal->tree = tree;
	withdrawal->limits = *limits;
	withdrawal->peers = peers;
	withdrawal->path = tree_copy(path);
	withdrawal->id = tree_copy(id);
	return withdrawal;
}

void lag_withdrawal_free(struct lag_withdrawal *withdrawal)
{
	json_decref(withdrawal->others);
	json_decref(withdrawal->coming);
	free(withdrawal->path);
	free(withdrawal->id);
	free(withdrawal);
}
