// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "readings.h"
#include "text.h"

#define DELTA_MAX 0xffffffffULL

enum numbers {
	SERVICE_BYTES = 1536,                /* at most, without its answer and flow hashes */
	HASHES_BYTES = TOLD_REPORT_MAX * 11, /* at most: base64 of 8 bytes each */
};

/* The answer of a service, or NULL if there is none to give or no room for it. */
static json_t *answer_make(const struct report *report, const struct census *census, const struct answer_of *answer,
			   size_t *room)
{
	const struct question *question = answer->question;
	json_t *object = NULL;
	char *text;

	if (!answer->buckets || (!report->has_events && census->dumped_ns < question->asked_ns))
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

void report_load(struct tally *tally, const struct load_figures *figures)
{
	const fl_u64 seen[TALLY_NUMBERS] = {[TALLY_OFFERED] = fl_load_offered(&figures->state),
					    [TALLY_TAKEN] = figures->state.taken,
					    [TALLY_PASSED] = figures->state.passed};
	struct tally_load *load = &tally->load;
	bool is_anew = false; /* attached meanwhile, and counted from 0 */
	int what;

	load->has_busy = figures->has_busy;
	load->busy = figures->busy;
	if (!figures->has_state)
		return;
	for (what = 0; what < TALLY_NUMBERS; what++)
		is_anew |= seen[what] < load->seen[what];
	for (what = 0; load->has_seen && what < TALLY_NUMBERS; what++) /* else it was before the agent started */
		tally->numbers[what].all += seen[what] - (is_anew ? 0 : load->seen[what]);
	load->has_seen = true;
	memcpy(load->seen, seen, sizeof(seen));
}

/* What the next report says of a number, at most what it has room for; the rest comes with later ones. */
static json_t *delta_make(struct tally *tally, enum tally_what what)
{
	struct tally_number *number = &tally->numbers[what];

	number->sent = number->all - number->told < DELTA_MAX ? number->all : number->told + DELTA_MAX;
	return json_integer((json_int_t)(number->sent - number->told));
}

static json_t *load_make(struct tally *tally)
{
	json_t *busy = tally->load.has_busy ? json_integer(tally->load.busy) : NULL;

	return json_pack("{s:o*, s:o, s:o, s:o}", "busy", busy, "offered", delta_make(tally, TALLY_OFFERED), "taken",
			 delta_make(tally, TALLY_TAKEN), "passed", delta_make(tally, TALLY_PASSED));
}

/* NULL: the controller does not ask, or none is known. */
static json_t *signals_make(const struct report *report, const struct services *services, const struct tally *tally)
{
	static const char *const names[AGENT_SIGNALS] = {[SIGNAL_REFUSED] = "refused",
							 [SIGNAL_RESETS_SENT] = "resetsSent",
							 [SIGNAL_RESETS_RECEIVED] = "resetsReceived",
							 [SIGNAL_RETRANSMITTED] = "retransmitted",
							 [SIGNAL_SEGMENTS] = "segments",
							 [SIGNAL_RTT_SAMPLES] = "rttSamples",
							 [SIGNAL_RTT_MICROSECONDS] = "rttMicroseconds"};
	json_t *object;

	if (!services->asks_signals || !report->signals)
		return NULL;
	object = json_pack("{s:I}", "opened", (json_int_t)tally->numbers[TALLY_OPENED].all);
	for (int signal = 0; object && signal < AGENT_SIGNALS; signal++)
		if (report->signals >> signal & 1)
			json_object_set_new(object, names[signal],
					    json_integer((json_int_t)tally->signals.counts[signal]));
	return object;
}

static json_t *service_make(const struct service *service, struct tally *tally, json_t *answer, json_t *connections,
			    json_t *signals)
{
	json_t *object;

	object = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o*, s:o*, s:o*}", "name", service->name, "established",
			   (json_int_t)tally->established, "halfOpen", (json_int_t)tally->half_open, "opened",
			   delta_make(tally, TALLY_OPENED), "closed", delta_make(tally, TALLY_CLOSED), "answer", answer,
			   "connections", connections, "signals", signals);
	if (object && tally->listeners)
		json_object_set_new(object, "acceptQueue",
				    json_pack("{s:I, s:I}", "length", (json_int_t)tally->queue_length, "limit",
					      (json_int_t)tally->queue_limit));
	if (object && service->two_buckets)
		json_object_set_new(object, "load", load_make(tally));
	return object;
}

static json_t *services_make(const struct report *report, struct census *census, struct answer_of *answers)
{
	const struct services *services = census->services;
	json_t *list = json_array();
	size_t room = REPORT_BYTES_MAX - 4096 - HASHES_BYTES, i;

	room = room > services->count * SERVICE_BYTES ? room - services->count * SERVICE_BYTES : 0;
	for (i = 0; list && i < services->count; i++) {
		size_t service = (report->sequence + i) % services->count;
		struct tally *tally = &census->tallies[service];
		json_t *answer, *connections = NULL;

		for (int what = 0; what < TALLY_NUMBERS; what++)
			tally->numbers[what].sent = tally->numbers[what].told;
		if (!census_knows(census, service))
			continue;
		answer = answer_make(report, census, &answers[service], &room);
		if (tally->told.has_part)
			connections = connections_make(&tally->told);
		tally->told.is_sent = connections != NULL;
		if (json_array_append_new(list, service_make(&services->list[service], tally, answer, connections,
							     signals_make(report, services, tally)))) {
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
	char text[TEXT_LEN];

	for (size_t i = 0; i < REPORT_ADDRESSES_MAX; i++)
		if (!fl_address_is_none(&report->addresses[i]))
			json_array_append_new(list, json_string(text_address_print(&report->addresses[i], text)));
	return list;
}

char *report_write(const struct report *report, struct census *census)
{
	const struct services *services = census->services;
	struct answer_of *answers = calloc(services->count + 1, sizeof(*answers));
	json_t *list, *root = NULL;
	char *text = NULL;

	if (!answers)
		return NULL;
	for (size_t i = 0; i < services->count; i++)
		answers[i].question = &census->tallies[i].question;
	question_answer_all(services, census->table, answers);
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
	for (size_t i = 0; i < census->services->count; i++) {
		struct tally *tally = &census->tallies[i];

		for (int what = 0; what < TALLY_NUMBERS; what++)
			tally->numbers[what].told = tally->numbers[what].sent;
	}
}
