// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "config.h"
#include "readings.h"

#define DELTA_MAX 0xffffffffULL

enum numbers {
	SERVICE_BYTES = 1536,                /* at most, without its answer and flow hashes */
	HASHES_BYTES = TOLD_REPORT_MAX * 11, /* at most: base64 of 8 bytes each */
};

/* The answer of a service, or NULL if there is none to give or no room for it. */
static json_t *answer_make(const struct report *report, const struct census *census, const struct question *question,
			   const struct answer_of *answer, size_t *room)
{
	json_t *object = NULL;
	char *text;

	if (!answer->buckets || (!report->has_events && census_dumped_ns(census) < question->asked_ns))
		return NULL;
	text = bucket_set_write(answer->buckets);
	if (text && strlen(text) <= *room) {
		object = json_pack("{s:s, s:I, s:s}", "question", question->name, "connections",
				   (json_int_t)answer->connections, "buckets", text);
		*room -= strlen(text);
	}
	free(text);
	return object;
}

/* NULL: no memory. */
static json_t *connections_make(const struct told *told)
{
	const struct part *part = &told->part;
	char *opened = base64_write(part->opened.bytes, 8 * part->opened.count);
	char *closed = base64_write(part->closed.bytes, 8 * part->closed.count);
	json_t *object = NULL;

	if (opened && closed)
		object = json_pack("{s:s, s:s, s:b, s:b, s:b, s:s, s:s}", "memory", told->memory, "mark", part->mark,
				   "whole", part->whole, "first", part->first, "last", part->last, "opened", opened,
				   "closed", closed);
	free(opened);
	free(closed);
	return object;
}

/* Whether the form was attached anew meanwhile, and has counted from 0. */
static bool is_anew(const struct tally_syns *seen, const struct tally_syns *before)
{
	return seen->offered < before->offered || seen->taken < before->taken || seen->passed < before->passed;
}

void report_load(struct tally *tally, const struct load_figures *figures)
{
	struct tally_load *load = &tally->load;
	const struct tally_syns seen = {fl_load_offered(&figures->state), figures->state.taken, figures->state.passed};

	load->has_busy = figures->has_busy;
	load->busy = figures->busy;
	if (!figures->has_state)
		return;
	if (load->has_seen && is_anew(&seen, &load->seen))
		load->seen = (struct tally_syns){0};
	if (load->has_seen) { /* else it was before the agent started */
		load->all.offered += seen.offered - load->seen.offered;
		load->all.taken += seen.taken - load->seen.taken;
		load->all.passed += seen.passed - load->seen.passed;
	}
	load->has_seen = true;
	load->seen = seen;
}

/* What the next report says of a number, at most what it has room for; the rest comes with later ones. */
static json_t *delta_make(fl_u64 all, fl_u64 told, fl_u64 *sent)
{
	*sent = all - told < DELTA_MAX ? all : told + DELTA_MAX;
	return json_integer((json_int_t)(*sent - told));
}

static json_t *load_make(struct tally_load *load)
{
	json_t *object = json_object();

	if (load->has_busy)
		json_object_set_new(object, "busy", json_integer(load->busy));
	json_object_set_new(object, "offered", delta_make(load->all.offered, load->told.offered, &load->sent.offered));
	json_object_set_new(object, "taken", delta_make(load->all.taken, load->told.taken, &load->sent.taken));
	json_object_set_new(object, "passed", delta_make(load->all.passed, load->told.passed, &load->sent.passed));
	return object;
}

static json_t *service_make(const struct service *service, struct tally *tally, json_t *answer, json_t *connections)
{
	json_t *object;

	tally->opened_sent = tally->opened;
	tally->closed_sent = tally->closed;
	object =
	    json_pack("{s:s, s:I, s:I, s:I, s:I, s:o*, s:o*}", "name", service->name, "established",
		      (json_int_t)tally->established, "halfOpen", (json_int_t)tally->half_open, "opened",
		      (json_int_t)(tally->opened - tally->opened_told), "closed",
		      (json_int_t)(tally->closed - tally->closed_told), "answer", answer, "connections", connections);
	if (object && tally->listeners)
		json_object_set_new(object, "acceptQueue",
				    json_pack("{s:I, s:I}", "length", (json_int_t)tally->queue_length, "limit",
					      (json_int_t)tally->queue_limit));
	if (object && service->two_buckets)
		json_object_set_new(object, "load", load_make(&tally->load));
	return object;
}

static json_t *services_make(const struct report *report, struct census *census, struct answer_of *answers)
{
	const struct services *services = census_services(census);
	json_t *list = json_array();
	size_t room = REPORT_BYTES_MAX - 4096 - HASHES_BYTES, i;

	room = room > services->count * SERVICE_BYTES ? room - services->count * SERVICE_BYTES : 0;
	for (i = 0; list && i < services->count; i++) {
		size_t service = (report->sequence + i) % services->count;
		struct tally *tally = census_tally(census, service);
		json_t *answer, *connections = NULL;

		tally->opened_sent = tally->opened_told;
		tally->closed_sent = tally->closed_told;
		tally->load.sent = tally->load.told;
		if (!census_knows(census, service))
			continue;
		answer = answer_make(report, census, &tally->question, &answers[service], &room);
		if (tally->told.has_part)
			connections = connections_make(&tally->told);
		tally->told.is_sent = connections != NULL;
		if (json_array_append_new(list, service_make(&services->list[service], tally, answer, connections))) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

/* NULL: the controller does not ask, or it is not known. */
static json_t *form_make(const struct report *report, const struct services *services)
{
	if (!services->asks_form || !report->form || report->is_attached < 0)
		return NULL;
	return json_pack("{s:s, s:s*, s:b}", "kind", report->form, "interface", report->interface, "attached",
			 report->is_attached);
}

static json_t *addresses_make(const struct report *report)
{
	json_t *list = json_array();
	char text[CONFIG_TEXT_LEN];

	for (size_t i = 0; i < REPORT_ADDRESSES_MAX; i++)
		if (!fl_address_is_none(&report->addresses[i]))
			json_array_append_new(list, json_string(config_address_text(&report->addresses[i], text)));
	return list;
}

char *report_write(const struct report *report, struct census *census)
{
	const struct services *services = census_services(census);
	struct answer_of *answers = calloc(services->count + 1, sizeof(*answers));
	json_t *list, *root = NULL;
	char *text = NULL;

	if (!answers)
		return NULL;
	question_answer_all(census, answers);
	list = services_make(report, census, answers);
	if (list)
		root = json_pack("{s:i, s:s, s:I, s:s, s:s, s:o, s:s, s:I, s:o, s:o*}", "format", 1, "boot",
				 report->boot, "sequence", (json_int_t)report->sequence, "version", FAIRLEAD_VERSION,
				 "mode", report->has_events ? "events" : "dumps", "addresses", addresses_make(report),
				 "servicesVersion", services->version, "lostEvents", (json_int_t)report->lost_events,
				 "services", list, "form", form_make(report, services));
	if (root)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	for (size_t i = 0; i < services->count; i++)
		free(answers[i].buckets);
	free(answers);
	return text;
}

void report_answered(struct census *census)
{
	for (size_t i = 0; i < census_services(census)->count; i++) {
		struct tally *tally = census_tally(census, i);

		tally->opened_told = tally->opened_sent;
		tally->closed_told = tally->closed_sent;
		tally->load.told = tally->load.sent;
	}
}
