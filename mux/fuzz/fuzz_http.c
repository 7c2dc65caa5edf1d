/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes on a connection to the mux's HTTP server, over loopback, with one service that has a ring. Each answer has
 * a status, and JSON is valid; a rejection names field, value and what is allowed; an explanation agrees with the ring.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "../tests/image.h"
#include "control/cluster/cluster_sync.h"
#include "host/announce.h"
#include "host/needs.h"
#include "host/neighbour.h"
#include "host/port.h"
#include "control/service/change_log.h"
#include "observe/http.h"
#include "packet/counters.h"
#include "service/tables.h"
#include "tell/teller.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUEST_MAX = 16384, ANSWER_MAX = 1 << 18, IDLE_ROUNDS = 4, BUCKETS = 256, BACKENDS = 6 };

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

/* Stands in for the control thread that the server queries: one service, and no ZooKeeper. */
static struct service_sync web = {
    .name = (char *)"web",
    .ring.refused[REFUSAL_CONFIG] = 1,
    .ring.arrays = {.list.version.newest = 2, .took_ms = 1500, .refusals.at[0] = {"checksum", 1}},
};

bool tree_is_connected(const struct tree *tree)
{
	return tree;
}

uint64_t tree_now(const struct tree *tree)
{
	(void)tree;
	return 0;
}

bool registration_is_registered(const struct registration *own)
{
	return own;
}

uint32_t registration_seconds(struct registration *own)
{
	return own ? 1700000000 : 0;
}

bool published_is_unsaved(const struct published_service *published)
{
	return published;
}

const struct need *needs_list(const struct needs *needs, unsigned *count)
{
	(void)needs;
	*count = 0;
	return NULL;
}

const char *need_name(enum need_kind kind)
{
	(void)kind;
	return "";
}

const struct service_sync *cluster_sync_next(const struct cluster_sync *cluster, const struct service_sync *after)
{
	(void)cluster;
	return after ? NULL : &web;
}

enum service_state service_sync_state(const struct service_sync *sync)
{
	(void)sync;
	return SERVICE_SERVING;
}

uint32_t ring_sync_generation(const struct ring_sync *sync)
{
	return ring_generation(service_ring(sync->published.service));
}

const struct ring *published_ring(const struct published_service *published)
{
	return service_ring(published->service);
}

bool published_announces(const struct published_service *published)
{
	(void)published;
	return true;
}

const char *published_withdrawn(const struct published_service *published)
{
	(void)published;
	return NULL;
}

void neighbours_count(const struct neighbours *neighbours, unsigned *resolved, unsigned *unresolved)
{
	(void)neighbours;
	*resolved = *unresolved = 0;
}

static struct http *http;
static struct sockaddr_in address = {.sin_family = AF_INET};

/* Listens on a free port. */
static void listen_somewhere(const struct sources *sources)
{
	socklen_t len = sizeof(address);
	static struct http_access access = {.host = "127.0.0.1"};
	struct reason why = {""};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 100 && !http; i++) {
		int probe = socket(AF_INET, SOCK_STREAM, 0);

		address.sin_port = 0;
		require(probe >= 0 && !bind(probe, (struct sockaddr *)&address, len) &&
			!getsockname(probe, (struct sockaddr *)&address, &len));
		close(probe);
		access.port = ntohs(address.sin_port);
		http = http_open(&access, sources, &why);
	}
	if (!http)
		fprintf(stderr, "%s\n", why.text);
	require(http);
}

static uint64_t no_time(void *clock)
{
	(void)clock;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct service_config config = image_config(1, "10.99.0.1", BUCKETS);
	struct delta snapshot = image_snapshot(1, 3, BUCKETS, BACKENDS);
	static const struct ports ports;
	static struct published_place place;
	static const struct service_sync_context context;
	static struct registration registration = {.clock = {.is_known = true, .ahead_ms = -1500}};
	static struct state_keeper state = {.written = 1};
	static struct service_list services = {.is_known = true};
	static const struct cluster_sync cluster = {
	    .is_foreign = true, .registration = &registration, .state = &state, .services = &services};
	struct sources sources = {.ports = &ports, .id = "mux1", .cluster = &cluster};
	struct teller_options told = {.now_ms = no_time};
	struct tables *tables = tables_new(1, &image_hops);
	struct change_log *changes = change_log_new();
	struct reason why;

	(void)argc;
	(void)argv;
	web.ring.published.name = "web";
	require(tables && !tables_add(tables, &config, &web.ring.published.service, &why));
	require(!tables_load(tables, web.ring.published.service, &snapshot, NULL, &why));
	image_free(&snapshot);
	require(changes);
	change_log_note(changes, "web", 3, ring_sum(service_ring(web.ring.published.service)), CHANGE_LOG_SNAPSHOT);
	change_log_note(changes, "web", 4, 0, CHANGE_LOG_DELTA);
	sources.changes = changes;
	sources.teller = teller_new(&told);
	sources.tables = tables;
	place.counters = counters_new(1);
	sources.counters = place.counters;
	web.context = &context;
	web.ring.published.place = &place;
	require(sources.counters && sources.teller);
	listen_somewhere(&sources);
	return 0;
}

/* Sends data and runs the server until it sends nothing more; returns the number of bytes of its answer. */
static size_t talk(const uint8_t *data, size_t size, char *answer)
{
	struct linger reset = {.l_onoff = 1};
	int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	size_t sent = 0, got = 0;

	require(client >= 0 && !setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)));
	connect(client, (struct sockaddr *)&address, sizeof(address));
	for (int idle = 0; idle < IDLE_ROUNDS; idle++) {
		ssize_t n = sent < size ? send(client, data + sent, size - sent, MSG_NOSIGNAL) : 0;

		if (n > 0) {
			sent += (size_t)n;
			idle = 0;
		}
		http_run(http);
		n = recv(client, answer + got, ANSWER_MAX - 1 - got, 0);
		if (n > 0) {
			got += (size_t)n;
			idle = 0;
		} else if (n == 0 || (errno != EAGAIN && errno != EINPROGRESS && errno != ENOTCONN)) {
			break;
		}
		require(got < ANSWER_MAX - 1);
	}
	close(client);
	http_run(http); /* sees that */
	answer[got] = 0;
	return got;
}

static void check_json(const char *body, int status)
{
	json_t *json = json_loads(body, JSON_REJECT_DUPLICATES, NULL);

	require(json_is_object(json));
	if (status >= 400 && status != 503) {
		require(json_integer_value(json_object_get(json, "status")) == status);
		require(json_is_string(json_object_get(json, "field")) &&
			json_is_string(json_object_get(json, "value")) &&
			json_is_string(json_object_get(json, "allowed")));
	} else if (json_object_get(json, "bucket")) {
		json_int_t bucket = json_integer_value(json_object_get(json, "bucket"));
		json_t *current = json_object_get(json, "current");

		require(bucket == (json_integer_value(json_object_get(json, "hash")) & (BUCKETS - 1)));
		require(json_integer_value(json_object_get(current, "id")) == 1 + bucket % BACKENDS);
	}
	json_decref(json);
}

/* Checks the answer, after which nothing may come. is_head: of a request whose answer has no text. */
static void check_answer(char *answer, size_t len, bool is_head)
{
	char *body = strstr(answer, "\r\n\r\n"), *length;
	int status = atoi(answer + 9);

	require(!strncmp(answer, "HTTP/1.1 ", 9) && status >= 200 && status < 600 && body);
	body += 4;
	body[-1] = 0; /* the head ends here */
	length = strstr(answer, "\r\nContent-Length: ");
	require(strstr(answer, "\r\nConnection: close\r\n") && strstr(answer, "\r\nContent-Type: ") && length);
	if (is_head)
		return;
	require(strtoul(length + 18, NULL, 10) == len - (size_t)(body - answer));
	if (strstr(answer, "\r\nContent-Type: application/"))
		check_json(body, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char answer[ANSWER_MAX];
	size_t len;

	if (!size || size > REQUEST_MAX)
		return 0;
	len = talk(data, size, answer);
	if (len)
		check_answer(answer, len, !strncmp((const char *)data, "HEAD ", size < 5 ? size : 5));
	return 0;
}
