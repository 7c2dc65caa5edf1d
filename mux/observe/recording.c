/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <fairlead/ring.h>

#include "config/address.h"
#include "config/clock.h"
#include "observe/pcapng.h"
#include "host/port.h"
#include "observe/sampler.h"

enum {
	BLOCK_MAX = 1024, /* bytes: the largest sample with its comment, or the section block */
	COMMENT_MAX = 384,
	STATISTICS_MS = 1000,
};

struct recording {
	const struct sources *from;
	struct recording **owner;
	bool over; /* time is up: sampling has stopped */
	uint64_t now_ms;
	uint64_t ends_ms;
	uint64_t statistics_ms; /* when they are due */
	uint64_t before[SAMPLE_RESULTS];
	char asked[COMMENT_MAX];
	unsigned blocks; /* of the head, written so far: the section and each interface */
	bool concluded;  /* the last statistics are written */
	size_t len, at;  /* the block's length, and how much of it has been sent */
	uint8_t block[BLOCK_MAX];
};

static bool refuse(struct response *response, enum response_status status, const char *field, const char *value,
		   const char *allowed)
{
	response_problem(response, status, field, value, allowed);
	return false;
}

/* Parses a number 1..max; leaves *out unchanged if text is NULL. */
static bool parse_number(const char *text, unsigned max, unsigned *out)
{
	unsigned long value;

	if (!text)
		return true;
	if (!*text || strlen(text) > 6 || strspn(text, "0123456789") != strlen(text))
		return false;
	value = strtoul(text, NULL, 10);
	*out = (unsigned)value;
	return value >= 1 && value <= max;
}

/* The verdict named by len characters of text; VERDICTS if it is unknown or can't be sampled. */
static unsigned find_verdict(const char *text, size_t len)
{
	unsigned v = 0;

	while (v < VERDICTS &&
	       (!sampler_sees(v) || strlen(verdict_name(v)) != len || strncmp(verdict_name(v), text, len)))
		v++;
	return v;
}

/* text: verdicts and "drops", separated by commas; NULL: all that can be sampled. */
static bool parse_verdicts(const char *text, uint64_t *out)
{
	static const char drops[] = "drops";

	*out = 0;
	for (unsigned v = 0; v < VERDICTS; v++)
		if (sampler_sees(v) && !text)
			*out |= 1ULL << v;
	for (const char *at = text; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
		size_t len = strcspn(at, ",");
		unsigned verdict = find_verdict(at, len);
		bool is_drops = len == sizeof(drops) - 1 && !strncmp(at, drops, len);

		if (!is_drops && verdict == VERDICTS)
			return false;
		for (unsigned v = 0; v < VERDICTS; v++)
			if (is_drops ? sampler_sees(v) && verdict_is_drop(v) : v == verdict)
				*out |= 1ULL << v;
	}
	return true;
}

static const char *verdicts_allowed(void)
{
	static char text[1024];
	size_t at = 0;

	at += (size_t)snprintf(text, sizeof(text), "separated by commas: drops");
	for (unsigned v = 0; v < VERDICTS && at < sizeof(text); v++)
		if (sampler_sees(v))
			at += (size_t)snprintf(text + at, sizeof(text) - at, ", %s", verdict_name(v));
	return text;
}

/* The first argument that is unknown, repeated or without a value; NULL: none. */
static const char *bad_argument(const struct head *head)
{
	static const char *const known[] = {"seconds", "rate", "service", "verdict", "source"};
	unsigned seen = 0;

	for (unsigned i = 0; i < head->count; i++) {
		unsigned k = 0;

		while (k < sizeof(known) / sizeof(known[0]) && strcmp(head->arguments[i].name, known[k]))
			k++;
		if (k == sizeof(known) / sizeof(known[0]) || !head->arguments[i].value || seen & 1U << k)
			return head->arguments[i].name;
		seen |= 1U << k;
	}
	return NULL;
}

static bool parse(const struct sources *from, const struct head *head, unsigned *seconds, struct sample_filter *filter,
		  struct response *response)
{
	const char *service = head_argument(head, "service"), *source = head_argument(head, "source");
	const struct service *found = service ? registry_find(&from->tables->registry, service) : NULL;

	if (bad_argument(head))
		return refuse(response, RESPONSE_INVALID, "argument", bad_argument(head),
			      "seconds, rate, service, verdict, source, each once and with a value");
	if (!parse_number(head_argument(head, "seconds"), RECORDING_SECONDS_MAX, seconds))
		return refuse(response, RESPONSE_INVALID, "seconds", head_argument(head, "seconds"), "1..300");
	if (!parse_number(head_argument(head, "rate"), RECORDING_RATE_MAX, &filter->rate))
		return refuse(response, RESPONSE_INVALID, "rate", head_argument(head, "rate"),
			      "1..1000 packets a second");
	if (service && !found)
		return refuse(response, RESPONSE_NOT_FOUND, "service", service, "a service of this mux");
	if (!parse_verdicts(head_argument(head, "verdict"), &filter->verdicts))
		return refuse(response, RESPONSE_INVALID, "verdict", head_argument(head, "verdict"),
			      verdicts_allowed());
	if (source && (!address_parse(source, &filter->source) || fl_address_is_none(&filter->source)))
		return refuse(response, RESPONSE_INVALID, "source", source, "an IPv4 or IPv6 address");
	filter->service = found ? found->id : 0;
	return true;
}

/* Any user of the host can connect to a loopback address; another host can't connect from a loopback address or from the server's own, as it would get no answers. */
static bool is_local(const struct fl_address *client, const struct fl_address *server)
{
	return fl_address_equal(client, server) || address_is_loopback(client);
}

static bool check_client(const struct sources *from, int socket, struct response *response)
{
	static const char allowed[] = "a Unix socket, or a token on this host, or any client with --http-samples on";
	struct sockaddr_storage own = {0}, client = {0};
	socklen_t own_len = sizeof(own), client_len = sizeof(client);
	struct fl_address theirs, ours;
	char text[ADDRESS_TEXT_MAX];

	if (getsockname(socket, (struct sockaddr *)&own, &own_len) ||
	    getpeername(socket, (struct sockaddr *)&client, &client_len))
		return refuse(response, RESPONSE_FORBIDDEN, "client", "unknown", allowed);
	if (own.ss_family == AF_UNIX || from->samples_for_all)
		return true;
	theirs = address_of_socket((const struct sockaddr *)&client);
	ours = address_of_socket((const struct sockaddr *)&own);
	return (from->has_tokens && is_local(&theirs, &ours)) ||
	       refuse(response, RESPONSE_FORBIDDEN, "client", address_print(&theirs, text), allowed);
}

/* The count since the recording began. */
static uint64_t counted(const struct recording *recording, enum sample_result result)
{
	return counters_samples(recording->from->counters, result) - recording->before[result];
}

static size_t write_statistics(struct recording *recording)
{
	uint64_t taken = counted(recording, SAMPLE_TAKEN), full = counted(recording, SAMPLE_FULL);
	struct pcapng_statistics statistics = {.time_ns = clock_ns(CLOCK_REALTIME),
					       .accepted = taken + full + counted(recording, SAMPLE_LIMITED),
					       .dropped = full,
					       .given = taken};

	recording->statistics_ms = recording->now_ms + STATISTICS_MS;
	return pcapng_statistics(recording->block, BLOCK_MAX, &statistics);
}

static void write_comment(const struct recording *recording, const struct sample *sample, char text[COMMENT_MAX])
{
	const struct service *service =
	    sample->service ? registry_find_id(&recording->from->tables->registry, sample->service) : NULL;
	int at = snprintf(text, COMMENT_MAX, "verdict=%s worker=%u", verdict_name(sample->verdict), sample->worker);

	if (service)
		at += snprintf(text + at, COMMENT_MAX - (size_t)at, " service=%s", service->config.name);
	else if (sample->service)
		at += snprintf(text + at, COMMENT_MAX - (size_t)at, " service=%u", sample->service);
	if (!sample->has_row)
		return;
	if (sample->bucket != RING_BUCKET_NONE)
		at += snprintf(text + at, COMMENT_MAX - (size_t)at, " bucket=%u", sample->bucket);
	if (sample->backend != FL_BACKEND_NONE)
		at += snprintf(text + at, COMMENT_MAX - (size_t)at, " backend=%u", sample->backend);
	at += snprintf(text + at, COMMENT_MAX - (size_t)at, " generation=%u", sample->generation);
	if (sample->former)
		at += snprintf(text + at, COMMENT_MAX - (size_t)at, " former=%u", sample->former);
	if (sample->second != RING_BUCKET_NONE)
		snprintf(text + at, COMMENT_MAX - (size_t)at, " second=%u secondBackend=%u", sample->second,
			 sample->second_backend);
}

static uint32_t interface_of(const struct ports *ports, const struct sample *sample)
{
	uint32_t i = 0;

	while (i < ports->count && ports->port[i].id != sample->port)
		i++;
	return i < ports->count ? i : 0;
}

static size_t write_sample(struct recording *recording, const struct sample *sample)
{
	char comment[COMMENT_MAX];
	struct pcapng_packet packet = {.interface = interface_of(recording->from->ports, sample),
				       .time_ns = sample->time_ns,
				       .len = sample->len,
				       .captured = sample->captured,
				       .data = sample->data,
				       .direction = sample->outbound ? PCAPNG_OUTBOUND : PCAPNG_INBOUND,
				       .comment = comment};

	write_comment(recording, sample, comment);
	return pcapng_packet(recording->block, BLOCK_MAX, &packet);
}

/* The head's next block: the section, then an interface for each port. */
static size_t write_head(struct recording *recording)
{
	const struct port *port = &recording->from->ports->port[recording->blocks - !!recording->blocks];

	if (!recording->blocks++)
		return pcapng_section(recording->block, BLOCK_MAX, "fairlead-mux " FAIRLEAD_VERSION, recording->asked);
	return pcapng_interface(recording->block, BLOCK_MAX, port->interface[0] ? port->interface : port->arguments,
				SAMPLER_CAPTURED_MAX);
}

/* Writes the next block of the file. Returns its length, 0 if there is none yet. */
static size_t next_block(struct recording *recording)
{
	struct sample sample;

	if (recording->blocks <= recording->from->ports->count)
		return write_head(recording);
	if (sampler_take(recording->from->sampler, &sample))
		return write_sample(recording, &sample);
	if (recording->over && !recording->concluded) {
		recording->concluded = true;
		return write_statistics(recording);
	}
	/* sending these also detects a client that has gone */
	return !recording->over && recording->now_ms >= recording->statistics_ms ? write_statistics(recording) : 0;
}

/* For struct response_stream. */
static ssize_t read_some(void *context, char *out, size_t max)
{
	struct recording *recording = context;
	size_t given = 0;

	while (given < max) {
		size_t part;

		if (recording->at == recording->len) {
			recording->at = 0;
			recording->len = next_block(recording);
			if (!recording->len)
				break;
		}
		part = recording->len - recording->at < max - given ? recording->len - recording->at : max - given;
		memcpy(out + given, recording->block + recording->at, part);
		recording->at += part;
		given += part;
	}
	return given || !recording->concluded ? (ssize_t)given : -1;
}

/* For struct response_stream. */
static void end(void *context)
{
	struct recording *recording = context;

	sampler_stop(recording->from->sampler);
	*recording->owner = NULL;
	free(recording);
}

void recording_run(struct recording *recording, uint64_t now_ms)
{
	recording->now_ms = now_ms;
	if (!recording->over && now_ms >= recording->ends_ms) {
		recording->over = true;
		sampler_stop(recording->from->sampler);
	} else if (!recording->over) {
		sampler_refill(recording->from->sampler, now_ms);
	}
}

void recording_start(const struct sources *from, const struct request *request, uint64_t now_ms,
		     struct recording **owner, struct response *response)
{
	struct sample_filter filter = {.rate = RECORDING_RATE};
	unsigned seconds = RECORDING_SECONDS;
	const char *verdicts = head_argument(&request->head, "verdict");
	const char *service = head_argument(&request->head, "service");
	struct recording *recording;

	if (!check_client(from, request->socket, response) || !parse(from, &request->head, &seconds, &filter, response))
		return;
	recording = calloc(1, sizeof(*recording));
	if (!recording)
		return;
	recording->from = from;
	recording->owner = owner;
	recording->now_ms = now_ms;
	recording->ends_ms = now_ms + 1000ULL * seconds;
	recording->statistics_ms = now_ms + STATISTICS_MS;
	for (unsigned i = 0; i < SAMPLE_RESULTS; i++)
		recording->before[i] = counters_samples(from->counters, i);
	snprintf(recording->asked, sizeof(recording->asked), "mux=%s seconds=%u rate=%u service=%s verdict=%s",
		 from->id, seconds, filter.rate, service ? service : "*", verdicts ? verdicts : "*");
	sampler_start(from->sampler, &filter, now_ms);
	*owner = recording;
	*response = (struct response){
	    .status = RESPONSE_OK,
	    .type = "application/x-pcapng",
	    .stream = {.read = read_some, .end = end, .context = recording, .seconds = seconds},
	};
}
