/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/http.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <netinet/in.h>

#include "config/address.h"
#include "config/clock.h"
#include "control/service/change_log.h"
#include "control/cluster/cluster_sync.h"
#include "observe/listener.h"
#include "observe/metrics.h"
#include "observe/peers_answer.h"
#include "observe/recording.h"
#include "observe/response.h"
#include "ring/backend.h"
#include "service/tables.h"
#include "tell/teller.h"

struct http {
	struct listener *listener;
	struct sources from;
	struct recording *recording; /* NULL: none is running */
};

static const char type_json[] = "application/json";

static const char *argument(const struct request *request, const char *name)
{
	return head_argument(&request->head, name);
}

/* The service named in the query; NULL and a problem if there is none. */
static const struct service *service_asked(const struct http *http, const struct request *request,
					   struct response *response)
{
	const char *name = argument(request, "service");
	const struct service *service = name ? registry_find(&http->from.tables->registry, name) : NULL;

	if (!name)
		response_problem(response, RESPONSE_INVALID, "service", NULL, "the name of a service");
	else if (!service || !service_ring(service))
		response_problem(response, RESPONSE_NOT_FOUND, "service", name,
				 "a service whose ring this mux has loaded");
	else
		return service;
	return NULL;
}

static void get_metrics(struct http *http, const struct request *request, struct response *response)
{
	FILE *out = open_memstream(&response->text, &response->len);

	(void)request;
	if (!out)
		return;
	metrics_write(out, &http->from);
	listener_write_metrics(out, "fairlead_mux", http->listener);
	fclose(out);
	response->status = RESPONSE_OK;
	response->type = "text/plain; version=0.0.4; charset=utf-8";
}

/* Healthy even without ZooKeeper, since a mux keeps serving; but not until it has read the list of services. */
static void get_health(struct http *http, const struct request *request, struct response *response)
{
	const struct cluster_sync *cluster = http->from.cluster;
	bool ready = cluster->services->is_known || cluster->is_restored;
	json_t *services = json_object();

	(void)request;
	SOURCES_EACH_SERVICE (&http->from, sync)
		json_object_set_new(services, sync->name, json_string(service_state_name(service_sync_state(sync))));
	response_json(response, ready ? RESPONSE_OK : RESPONSE_UNAVAILABLE, type_json,
		      json_pack("{s:s, s:b, s:b, s:o}", "status", ready ? "ok" : "starting", "zookeeper",
				tree_is_connected(cluster->tree), "registered",
				registration_is_registered(cluster->registration), "services", services));
}

static void get_ring(struct http *http, const struct request *request, struct response *response)
{
	const struct service *service = service_asked(http, request, response);
	const struct ring *ring;
	int len;

	if (!service)
		return;
	ring = service_ring(service);
	len = asprintf(&response->text, "service %s\ngeneration %u\nbuckets %u\nsum %016" PRIx64 "\n",
		       service->config.name, ring_generation(ring), ring_buckets(ring), ring_sum(ring));
	if (len < 0) {
		response->text = NULL;
		return;
	}
	response->len = (size_t)len;
	response->status = RESPONSE_OK;
	response->type = "text/plain; charset=utf-8";
}

static json_t *describe_ring(const char *service, uint32_t generation, uint64_t sum)
{
	char digits[17];

	snprintf(digits, sizeof(digits), "%016" PRIx64, sum);
	return json_pack("{s:s, s:I, s:s}", "service", service, "generation", (json_int_t)generation, "sum", digits);
}

static json_t *rings_now(const struct http *http)
{
	json_t *rings = json_array();

	SOURCES_EACH_SERVICE (&http->from, sync) {
		const struct ring *ring = published_ring(&sync->ring.published);

		if (ring)
			json_array_append_new(rings, describe_ring(sync->name, ring_generation(ring), ring_sum(ring)));
	}
	return rings;
}

static json_t *changes_since(const struct change_log *changes, uint64_t since)
{
	uint64_t first = change_log_first(changes);
	json_t *list = json_array();

	for (uint64_t n = since > first ? since : first; n < changes->next; n++) {
		const struct change_log_entry *entry = &changes->entries[n % CHANGE_LOG_KEPT];
		json_t *one = describe_ring(entry->service, entry->generation, entry->sum);

		json_object_set_new(one, "number", json_integer((json_int_t)n));
		json_object_set_new(one, "how", json_string(entry->how == CHANGE_LOG_SNAPSHOT ? "snapshot" : "delta"));
		json_object_set_new(one, "at", json_integer((json_int_t)entry->at_ms));
		json_array_append_new(list, one);
	}
	return list;
}

/* Whole decimal numbers of up to 18 digits; an absent one is 0. */
static bool parse_number(const char *text, uint64_t *out)
{
	*out = text ? strtoull(text, NULL, 10) : 0;
	return !text || (*text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 18);
}

/* The generations that this mux has applied, to compare with the committed ones (docs/research/fault-injection.md). */
static void get_rings(struct http *http, const struct request *request, struct response *response)
{
	const struct change_log *changes = http->from.changes;
	char boot[17];
	uint64_t since;

	if (!parse_number(argument(request, "since"), &since)) {
		response_problem(response, RESPONSE_INVALID, "since", argument(request, "since"),
				 "the number \"next\" of an earlier answer");
		return;
	}
	snprintf(boot, sizeof(boot), "%016" PRIx64, changes->boot);
	response_json(response, RESPONSE_OK, type_json,
		      json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "mux", http->from.id, "boot", boot, "first",
				(json_int_t)change_log_first(changes), "next", (json_int_t)changes->next, "rings",
				rings_now(http), "applied", changes_since(changes, since)));
}

static json_t *describe_server(const struct told_server *server)
{
	char text[ADDRESS_TEXT_MAX];

	return json_pack("{s:s, s:I, s:b, s:s*}", "address", address_print(&server->address, text), "acknowledged",
			 (json_int_t)server->acknowledged, "silent", server->is_silent, "error",
			 server->error ? strerror(-server->error) : NULL);
}

/* Which generation servers are told, and what each of them has acknowledged (protocol/README.md, 2). */
static void get_notices(struct http *http, const struct request *request, struct response *response)
{
	const struct service *service = service_asked(http, request, response);
	const struct told *told = service ? teller_told(http->from.teller, service->id) : NULL;
	json_t *servers = json_array();

	for (uint32_t i = 0; told && i < told->count; i++)
		json_array_append_new(servers, describe_server(&told->servers[i]));
	if (service)
		response_json(response, RESPONSE_OK, type_json,
			      json_pack("{s:s, s:I, s:O}", "service", service->config.name, "generation",
					(json_int_t)(told ? told->generation : 0), "servers", servers));
	json_decref(servers);
}

static void get_peers(struct http *http, const struct request *request, struct response *response)
{
	(void)request;
	response_json(response, RESPONSE_OK, type_json, peers_answer(&http->from));
}

static bool parse_port(const char *text, uint16_t *out)
{
	char *end;
	unsigned long value;

	if (!text || !*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 5)
		return false;
	value = strtoul(text, &end, 10);
	*out = (uint16_t)value;
	return value <= UINT16_MAX;
}

/* Fills flow from the query; false and a problem if a part is missing or wrong. */
static bool flow_asked(const struct request *request, struct flow *flow, struct response *response)
{
	const char *protocol = argument(request, "protocol");
	const char *source = argument(request, "source"), *destination = argument(request, "destination");
	const char *source_port = argument(request, "sourcePort");
	const char *destination_port = argument(request, "destinationPort");
	bool tcp = protocol && !strcmp(protocol, "tcp");

	flow->protocol = tcp ? IPPROTO_TCP : IPPROTO_UDP;
	if (!tcp && !(protocol && !strcmp(protocol, "udp")))
		response_problem(response, RESPONSE_INVALID, "protocol", protocol, "tcp, udp");
	else if (!source || !address_parse(source, &flow->source))
		response_problem(response, RESPONSE_INVALID, "source", source, "an IPv4 or IPv6 address");
	else if (!parse_port(source_port, &flow->source_port))
		response_problem(response, RESPONSE_INVALID, "sourcePort", source_port, "0..65535");
	else if (!destination || !address_parse(destination, &flow->destination))
		response_problem(response, RESPONSE_INVALID, "destination", destination, "an IPv4 or IPv6 address");
	else if (!parse_port(destination_port, &flow->destination_port))
		response_problem(response, RESPONSE_INVALID, "destinationPort", destination_port, "0..65535");
	else if (fl_address_is_ipv4(&flow->source) != fl_address_is_ipv4(&flow->destination))
		response_problem(response, RESPONSE_INVALID, "source", source,
				 "an address of the destination's family");
	else
		return true;
	return false;
}

/* Whether the service is reached at the flow's destination; a problem if not. */
static bool is_served(const struct service_config *config, const struct flow *flow, const struct request *request,
		      struct response *response)
{
	uint32_t vip = 0, port = 0;

	while (vip < config->vips_count && !fl_address_equal(&config->vips[vip], &flow->destination))
		vip++;
	while (port < config->ports_count &&
	       (config->ports[port].protocol != flow->protocol || config->ports[port].port != flow->destination_port))
		port++;
	if (vip == config->vips_count)
		response_problem(response, RESPONSE_INVALID, "destination", argument(request, "destination"),
				 "a VIP of the service");
	else if (port == config->ports_count &&
		 !mptcp_ports_has(&config->mptcp, flow->protocol, flow->destination_port))
		response_problem(response, RESPONSE_INVALID, "destinationPort", argument(request, "destinationPort"),
				 "a port of the service for this protocol");
	else
		return true;
	return false;
}

/* NULL: none. reason: why a packet names it; NULL: it is not said. */
static json_t *owner_json(const struct explained_owner *owner, const char *reason)
{
	char text[ADDRESS_TEXT_MAX];

	if (owner->id == FL_BACKEND_NONE)
		return NULL;
	return json_pack("{s:i, s:s, s:o*, s:s*}", "id", (int)owner->id, "address",
			 address_print(&owner->address, text), "since",
			 owner->since ? json_integer(owner->since) : NULL, "reason", reason);
}

/* A port that names the backend has no bucket. */
static json_t *bucket_json(const struct explained_bucket *e)
{
	json_t *former = json_array();

	for (uint32_t i = 0; i < e->former_count; i++)
		json_array_append_new(former, owner_json(&e->former[i], NULL));
	return json_pack("{s:o*, s:o*, s:o}", "bucket", e->bucket == RING_BUCKET_NONE ? NULL : json_integer(e->bucket),
			 "current", owner_json(&e->current, NULL), "former", former);
}

/* All servers of a packet, in their order, and why each is named. */
static json_t *candidates_json(const struct explanation *e)
{
	static const char *const reasons[] = {[EXPLAINED_OWNER] = "owner",
					      [EXPLAINED_SECOND_OWNER] = "secondOwner",
					      [EXPLAINED_FORMER] = "former",
					      [EXPLAINED_SECOND_FORMER] = "secondFormer"};
	json_t *candidates = json_array();

	for (uint32_t i = 0; i < e->candidates_count; i++)
		json_array_append_new(candidates,
				      owner_json(&e->candidates[i].owner, reasons[e->candidates[i].reason]));
	return candidates;
}

/* The arrays that chose the buckets, with steering othello; else NULL. */
static json_t *arrays_json(const struct explanation *e)
{
	if (!e->arrays)
		return NULL;
	return json_pack("{s:I, s:o*}", "generation", (json_int_t)e->arrays, "previous",
			 e->has_arrays_before ? json_integer(e->arrays_before) : NULL);
}

/* Why a packet may go elsewhere; NULL: nothing can send it elsewhere. */
static json_t *unless_json(const struct explanation *e)
{
	return e->may_name_a_backend ? json_pack("[s]", "connectionId") : NULL;
}

static void get_explain(struct http *http, const struct request *request, struct response *response)
{
	const struct service *service = service_asked(http, request, response);
	struct explanation e;
	struct flow flow;
	json_t *object;

	if (!service || !flow_asked(request, &flow, response) || !is_served(&service->config, &flow, request, response))
		return;
	if (service_explain(service, &flow, &e))
		return;
	object = bucket_json(&e.first);
	/* order: with steering maat, whether this mux names the bucket of the hash's high half first */
	json_object_update_new(
	    object,
	    json_pack("{s:s, s:I, s:s, s:o, s:b, s:I, s:o*, s:o*, s:o*, s:o*}", "service", service->config.name, "hash",
		      (json_int_t)(uint32_t)e.hash, "steering", service->config.steering->name, "candidates",
		      candidates_json(&e), "late", (int)e.is_late, "generation", (json_int_t)e.generation, "arrays",
		      arrays_json(&e), "second", e.second.bucket == RING_BUCKET_NONE ? NULL : bucket_json(&e.second),
		      "order", e.is_ordered ? json_pack("{s:b}", "noted", (int)e.is_noted) : NULL, "unless",
		      unless_json(&e)));
	response_json(response, RESPONSE_OK, type_json, object);
}

static void get_sample(struct http *http, const struct request *request, struct response *response)
{
	if (!http->from.sampler || http->recording) {
		response_problem(response, RESPONSE_CONFLICT, "path", "/sample",
				 http->recording ? "one recording at a time" : "a mux with ports");
		return;
	}
	recording_start(&http->from, request, clock_ms(), &http->recording, response);
}

static const struct endpoint {
	const char *path;
	void (*get)(struct http *http, const struct request *request, struct response *response);
} endpoints[] = {
    {"/metrics", get_metrics}, {"/healthz", get_health}, {"/ring", get_ring},       {"/rings", get_rings},
    {"/explain", get_explain}, {"/sample", get_sample},  {"/notices", get_notices}, {"/peers", get_peers},
};

enum { ENDPOINTS = sizeof(endpoints) / sizeof(endpoints[0]), PATHS_MAX = 128 };

static const char *list_paths(char text[PATHS_MAX])
{
	text[0] = 0;
	for (size_t i = 0; i < ENDPOINTS; i++)
		snprintf(text + strlen(text), PATHS_MAX - strlen(text), "%s%s", i ? ", " : "", endpoints[i].path);
	return text;
}

static void on_request(void *context, const struct request *request, struct response *response)
{
	char paths[PATHS_MAX];

	for (size_t i = 0; i < ENDPOINTS; i++)
		if (!strcmp(request->head.path, endpoints[i].path)) {
			endpoints[i].get(context, request, response);
			return;
		}
	response_problem(response, RESPONSE_NOT_FOUND, "path", request->head.path, list_paths(paths));
}

struct http *http_open(const struct http_access *access, const struct sources *sources, struct reason *why)
{
	struct http *http = calloc(1, sizeof(*http));
	const struct listener_config config = {.program = "mux", .handler = on_request, .context = http};

	if (!http) {
		reason_set(why, -ENOMEM, "--http: no memory");
		return NULL;
	}
	http->from = *sources;
	http->listener = listener_open(access, &config, why);
	if (http->listener)
		return http;
	free(http);
	return NULL;
}

void http_close(struct http *http)
{
	listener_close(http->listener);
	free(http);
}

int http_fd(const struct http *http)
{
	return listener_fd(http->listener);
}

int http_timeout(const struct http *http)
{
	int ms = listener_timeout(http->listener, clock_ms());

	return http->recording && (ms < 0 || ms > RECORDING_TICK_MS) ? RECORDING_TICK_MS : ms;
}

void http_run(struct http *http)
{
	uint64_t now = clock_ms();

	if (http->recording)
		recording_run(http->recording, now);
	listener_run(http->listener, now);
}
