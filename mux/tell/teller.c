/* SPDX-License-Identifier: Apache-2.0 */
#include "tell/teller.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t now_ms(const struct teller *teller)
{
	return teller->options.now_ms(teller->options.clock);
}

struct teller *teller_new(const struct teller_options *options)
{
	struct teller *teller = calloc(1, sizeof(*teller));

	if (!teller)
		return NULL;
	teller->options = *options;
	teller->tokens = TELLER_BURST * 1000ULL;
	teller->filled_ms = now_ms(teller);
	return teller;
}

void teller_free(struct teller *teller)
{
	while (teller && teller->first)
		teller_forget(teller, teller->first->service);
	free(teller);
}

struct told *teller_told(const struct teller *teller, uint16_t service)
{
	struct told *told = teller->first;

	while (told && told->service != service)
		told = told->next;
	return told;
}

static void append(struct teller *teller, struct told *told)
{
	struct told **at = &teller->first;

	while (*at)
		at = &(*at)->next;
	told->next = NULL;
	*at = told;
}

int teller_set_servers(struct teller *teller, uint16_t service, struct fl_address *list, uint32_t count)
{
	struct told *told = teller_told(teller, service);
	int error;

	if (!told) {
		told = calloc(1, sizeof(*told));
		if (!told)
			return -ENOMEM;
		told->service = service;
		append(teller, told);
	}
	error = told_set_servers(told, list, count, teller->options.tag_key, now_ms(teller));
	if (!error)
		teller_run(teller);
	return error;
}

void teller_tell(struct teller *teller, uint16_t service, uint32_t generation)
{
	struct told *told = teller_told(teller, service);

	if (!told)
		return;
	told_set_generation(told, generation, now_ms(teller));
	teller_run(teller);
}

bool teller_is_done(struct teller *teller, uint16_t service, uint32_t generation)
{
	struct told *told = teller_told(teller, service);
	uint32_t newly_silent;

	if (!told)
		return true;
	if (!told_is_done(told, generation, now_ms(teller), &newly_silent))
		return false;
	teller->counts[newly_silent ? TELLER_TOO_LATE : TELLER_ALL_KNOW]++;
	return true;
}

void teller_forget(struct teller *teller, uint16_t service)
{
	struct told **at = &teller->first, *told;

	while ((told = *at) && told->service != service)
		at = &told->next;
	if (!told)
		return;
	*at = told->next;
	told_free_servers(told);
	free(told);
}

static void fill_tokens(struct teller *teller, uint64_t at_ms)
{
	uint64_t most = TELLER_BURST * 1000ULL, added = (at_ms - teller->filled_ms) * TELLER_RATE;

	teller->tokens = added > most || teller->tokens + added > most ? most : teller->tokens + added;
	teller->filled_ms = at_ms;
}

static enum teller_count kind(const struct told *told, const struct told_server *server)
{
	if (server->acknowledged >= told->generation)
		return TELLER_REFRESHED;
	return server->sent == told->generation ? TELLER_REPEATED : TELLER_SENT;
}

/* What a server answers has the same. */
static uint8_t key_flag(const struct teller *teller)
{
	return fl_key_bit(teller->options.tag_key) ? FL_LIST_KEY : 0;
}

static int send_to(struct teller *teller, const struct told *told, const struct told_server *server)
{
	struct fl_notice notice = {.service = told->service, .generation = told->generation};
	const struct teller_sink *sink = &teller->options.sink;
	uint8_t bytes[FL_NOTICE_MAX_LEN];

	if (teller->options.tag_key) {
		notice.flags = FL_LIST_TAG | key_flag(teller);
		notice.tag = fl_notice_tag(&server->key, &notice, &server->address);
	}
	return sink->send(sink->context, &server->address, bytes, fl_notice_write(&notice, bytes));
}

/* False: the limit, or the socket, holds the rest up. */
static bool send_due(struct teller *teller, struct told *told, uint64_t at_ms)
{
	struct told_server *server;

	while ((server = told_due(told, at_ms))) {
		enum teller_count count = kind(told, server);
		int error = teller->tokens < 1000 ? -EAGAIN : send_to(teller, told, server);

		if (error == -EAGAIN)
			return false;
		teller->tokens -= 1000;
		teller->counts[error ? TELLER_SEND_FAILED : count]++;
		server->error = error;
		told_note_sent(told, server, at_ms);
	}
	return true;
}

void teller_run(struct teller *teller)
{
	uint64_t at_ms = now_ms(teller);
	struct told *told = teller->first;

	fill_tokens(teller, at_ms);
	if (at_ms < teller->paused_ms)
		return;
	while (told && send_due(teller, told, at_ms))
		told = told->next;
	if (!told)
		return;
	/* It is the first the next time, and those that are done come behind the others. */
	teller->paused_ms = at_ms + TELLER_PAUSE_MS;
	while (teller->first != told) {
		struct told *done = teller->first;

		teller->first = done->next;
		append(teller, done);
	}
}

static enum teller_count receive(struct teller *teller, const struct fl_address *from, const uint8_t *bytes,
				 uint32_t len)
{
	struct fl_notice found;
	struct told_server *server;
	struct told *told;

	if (fl_notice_parse(bytes, bytes + len, len, &found) != FL_LIST_OK || !(found.flags & FL_NOTICE_ACK))
		return TELLER_MALFORMED;
	told = teller_told(teller, found.service);
	server = told ? told_find(told, from) : NULL;
	if (!server)
		return TELLER_UNASKED;
	if (teller->options.tag_key &&
	    (!(found.flags & FL_LIST_TAG) || (found.flags & FL_LIST_KEY) != key_flag(teller) ||
	     found.tag != fl_notice_tag(&server->key, &found, &server->address)))
		return TELLER_TAG;
	switch (told_note_acknowledged(told, server, found.generation, now_ms(teller))) {
	case TOLD_KNOWS:
		return TELLER_ACKNOWLEDGED;
	case TOLD_BEHIND:
		return TELLER_BEHIND;
	default:
		return TELLER_UNASKED;
	}
}

void teller_receive(struct teller *teller, const struct fl_address *from, const uint8_t *bytes, uint32_t len)
{
	teller->counts[receive(teller, from, bytes, len)]++;
}

uint64_t teller_deadline(const struct teller *teller)
{
	uint64_t at = UINT64_MAX;

	for (const struct told *told = teller->first; told; told = told->next) {
		uint64_t due = told->due_ms > teller->paused_ms ? told->due_ms : teller->paused_ms;

		if (due < at)
			at = due;
		/* After the last run it was asked whether a wait that was over then is. */
		if (told->wait_ms > teller->filled_ms && told->wait_ms < at)
			at = told->wait_ms;
	}
	return at;
}

uint32_t teller_silent(const struct teller *teller)
{
	uint32_t count = 0;

	for (const struct told *told = teller->first; told; told = told->next)
		count += told_count_silent(told);
	return count;
}
