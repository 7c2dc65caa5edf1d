// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "parts.h"

enum {
	WHY_READ_MAX = 4096,
};

static const char document[] = "the answer of /v1/agent/reports";

void answer_free(struct answer *answer)
{
	for (size_t i = 0; i < answer->count; i++)
		free(answer->list[i].buckets);
	free(answer->list);
	free(answer->connections);
	*answer = (struct answer){0};
}

static bool name_read(const json_t *object, const struct services *services, size_t *place)
{
	const struct service *service;
	const char *name;

	if (!fields_text(document, object, "name", SERVICES_NAME_MAX, &name))
		return false;
	service = services_find(services, name);
	if (!service)
		return fields_refuse(document, "name", name, "a service of the servicesVersion");
	*place = (size_t)(service - services->list);
	return true;
}

static bool question_read(const json_t *object, const struct services *services, struct asked *asked)
{
	const char *question, *word, *text;
	const json_t *buckets;

	if (!name_read(object, services, &asked->service) ||
	    !fields_text(document, object, "question", QUESTION_NAME_MAX, &question))
		return false;
	snprintf(asked->name, sizeof(asked->name), "%s", question);
	buckets = json_object_get(object, "buckets");
	if (!buckets || json_is_null(buckets))
		return true;
	text = json_string_value(buckets);
	if (!text)
		return fields_refuse(document, "buckets", "", "a string, or none");
	asked->buckets = bucket_set_read(text, services->list[asked->service].buckets, &word);
	return asked->buckets || fields_refuse(document, "buckets", text, word);
}

static bool connections_read(const json_t *object, const struct services *services, struct asked_connections *asked)
{
	const json_t *refused = json_object_get(object, "refused");
	const char *memory, *mark, *why = "";

	if (!name_read(object, services, &asked->service) ||
	    !fields_text(document, object, "memory", TOLD_NAME_MAX, &memory) ||
	    !fields_text(document, object, "mark", TOLD_NAME_MAX, &mark) ||
	    (refused && !json_is_null(refused) && !fields_text(document, object, "refused", WHY_READ_MAX, &why)))
		return false;
	if (!services->list[asked->service].age_seconds)
		return fields_refuse(document, "connections", services->list[asked->service].name,
				     "only services with connections in /v1/agent/services");
	snprintf(asked->told.memory, sizeof(asked->told.memory), "%s", memory);
	snprintf(asked->told.mark, sizeof(asked->told.mark), "%s", mark);
	/* it is printed: cut, and in one line */
	snprintf(asked->told.refused, sizeof(asked->told.refused), "%s", why);
	for (char *at = asked->told.refused; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	return true;
}

/* Controllers that know nothing of connections do not have the list. */
static bool all_connections_read(const json_t *root, const struct services *services, struct answer *answer)
{
	const json_t *list = json_object_get(root, "connections"), *one;
	size_t i, j;

	if (!list || json_is_null(list))
		return true;
	if (!fields_list(document, root, "connections", JSON_OBJECT, SERVICES_MAX, &list))
		return false;
	answer->connections = calloc(json_array_size(list) + 1, sizeof(*answer->connections));
	if (!answer->connections)
		return fields_refuse(document, "connections", "more", "what memory has room for");
	json_array_foreach(list, i, one)
	{
		struct asked_connections *asked = &answer->connections[i];

		if (!connections_read(one, services, asked))
			return false;
		for (j = 0; j < i; j++)
			if (answer->connections[j].service == asked->service)
				return fields_refuse(document, "connections", services->list[asked->service].name,
						     "one entry of a service");
	}
	answer->connections_count = json_array_size(list);
	return true;
}

static bool read_all(const json_t *root, const struct services *services, struct answer *answer)
{
	const json_t *list, *one;
	json_int_t number;
	const char *version;
	size_t i;

	if (!fields_number(document, root, "format", 1, 1, &number) ||
	    !fields_text(document, root, "servicesVersion", SERVICES_VERSION_MAX, &version) ||
	    !fields_number(document, root, "nextSeconds", 1, ANSWER_SECONDS_MAX, &number) ||
	    !fields_list(document, root, "questions", JSON_OBJECT, SERVICES_MAX, &list))
		return false;
	snprintf(answer->services_version, sizeof(answer->services_version), "%s", version);
	answer->next_seconds = (fl_u32)number;
	/* rings may be others there; the questions come again once the services are read */
	if (strcmp(version, services->version))
		return true;
	answer->list = calloc(json_array_size(list) + 1, sizeof(*answer->list));
	if (!answer->list)
		return fields_refuse(document, "questions", "more", "what memory has room for");
	json_array_foreach(list, i, one)
	{
		answer->count = i + 1;
		if (!question_read(one, services, &answer->list[i]))
			return false;
		for (size_t j = 0; j < i; j++)
			if (answer->list[j].service == answer->list[i].service)
				return fields_refuse(document, "questions",
						     services->list[answer->list[i].service].name,
						     "one question of a service");
	}
	return all_connections_read(root, services, answer);
}

bool answer_read(const char *text, size_t len, const struct services *services, struct answer *answer)
{
	json_t *root = fields_parse(document, text, len);
	bool is_right;

	*answer = (struct answer){0};
	is_right = root && read_all(root, services, answer);
	if (!is_right)
		answer_free(answer);
	json_decref(root);
	return is_right;
}

static const struct asked *asked_of(const struct answer *answer, size_t service)
{
	for (size_t i = 0; i < answer->count; i++)
		if (answer->list[i].service == service)
			return &answer->list[i];
	return NULL;
}

static void apply_connections(const struct answer *answer, struct census *census, fl_u64 now_ns, fl_u32 random)
{
	for (size_t i = 0; i < census->services->count; i++) {
		const struct told_answer *told = NULL;

		for (size_t j = 0; j < answer->connections_count; j++)
			if (answer->connections[j].service == i)
				told = &answer->connections[j].told;
		parts_answered(census, i, told, now_ns, random);
	}
}

bool answer_apply(struct answer *answer, struct census *census, fl_u64 now_ns, fl_u32 random)
{
	const struct services *services = census->services;
	bool is_right = true;

	if (!strcmp(answer->services_version, services->version))
		apply_connections(answer, census, now_ns, random);
	for (size_t i = 0; i < services->count; i++)
		if (!asked_of(answer, i))
			question_end(&census->tallies[i].question);
	for (size_t i = 0; i < answer->count; i++) {
		struct asked *asked = &answer->list[i];
		const struct question *had = &census->tallies[asked->service].question;

		if (had->buckets && !strcmp(had->name, asked->name))
			continue;
		if (asked->buckets) {
			question_ask(&census->tallies[asked->service].question, asked->name, asked->buckets, now_ns);
			asked->buckets = NULL;
			continue;
		}
		question_end(&census->tallies[asked->service].question);
		is_right = fields_refuse(document, "buckets", "", "not absent: the question was not answered before");
	}
	return is_right;
}
