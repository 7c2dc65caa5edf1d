/* SPDX-License-Identifier: Apache-2.0 */
#include "tell/told.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fl_address));
}

static int compare_server(const void *address, const void *server)
{
	return memcmp(address, &((const struct told_server *)server)->address, sizeof(struct fl_address));
}

struct told_server *told_find(const struct told *told, const struct fl_address *address)
{
	if (!told->count)
		return NULL;
	return bsearch(address, told->servers, told->count, sizeof(*told->servers), compare_server);
}

static struct told_server begin(const struct fl_address *address, const struct fl_siphash_key *cluster, uint64_t now_ms)
{
	struct told_server server = {.address = *address, .due_ms = now_ms, .interval_ms = TOLD_REPEAT_MS};

	if (cluster)
		server.key = fl_notice_key(cluster, address);
	return server;
}

int told_set_servers(struct told *told, struct fl_address *list, uint32_t count, const struct fl_siphash_key *cluster,
		     uint64_t now_ms)
{
	struct told_server *servers = malloc((count + !count) * sizeof(*servers));
	uint32_t kept = 0;

	if (!servers)
		return -ENOMEM;
	if (count)
		qsort(list, count, sizeof(*list), compare);
	for (uint32_t i = 0; i < count; i++) {
		const struct told_server *before = told_find(told, &list[i]);

		if (i && fl_address_equal(&list[i], &list[i - 1]))
			continue;
		servers[kept++] = before ? *before : begin(&list[i], cluster, now_ms);
	}
	free(told->servers);
	told->servers = servers;
	told->count = kept;
	told->at = 0;
	told->due_ms = now_ms;
	return 0;
}

void told_free_servers(struct told *told)
{
	free(told->servers);
	told->servers = NULL;
	told->count = 0;
}

static bool is_under_way(const struct told_server *server, uint64_t now_ms)
{
	return server->sent > server->acknowledged && now_ms < server->sent_ms + TOLD_REPEAT_MS;
}

void told_set_generation(struct told *told, uint32_t generation, uint64_t now_ms)
{
	if (generation <= told->generation)
		return;
	told->generation = generation;
	told->at = 0;
	told->due_ms = now_ms;
	for (uint32_t i = 0; i < told->count; i++) {
		struct told_server *server = &told->servers[i];

		if (server->acknowledged >= generation)
			continue;
		server->due_ms = is_under_way(server, now_ms) ? server->sent_ms + TOLD_REPEAT_MS : now_ms;
		server->interval_ms = TOLD_REPEAT_MS;
	}
}

struct told_server *told_due(struct told *told, uint64_t now_ms)
{
	uint64_t earliest = UINT64_MAX;

	if (!told->generation || !told->count) {
		told->due_ms = UINT64_MAX;
		return NULL;
	}
	if (told->due_ms > now_ms)
		return NULL;
	for (; told->at < told->count; told->at++)
		if (told->servers[told->at].due_ms <= now_ms)
			return &told->servers[told->at];
	for (uint32_t i = 0; i < told->count; i++)
		if (told->servers[i].due_ms < earliest)
			earliest = told->servers[i].due_ms;
	told->due_ms = earliest;
	told->at = 0;
	return NULL;
}

void told_note_sent(const struct told *told, struct told_server *server, uint64_t now_ms)
{
	server->sent = told->generation;
	server->sent_ms = now_ms;
	if (server->acknowledged >= told->generation) {
		server->due_ms = now_ms + TOLD_REFRESH_MS;
		return;
	}
	server->due_ms = now_ms + server->interval_ms;
	server->interval_ms *= 2;
	if (server->interval_ms > TOLD_REFRESH_MS)
		server->interval_ms = TOLD_REFRESH_MS;
}

enum told_news told_note_acknowledged(struct told *told, struct told_server *server, uint32_t generation,
				      uint64_t now_ms)
{
	bool knew;

	if (!server || !server->sent)
		return TOLD_UNASKED;
	knew = server->acknowledged >= told->generation;
	if (generation > server->acknowledged)
		server->acknowledged = generation;
	if (generation < server->sent)
		return TOLD_BEHIND;
	server->is_silent = false;
	/* A repeated acknowledgement puts nothing off. */
	if (!knew && server->acknowledged >= told->generation) {
		server->due_ms = now_ms + TOLD_REFRESH_MS;
		server->interval_ms = TOLD_REPEAT_MS;
	} else if (!knew) {
		server->due_ms = now_ms;
		told->due_ms = now_ms;
	}
	return TOLD_KNOWS;
}

static bool lacks(const struct told_server *server, uint32_t generation)
{
	return !server->is_silent && server->acknowledged < generation;
}

static uint32_t silence(struct told *told, uint32_t generation)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < told->count; i++) {
		if (!lacks(&told->servers[i], generation))
			continue;
		told->servers[i].is_silent = true;
		count++;
	}
	return count;
}

bool told_is_done(struct told *told, uint32_t generation, uint64_t now_ms, uint32_t *newly_silent)
{
	uint32_t i = 0;

	*newly_silent = 0;
	while (i < told->count && !lacks(&told->servers[i], generation))
		i++;
	if (i < told->count && (!told->wait_ms || told->wait_for != generation)) {
		told->wait_ms = now_ms + TOLD_WAIT_MS;
		told->wait_for = generation;
	}
	if (i < told->count && now_ms < told->wait_ms)
		return false;
	told->wait_ms = 0;
	*newly_silent = silence(told, generation);
	return true;
}

uint32_t told_count_silent(const struct told *told)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < told->count; i++)
		count += told->servers[i].is_silent;
	return count;
}
