/* SPDX-License-Identifier: Apache-2.0 */
#include "control/member/mux_node.h"

#include <stdio.h>
#include <string.h>

#include "config/address.h"
#include "control/member/serves.h"
#include "control/member/unreachable.h"
#include "host/needs.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

enum {
	NODE_FORMAT = 1,
	WHY_BYTES = 32768, /* of all sentences: ZooKeeper has a limit for a node, and a mux may refuse 4,096 services */
};

/* The word for what is refused, and the sentence if there is room for it. 0, or no memory. */
static int describe_refusal(json_t *service, const struct refusal *refusal, size_t *room)
{
	size_t len = strlen(refusal->why);

	if (json_object_set_new(service, "refused", json_string(refusal_name(refusal->reason))))
		return -1;
	if (len > *room)
		return 0;
	*room -= len;
	return json_object_set_new(service, "why", json_string(refusal->why));
}

/* What addresses are needed for. NULL: no memory. */
static json_t *describe_needs(const struct needs *needs)
{
	json_t *told = json_object();
	char text[ADDRESS_TEXT_MAX];
	unsigned count = 0;
	const struct need *list = needs ? needs_list(needs, &count) : NULL;

	for (unsigned i = 0; told && i < count; i++)
		json_object_set_new(told, address_print(&list[i].address, text), json_string(need_name(list[i].kind)));
	return told;
}

char *mux_node_print(json_t *self, const struct service_list *list, const struct needs *needs,
		     const struct unreachable *unreachable)
{
	json_t *services = json_object();
	json_t *all = json_copy(self);
	size_t room = WHY_BYTES;
	char *text = NULL;
	int failed = !services || !all;

	for (const struct service_sync *sync = service_list_next(list, NULL); sync && !failed;
	     sync = service_list_next(list, sync)) {
		const struct published_service *published = &sync->ring.published;
		const struct refusal *refusal = service_sync_refusal(sync);
		uint32_t arrays = arrays_sync_newest(&sync->ring.arrays, &published->arrays);
		json_t *service = json_pack(
		    "{s:I, s:s, s:I, s:s*, s:o*, s:o*}", "generation", (json_int_t)ring_sync_generation(&sync->ring),
		    "state", service_state_name(service_sync_state(sync)), "settled", (json_int_t)published->promised,
		    "withdrawn", published_withdrawn(published), "arrays", arrays ? json_integer(arrays) : NULL,
		    "restored", published->restored ? json_integer(published->restored) : NULL);

		failed = json_object_set_new(services, sync->name, service) ||
			 (refusal && describe_refusal(service, refusal, &room));
	}
	failed = failed || json_object_set_new(all, "needs", describe_needs(needs)) ||
		 unreachable_describe(unreachable, all);
	if (!failed && !json_object_set(all, "services", services))
		text = json_dumps(all, JSON_COMPACT);
	json_decref(services);
	json_decref(all);
	return text;
}

static void describe_address(json_t *self, const char *key, const struct fl_address *address)
{
	char text[ADDRESS_TEXT_MAX];

	if (!fl_address_is_none(address))
		json_object_set_new(self, key, json_string(address_print(address, text)));
}

static void describe_words(json_t *serves, const char *key, const char *const *words)
{
	json_t *list = words ? json_array() : NULL;

	for (; list && *words; words++)
		json_array_append_new(list, json_string(*words));
	if (list)
		json_object_set_new(serves, key, list);
}

static json_t *describe_serves(const struct mux_serves *serves)
{
	json_t *told = json_object();

	describe_words(told, "encap", serves->encap);
	describe_words(told, "steering", serves->steering);
	if (serves->buckets)
		json_object_set_new(told, "buckets", json_integer(serves->buckets));
	return told;
}

/* An address of a node, "" if it has none. */
static const char *address_of(const json_t *node, const char *key)
{
	const char *text = json_string_value(json_object_get(node, key));

	return text ? text : "";
}

bool mux_node_is_place(const json_t *self, const char *text, char *address, size_t size)
{
	json_t *node = json_loads(text ? text : "", 0, NULL);
	const char *first = address_of(node, "address"), *second = address_of(node, "address6");
	bool is_same = (*first && !strcmp(first, address_of(self, "address"))) ||
		       (*second && !strcmp(second, address_of(self, "address6")));

	snprintf(address, size, "%.45s%s%.45s", first, *first && *second ? "," : "", second);
	if (!*address)
		snprintf(address, size, "none");
	json_decref(node);
	return is_same;
}

json_t *mux_node_begin(const struct mux_node_facts *facts, uint32_t behind_seconds)
{
	json_t *ports = json_array();
	json_t *self = json_pack("{s:i, s:s, s:s, s:s, s:I}", "format", NODE_FORMAT, "id", facts->id, "kind",
				 facts->kind ? facts->kind : "c", "version", FAIRLEAD_VERSION, "behindSeconds",
				 (json_int_t)behind_seconds);

	describe_address(self, "address", facts->address);
	describe_address(self, "address6", facts->address6);
	for (unsigned i = 0; i < facts->ports_count; i++)
		json_array_append_new(ports, json_string(facts->ports[i]));
	json_object_set_new(self, "ports", ports);
	if (facts->metrics && *facts->metrics)
		json_object_set_new(self, "metrics", json_string(facts->metrics));
	if (facts->serves)
		json_object_set_new(self, "serves", describe_serves(facts->serves));
	return self;
}
