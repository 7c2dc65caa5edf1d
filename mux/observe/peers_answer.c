/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/peers_answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/address.h"
#include "control/cluster/cluster_sync.h"
#include "control/withdrawal/lag_quorum.h"
#include "hello/hello.h"

enum { IDS = UINT16_MAX + 1 };

/* The names of the services that this mux serves by their ids; NULL: no memory. To be freed; the names are not copied. */
static const char **name_services(const struct sources *from)
{
	const char **names = calloc(IDS, sizeof(*names));

	SOURCES_EACH_SERVICE (from, sync) {
		const struct published_service *published = &sync->ring.published;

		if (names && published->service)
			names[published->service->id] = sync->name;
	}
	return names;
}

/* Services without a name here are #id. */
static json_t *describe_services(const char *const *names, const struct hello_peer *peer, uint64_t now_ms)
{
	json_t *services = json_object();

	for (unsigned i = 0; i < peer->count; i++) {
		uint16_t id = peer->entries[i].service.id;
		const struct hello_service *said = hello_peer_service(peer, id, now_ms);
		char number[8];
		json_t *one;

		if (!said)
			continue;
		snprintf(number, sizeof(number), "#%u", id);
		one = json_pack("{s:I, s:b, s:s*}", "generation", (json_int_t)said->generation, "announces",
				(said->flags & HELLO_ANNOUNCES) != 0, "withdrawn",
				said->flags & HELLO_BEHIND ? "behind" : NULL);
		json_object_set_new(services, names[id] ? names[id] : number, one);
	}
	return services;
}

static json_t *describe_peer(const char *const *names, const struct hello_peer *peer, uint64_t now_ms)
{
	char address[ADDRESS_TEXT_MAX];

	return json_pack("{s:s, s:s, s:b, s:b, s:o*, s:o}", "mux", peer->node.id, "address",
			 address_print(&peer->node.address, address), "registered", peer->has_node, "heard",
			 hello_peer_is_heard(peer, now_ms), "ageMs",
			 peer->was_heard ? json_integer((json_int_t)(now_ms - peer->heard_ms)) : NULL, "services",
			 describe_services(names, peer, now_ms));
}

/* By their names, or addresses if they have none. */
static json_t *describe_ahead(const struct hello_peers *peers, uint16_t service, uint32_t generation, uint64_t now_ms)
{
	json_t *ahead = json_array();

	for (unsigned i = 0; i < peers->count; i++) {
		const struct hello_peer *peer = &peers->list[i];
		const struct hello_service *said = hello_peer_service(peer, service, now_ms);
		char address[ADDRESS_TEXT_MAX];

		if (!said || !(said->flags & HELLO_ANNOUNCES) || said->generation <= generation)
			continue;
		address_print(&peer->node.address, address);
		json_array_append_new(ahead, json_string(peer->node.id[0] ? peer->node.id : address));
	}
	return ahead;
}

static json_t *describe_own(const struct sources *from, const struct service_sync *sync, uint64_t now_ms)
{
	const struct published_service *published = &sync->ring.published;
	const struct hello_peers *peers = from->hello->peers;
	uint32_t generation = ring_sync_generation(&sync->ring);
	struct lag_quorum quorum = lag_quorum_heard(peers, published->service->id, generation, now_ms, NULL);

	return json_pack("{s:I, s:I, s:b, s:i, s:o, s:s*}", "generation", (json_int_t)generation, "latest",
			 (json_int_t)published->lag.latest, "announces", published_announces(published), "muxes",
			 (int)quorum.muxes, "ahead", describe_ahead(peers, published->service->id, generation, now_ms),
			 "withdrawn", published_withdrawn(published));
}

json_t *peers_answer(const struct sources *from)
{
	json_t *list, *services;
	const char **names;
	uint64_t now_ms;

	if (!from->hello)
		return json_pack("{s:s, s:b}", "mux", from->id, "hello", 0);
	names = name_services(from);
	if (!names)
		return NULL;
	now_ms = from->hello->now_ms;
	list = json_array();
	for (unsigned i = 0; i < from->hello->peers->count; i++)
		json_array_append_new(list, describe_peer(names, &from->hello->peers->list[i], now_ms));
	free(names);
	services = json_object();
	SOURCES_EACH_SERVICE (from, sync)
		if (sync->ring.published.service)
			json_object_set_new(services, sync->name, describe_own(from, sync, now_ms));
	return json_pack("{s:s, s:b, s:i, s:o, s:o}", "mux", from->id, "hello", 1, "port", (int)from->hello->port,
			 "peers", list, "services", services);
}
