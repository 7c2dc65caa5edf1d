// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DROP "drop_"

static void head(const char *name, const char *type, const char *help)
{
	printf("# HELP fairlead_server_%s %s\n# TYPE fairlead_server_%s %s\n", name, help, name, type);
}

/* Prints a label's value; an interface's name may contain quotes and backslashes. */
static void text_print(const char *text)
{
	for (; *text; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static const char *interface_of(const json_t *document)
{
	const char *interface = json_string_value(json_object_get(document, "interface"));

	return interface ? interface : "";
}

/* Prints a sample, with an additional label unless it is NULL. */
static void sample(const json_t *document, const char *name, const char *label, const char *value, json_int_t number)
{
	printf("fairlead_server_%s{interface=\"", name);
	text_print(interface_of(document));
	if (label)
		printf("\",%s=\"%s", label, value);
	printf("\"} %" JSON_INTEGER_FORMAT "\n", number);
}

/* A number, or a boolean as 0 or 1. */
static json_int_t number_in(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
}

static bool is_drop(const char *counter)
{
	return !strncmp(counter, DROP, strlen(DROP));
}

/* Single numbers of the document, or of a part of it. */
static const struct {
	const char *part, *key, *metric, *type, *help;
} numbers[] = {
    {"counters", "generation_jump", "generation_jump_total", "counter",
     "Generations that were ignored because they are far above the highest one seen."},
    {"counters", "skipped", "skipped_total", "counter",
     "Servers in packets' lists that the packets could not be sent on to."},
    {NULL, "flows", "flows", "gauge", "Remembered connections to a VIP; only with mangle."},
    {NULL, "quietSecondsLeft", "quiet_seconds", "gauge",
     "How much longer nothing is reset, as this host does not know which muxes are behind."},
    {"config", "chaining", "chaining", "gauge", "1, or 0 if chaining was switched off."},
    {"config", "tagRequired", "tag_required", "gauge", "1 if packets need a tag of the cluster's key."},
};

enum {
	NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
};

/* Whether it counts packets: the others are single numbers. */
static bool is_exit(const char *counter)
{
	int i;

	for (i = 0; i < NUMBERS; i++)
		if (!strcmp(counter, numbers[i].key))
			return false;
	return true;
}

static void numbers_print(const json_t *document)
{
	int i;

	for (i = 0; i < NUMBERS; i++) {
		const json_t *part = numbers[i].part ? json_object_get(document, numbers[i].part) : document;

		if (json_is_null(json_object_get(part, numbers[i].key)))
			continue;
		head(numbers[i].metric, numbers[i].type, numbers[i].help);
		sample(document, numbers[i].metric, NULL, NULL, number_in(part, numbers[i].key));
	}
}

static void packets_print(const json_t *document)
{
	json_t *counters = json_object_get(document, "counters"), *value;
	const char *name;

	head("packets_total", "counter", "Packets received and not dropped, by verdict.");
	json_object_foreach(counters, name, value) if (is_exit(name) && !is_drop(name))
	    sample(document, "packets_total", "verdict", name, json_integer_value(value));
	head("drops_total", "counter", "Packets dropped, by reason.");
	json_object_foreach(counters, name, value) if (is_drop(name))
	    sample(document, "drops_total", "reason", name + strlen(DROP), json_integer_value(value));
}

static bool has_any(const json_t *list)
{
	json_t *peer;
	size_t i;

	json_array_foreach(list, i, peer) if (strstr(json_string_value(peer), "/0")) return true;
	return false;
}

/* Whether senders of a whole address family are trusted. */
static bool has_any_peer(const json_t *document)
{
	const json_t *config = json_object_get(document, "config");

	return has_any(json_object_get(config, "peers")) || has_any(json_object_get(config, "muxes")) ||
	       has_any(json_object_get(config, "servers"));
}

/* What does not protect this server from others in its network: docs/security.md. */
static void unprotected_print(const json_t *document)
{
	head("unprotected", "gauge", "1 for each protection against others in the network that this server lacks.");
	sample(document, "unprotected", "what", "tag_key",
	       !number_in(json_object_get(document, "config"), "tagRequired"));
	sample(document, "unprotected", "what", "peers", has_any_peer(document));
}

static void generations_print(const json_t *document)
{
	const char *id;
	json_t *service;

	head("generation", "gauge", "Highest generation seen, by the service's id.");
	json_object_foreach(json_object_get(document, "services"), id, service)
	    sample(document, "generation", "service", id, json_integer_value(json_object_get(service, "generation")));
}

/* What is told of a service's load. */
static const struct {
	const char *name, *metric, *type, *help;
} loads[] = {
    {"busy", "load_busy", "gauge", "Work at the agent's last reading, by the service's id."},
    {"threshold", "load_threshold", "gauge",
     "Work at which the server begins to refuse new connections, unless the policy is always."},
    {"expired", "load_expired", "gauge", "1 if that reading is too old, and the server accepts everything."},
    {"offered", "load_offered_total", "counter", "New connections that another server could also have accepted."},
    {"taken", "load_taken_total", "counter", "Those of them that this server accepted."},
    {"passed", "load_passed_total", "counter", "Those of them that it refused."},
    {"unasked", "load_unasked_total", "counter", "New connections accepted that no other server would have accepted."},
};

static void loads_print(const json_t *document)
{
	json_t *services = json_object_get(document, "services"), *service;
	const char *id;
	size_t i;

	for (i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		head(loads[i].metric, loads[i].type, loads[i].help);
		json_object_foreach(services, id, service)
		{
			const json_t *load = json_object_get(service, "load");

			if (load)
				sample(document, loads[i].metric, "service", id, number_in(load, loads[i].name));
		}
	}
	head("load_policy", "gauge", "1 for the policy by which the service's new connections are accepted.");
	json_object_foreach(services, id, service)
	{
		const json_t *load = json_object_get(service, "load");

		if (!load)
			continue;
		printf("fairlead_server_load_policy{interface=\"");
		text_print(interface_of(document));
		printf("\",service=\"%s\",policy=\"%s\"} 1\n", id, json_string_value(json_object_get(load, "policy")));
	}
}

void prometheus_print(const json_t *document)
{
	const json_t *config = json_object_get(document, "config");

	head("info", "gauge", "Always 1; the labels name form, mode, version and address.");
	printf("fairlead_server_info{interface=\"");
	text_print(interface_of(document));
	printf("\",form=\"%s\",mode=\"%s\",version=\"%s\",address=\"%s\"} 1\n",
	       json_string_value(json_object_get(document, "form")), json_string_value(json_object_get(config, "mode")),
	       json_string_value(json_object_get(document, "version")),
	       json_string_value(json_object_get(config, "address")));
	unprotected_print(document);
	packets_print(document);
	numbers_print(document);
	generations_print(document);
	loads_print(document);
}
