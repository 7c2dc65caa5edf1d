// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "counters.h"
#include "text.h"

void document_peers_add(struct document_peers *peers, const struct fl_peer *peer)
{
	json_t *list = peer->roles == FL_PEER_MUX ? peers->muxes : peers->servers;
	char text[TEXT_LEN];

	if (peer->roles == FL_PEER_ANY)
		list = peers->peers;
	json_array_append_new(list, json_string(text_peer_print(&peer->prefix, text)));
}

json_t *document_config(const struct fl_server_config *config, struct document_peers peers, const char *mode)
{
	json_t *ipip_service = config->ipip_service ? json_integer(config->ipip_service) : json_null();
	char text[TEXT_LEN];

	return json_pack("{s:s, s:i, s:I, s:I, s:o, s:o, s:o, s:b, s:b, s:o, s:b, s:s}", "address",
			 config_self_text(config, text), "port", (int)config->port, "quietSeconds",
			 (json_int_t)config->quiet, "floodRate", (json_int_t)config->flood_rate, "peers", peers.peers,
			 "muxes", peers.muxes, "servers", peers.servers, "tagRequired", (int)config->tagged, "chaining",
			 (int)config->chaining, "ipipService", ipip_service, "mangle", (int)config->mangle, "mode",
			 mode);
}

json_t *document_counters(const fl_u64 values[FL_COUNTERS])
{
	json_t *counters = json_object();
	int i;

	for (i = 0; i < FL_COUNTERS; i++)
		json_object_set_new(counters, fl_counter_names[i], json_integer((json_int_t)values[i]));
	return counters;
}

void document_service_add(json_t *services, fl_u32 service, fl_u32 generation)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", service);
	json_object_set_new(services, id, json_pack("{s:I}", "generation", (json_int_t)generation));
}

/* The policy's word; of a number that is none, what the forms then do. */
static const char *policy_word(fl_u32 policy)
{
	switch (policy) {
	case FL_LOAD_STATIC:
		return "static";
	case FL_LOAD_DYNAMIC:
		return "dynamic";
	default:
		return "always";
	}
}

void document_load_add(json_t *services, fl_u32 service, const struct fl_load_setting *setting,
		       const struct fl_load_state *state)
{
	char id[16];

	if (!setting->until_ns)
		return;
	snprintf(id, sizeof(id), "%u", service);
	json_object_set_new(json_object_get(services, id), "load",
			    json_pack("{s:s, s:I, s:I, s:b, s:I, s:I, s:I, s:I}", "policy",
				      policy_word(setting->policy), "threshold",
				      (json_int_t)fl_load_threshold(setting, state), "busy", (json_int_t)setting->busy,
				      "expired", (int)!fl_load_is_armed(setting, clock_ns(CLOCK_MONOTONIC)), "offered",
				      (json_int_t)fl_load_offered(state), "taken", (json_int_t)state->taken, "passed",
				      (json_int_t)state->passed, "unasked", (json_int_t)state->unasked));
}

json_t *document_make(const struct document_parts *parts)
{
	json_t *flows = parts->flows < 0 ? json_null() : json_integer(parts->flows);

	return json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o, s:I, s:o}", "form", parts->form, "version", parts->version,
			 "interface", parts->interface, "config", parts->config, "counters", parts->counters,
			 "services", parts->services, "quietSecondsLeft", parts->quiet_left, "flows", flows);
}

static void table_print_object(const char *title, const json_t *object)
{
	const char *key;
	json_t *value;

	printf("%s\n", title);
	json_object_foreach((json_t *)object, key, value)
	{
		char *text =
		    json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY);

		printf("  %-34s %s\n", key, text ? text : "?");
		free(text);
	}
}

static void table_print_number(const json_t *document, const char *key)
{
	const json_t *value = json_object_get(document, key);

	if (json_is_integer(value))
		printf("  %-34s %" JSON_INTEGER_FORMAT "\n", key, json_integer_value(value));
}

static void table_print_load(const json_t *load)
{
	const char *key;
	json_t *value;

	printf("  %-34s load: %s", "", json_string_value(json_object_get(load, "policy")));
	json_object_foreach((json_t *)load, key, value)
	{
		if (json_is_integer(value))
			printf(", %s %" JSON_INTEGER_FORMAT, key, json_integer_value(value));
		else if (json_is_true(value))
			printf(", %s", key);
	}
	printf("\n");
}

static void table_print(const json_t *document)
{
	const json_t *interface = json_object_get(document, "interface");
	const char *id;
	json_t *service;

	table_print_object(json_is_null(interface) ? "all interfaces" : json_string_value(interface),
			   json_object_get(document, "config"));
	table_print_object("packets", json_object_get(document, "counters"));
	printf("state\n");
	table_print_number(document, "quietSecondsLeft");
	table_print_number(document, "flows");
	printf("services\n");
	json_object_foreach(json_object_get(document, "services"), id, service)
	{
		printf("  %-34s generation %" JSON_INTEGER_FORMAT "\n", id,
		       json_integer_value(json_object_get(service, "generation")));
		if (json_object_get(service, "load"))
			table_print_load(json_object_get(service, "load"));
	}
}

void document_print(const json_t *document, enum document_format format)
{
	switch (format) {
	case DOCUMENT_TABLE:
		table_print(document);
		break;
	case DOCUMENT_JSON:
		json_dumpf(document, stdout, JSON_INDENT(2));
		printf("\n");
		break;
	case DOCUMENT_PROMETHEUS:
		prometheus_print(document);
		break;
	}
}
