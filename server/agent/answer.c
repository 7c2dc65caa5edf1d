// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

static const char document[] = "the answer of /v1/agent/reports";

void answer_free(struct answer *answer)
{
	for (size_t i = 0; i < answer->count; i++)
		free(answer->list[i].buckets);
	free(answer->list);
	*answer = (struct answer){0};
}

static bool question_read(const json_t *object, const struct services *services, struct asked *asked)
{
	const char *name, *question, *word, *text;
	const struct service *service;
	const json_t *buckets;

	if (!fields_text(document, object, "name", SERVICES_NAME_MAX, &name) ||
	    !fields_text(document, object, "question", QUESTION_NAME_MAX, &question))
		return false;
	service = services_find(services, name);
	if (!service)
		return fields_refuse(document, "name", name, "a service of the servicesVersion");
	asked->service = (size_t)(service - services->list);
	snprintf(asked->name, sizeof(asked->name), "%s", question);
	buckets = json_object_get(object, "buckets");
	if (!buckets || json_is_null(buckets))
		return true;
	text = json_string_value(buckets);
	if (!text)
		return fields_refuse(document, "buckets", "", "a string, or none");
	asked->buckets = bucket_set_read(text, service->buckets, &word);
	return asked->buckets || fields_refuse(document, "buckets", text, word);
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
	return true;
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

bool answer_apply(struct answer *answer, struct census *census, fl_u64 now_ns)
{
	const struct services *services = census_services(census);
	bool is_right = true;

	for (size_t i = 0; i < services->count; i++)
		if (!asked_of(answer, i))
			census_end_question(census, i);
	for (size_t i = 0; i < answer->count; i++) {
		struct asked *asked = &answer->list[i];
		const struct question *had = &census_tally(census, asked->service)->question;

		if (had->buckets && !strcmp(had->name, asked->name))
			continue;
		if (asked->buckets) {
			census_ask(census, asked->service, asked->name, asked->buckets, now_ns);
			asked->buckets = NULL;
			continue;
		}
		census_end_question(census, asked->service);
		is_right = fields_refuse(document, "buckets", "", "not absent: the question was not answered before");
	}
	return is_right;
}
