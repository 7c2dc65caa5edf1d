/* SPDX-License-Identifier: Apache-2.0 */
#include "results.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <fairlead/ring.h>

#include "agent/bucket_set.h"
#include "config/address.h"

enum { IDS = FL_BACKEND_MAX + 1 };

/* Backends that are down at the same endpoint with the same outcome. */
struct group {
	uint16_t endpoint;
	uint8_t outcome;
	struct bucket_set *ids;
};

struct groups {
	struct group *list;
	uint32_t count;
};

static struct bucket_set *group_of(struct groups *groups, const struct probe *probe)
{
	struct group *list;

	for (uint32_t i = 0; i < groups->count; i++)
		if (groups->list[i].endpoint == probe->endpoint && groups->list[i].outcome == probe->judge.outcome)
			return groups->list[i].ids;
	list = realloc(groups->list, (groups->count + 1) * sizeof(*list));
	if (!list)
		return NULL;
	groups->list = list;
	list[groups->count] = (struct group){probe->endpoint, probe->judge.outcome, bucket_set_new(IDS)};
	return list[groups->count].ids ? list[groups->count++].ids : NULL;
}

static json_t *ids_print(const struct bucket_set *ids)
{
	char *text = bucket_set_write(ids);
	json_t *json = text ? json_string(text) : NULL;

	free(text);
	return json;
}

static json_t *group_print(const struct probed *service, const struct group *group)
{
	const struct check_endpoint *endpoint = &service->endpoints[group->endpoint];
	char address[ADDRESS_TEXT_MAX];

	return json_pack("{s:s, s:s, s:s, s:i, s:o}", "reason", outcome_name(group->outcome), "vip",
			 address_print(&service->config.vips[endpoint->vip], address), "protocol",
			 endpoint->protocol == IPPROTO_UDP ? "udp" : "tcp", "port", endpoint->port, "backends",
			 ids_print(group->ids));
}

/* Sorts backends into sets; false: no memory. */
static bool sort(const struct probed *service, struct bucket_set *up, struct bucket_set *silent, struct groups *down)
{
	for (uint32_t i = 0; i < service->count; i++) {
		const struct target *target = service->targets[i];
		const struct probe *worst;
		enum health health = target_health(target, &worst);
		struct bucket_set *ids = up;

		if (health == HEALTH_UNKNOWN)
			continue;
		if (health == HEALTH_DOWN)
			ids = group_of(down, worst);
		if (!ids)
			return false;
		bucket_set_add(ids, target->id);
		if (target_is_silent(target))
			bucket_set_add(silent, target->id);
	}
	return true;
}

/* Adds the backends that are not probed, and why the first one is not. */
static void skipped_print(json_t *json, const struct probed *service)
{
	struct bucket_set *ids = bucket_set_new(IDS);

	for (uint32_t i = 0; ids && i < service->skipped_count; i++)
		bucket_set_add(ids, service->skipped[i]);
	if (ids)
		json_object_set_new(json, "skipped", ids_print(ids));
	json_object_set_new(json, "why", json_string(service->why.text));
	free(ids);
}

/* NULL: no memory. */
static json_t *probed_print(const struct probed *service)
{
	struct bucket_set *up = bucket_set_new(IDS), *silent = bucket_set_new(IDS);
	struct groups down = {0};
	json_t *json = NULL, *list = json_array();

	if (up && silent && list && sort(service, up, silent, &down)) {
		for (uint32_t i = 0; i < down.count; i++)
			json_array_append_new(list, group_print(service, &down.list[i]));
		json = json_pack("{s:i, s:I, s:s, s:o, s:O, s:o}", "id", service->config.id, "config",
				 (json_int_t)service->config_written, "kind", check_kind_name(service->check.kind),
				 "up", ids_print(up), "down", list, "silent", ids_print(silent));
		if (json && service->skipped_count)
			skipped_print(json, service);
	}
	for (uint32_t i = 0; i < down.count; i++)
		free(down.list[i].ids);
	free(down.list);
	free(up);
	free(silent);
	json_decref(list);
	return json;
}

static json_t *refusal_print(const struct probed *service)
{
	static const char *const words[] = {
	    [PROBED_CHECK] = "check", [PROBED_NO_SOURCE] = "no_source", [PROBED_WAITING] = "waiting"};
	json_t *json =
	    json_pack("{s:I, s:s}", "config", (json_int_t)service->config_written, "unprobed", words[service->refusal]);

	if (json && service->why.text[0])
		json_object_set_new(json, "why", json_string(service->why.text));
	return json;
}

/* Adds a service, or its name to `omitted` if it does not fit into what is left. */
static void add(json_t *services, json_t *omitted, const struct probed *service, size_t *left)
{
	json_t *json = service->refusal == PROBED ? probed_print(service) : refusal_print(service);
	size_t len = json ? json_dumpb(json, NULL, 0, JSON_COMPACT) + strlen(service->name) + 4 : 0;

	if (json && len <= *left) {
		*left -= len;
		json_object_set(services, service->name, json);
	} else {
		json_array_append_new(omitted, json_string(service->name));
	}
	json_decref(json);
}

char *results_print(const struct pool *pool, const char *id, const char *metrics)
{
	json_t *services = json_object(), *omitted = json_array(), *root;
	size_t left = RESULTS_MAX;
	char *text;

	for (unsigned i = 0; i < pool->count; i++)
		if (pool->services[i]->refusal != PROBED_NO_CHECK)
			add(services, omitted, pool->services[i], &left);
	root =
	    json_pack("{s:i, s:s, s:s, s:o}", "format", 1, "id", id, "version", FAIRLEAD_VERSION, "services", services);
	if (*metrics)
		json_object_set_new(root, "metrics", json_string(metrics));
	if (json_array_size(omitted))
		json_object_set(root, "omitted", omitted);
	json_decref(omitted);
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	return text;
}
