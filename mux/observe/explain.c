/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>
#include <jansson.h>

#include "config/options.h"
#include "config/service_config.h"
#include "observe/bearer.h"

enum exit_code { EXIT_OK, EXIT_REFUSED, EXIT_USAGE, EXIT_UNREACHABLE };

enum { TIMEOUT_S = 10, PROTOCOL_LEN_MAX = 16, URL_LEN_MAX = 2048, BODY_MAX = 1 << 20 };

static const char usage[] =
    "usage: fairlead-mux explain [--http HOST:PORT|unix:PATH] [--ca-file FILE] [--token-file FILE] [-o text|json]\n"
    "                            SERVICE PROTOCOL SOURCE:PORT DESTINATION:PORT\n"
    "Where this mux sends the packets of a connection, and why. PROTOCOL is tcp or udp; IPv6 in brackets.\n"
    "  --http            the mux's --http; default 127.0.0.1:9108, or FAIRLEAD_MUX_HTTP\n"
    "  --ca-file FILE    by TLS, which the mux has with --http-cert: the certificates to trust\n"
    "  --token-file FILE the mux's --http-tokens, of which the first one is used, or a file with one token\n"
    "exit codes: 0 answered, 1 refused by the mux, 2 bad usage, 3 mux not reachable\n";

static const char unix_prefix[] = "unix:";

struct question {
	const char *http;
	const char *ca_file;    /* NULL: without TLS */
	const char *token_file; /* NULL: no token */
	bool json;
	bool help;
	const char *service;
	const char *protocol;
	const char *source;
	const char *destination;
};

struct body {
	char *text;
	size_t len;
};

static int misused(const char *what, const char *value, const char *allowed)
{
	fprintf(stderr, "fairlead-mux explain: %s '%s'; allowed: %s\n%s", what, value, allowed, usage);
	return EXIT_USAGE;
}

static int parse(int argc, char *const *argv, struct question *out)
{
	const char *words[4];
	int count = 0;

	for (int i = 0; i < argc; i++) {
		bool is_http = !strcmp(argv[i], "--http"), is_format = !strcmp(argv[i], "-o");
		bool is_ca = !strcmp(argv[i], "--ca-file"), is_token = !strcmp(argv[i], "--token-file");

		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			out->help = true;
			return EXIT_OK;
		}
		if ((is_http || is_format || is_ca || is_token) && i + 1 == argc)
			return misused("no value for", argv[i],
				       is_http     ? "HOST:PORT, unix:PATH"
				       : is_format ? "text, json"
						   : "a file");
		if (is_http) {
			out->http = argv[++i];
		} else if (is_ca) {
			out->ca_file = argv[++i];
		} else if (is_token) {
			out->token_file = argv[++i];
		} else if (is_format) {
			out->json = !strcmp(argv[++i], "json");
			if (!out->json && strcmp(argv[i], "text"))
				return misused("-o", argv[i], "text, json");
		} else if (argv[i][0] == '-' || count == 4) {
			return misused(argv[i][0] == '-' ? "unknown flag" : "one word too many", argv[i],
				       "--http, --ca-file, --token-file, -o and four words");
		} else {
			words[count++] = argv[i];
		}
	}
	if (count != 4) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (!*words[0] || strlen(words[0]) > SERVICE_NAME_MAX)
		return misused("service", words[0], "a name of 1..63 characters");
	if (strlen(words[1]) > PROTOCOL_LEN_MAX)
		return misused("protocol", words[1], "tcp, udp");
	out->service = words[0];
	out->protocol = words[1];
	out->source = words[2];
	out->destination = words[3];
	return EXIT_OK;
}

/* Splits ADDRESS:PORT or [ADDRESS]:PORT; false if there is no colon. The mux checks the parts. */
static bool split(const char *text, char address[64], char port[16])
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (len > 1 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (!len || len >= 64 || strlen(colon + 1) >= 16)
		return false;
	memcpy(address, text, len);
	address[len] = 0;
	strcpy(port, colon + 1);
	return true;
}

static void append(CURL *curl, char url[URL_LEN_MAX], const char *name, const char *value)
{
	char *escaped = curl_easy_escape(curl, value, 0);
	size_t len = strlen(url);

	snprintf(url + len, URL_LEN_MAX - len, "%s%s=%s", strchr(url, '?') ? "&" : "?", name, escaped ? escaped : "");
	curl_free(escaped);
}

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct body *body = context;
	size_t len = size * count;
	char *text = body->len + len < BODY_MAX ? realloc(body->text, body->len + len + 1) : NULL;

	if (!text)
		return 0;
	memcpy(text + body->len, data, len);
	body->text = text;
	body->len += len;
	text[body->len] = 0;
	return len;
}

/* Sends the request. Returns the answer's status, or prints the error and returns 0. */
static long ask(CURL *curl, const char *url, const struct question *question, const char *token, struct body *body)
{
	bool is_unix = !strncmp(question->http, unix_prefix, strlen(unix_prefix));
	char error[CURL_ERROR_SIZE] = "";
	CURLcode code;
	long status = 0;

	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_CAINFO, question->ca_file);
	if (is_unix)
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, question->http + strlen(unix_prefix));
	if (*token) {
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, token);
	}
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
	code = curl_easy_perform(curl);
	if (code == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	else
		fprintf(stderr, "fairlead-mux explain: no mux answers at %s: %s\n", question->http,
			error[0] ? error : curl_easy_strerror(code));
	return status;
}

static void print_owner(const char *name, const json_t *owner)
{
	time_t since = (time_t)json_integer_value(json_object_get(owner, "since"));
	char when[64] = "";

	if (!owner) {
		printf("%-11s none\n", name);
		return;
	}
	if (since)
		strftime(when, sizeof(when), ", lost it at %FT%TZ", gmtime(&since));
	printf("%-11s %lld (%s)%s\n", name, (long long)json_integer_value(json_object_get(owner, "id")),
	       json_string_value(json_object_get(owner, "address")), when);
}

static void print_bucket(const json_t *object, const char *name)
{
	const json_t *one;
	size_t i;

	printf("%-11s %lld\n", name, (long long)json_integer_value(json_object_get(object, "bucket")));
	print_owner("current", json_object_get(object, "current"));
	json_array_foreach(json_object_get(object, "former"), i, one) print_owner("former", one);
}

static const char *words_of(const char *reason)
{
	static const struct {
		const char *reason, *words;
	} all[] = {{"owner", "has the bucket"},
		   {"secondOwner", "has the second bucket"},
		   {"former", "had the bucket"},
		   {"secondFormer", "had the second bucket"}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].reason, reason))
			return all[i].words;
	return reason;
}

static void print_candidates(const json_t *answer)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(answer, "candidates"), i, one)
	{
		printf("%-11s %lld (%s): %s\n", i ? "then" : "to",
		       (long long)json_integer_value(json_object_get(one, "id")),
		       json_string_value(json_object_get(one, "address")),
		       words_of(json_string_value(json_object_get(one, "reason"))));
	}
	if (json_is_true(json_object_get(answer, "late")))
		printf("%-11s packets have no room for all of them\n", "late");
}

/* Steering othello: whose arrays gave the bucket. */
static void print_arrays(const json_t *answer)
{
	const json_t *arrays = json_object_get(answer, "arrays"), *previous = json_object_get(arrays, "previous");

	if (!arrays)
		return;
	printf("%-11s of generation %lld", "arrays",
	       (long long)json_integer_value(json_object_get(arrays, "generation")));
	if (!previous)
		printf(", settled\n");
	else if (json_integer_value(previous))
		printf(", before of %lld\n", (long long)json_integer_value(previous));
	else
		printf(", before none: the hash's low bits\n");
}

static void print_text(const json_t *answer)
{
	const json_t *second = json_object_get(answer, "second"), *order = json_object_get(answer, "order"), *unless;
	size_t i;

	printf("%-11s %s\n", "service", json_string_value(json_object_get(answer, "service")));
	printf("%-11s %lld\n", "generation", (long long)json_integer_value(json_object_get(answer, "generation")));
	printf("%-11s 0x%08llx\n", "hash", (long long)json_integer_value(json_object_get(answer, "hash")));
	if (!json_object_get(answer, "bucket")) {
		printf("%-11s none: the port names the backend\n", "bucket");
		print_owner("current", json_object_get(answer, "current"));
		return;
	}
	print_bucket(answer, "bucket");
	print_arrays(answer);
	if (order)
		printf("%-11s %s\n", "order",
		       json_is_true(json_object_get(order, "noted"))
			   ? "the hash's high half first: this mux's filter has the connection"
			   : "the hash's low half first");
	if (second)
		print_bucket(second, "second");
	print_candidates(answer);
	json_array_foreach(json_object_get(answer, "unless"), i, unless)
	    printf("%-11s %s\n", "unless",
		   strcmp(json_string_value(unless), "connectionId")
		       ? "a worker remembers another backend for the flow"
		       : "the connection id of a QUIC packet names another backend");
}

static int print(const struct question *question, long status, const struct body *body)
{
	json_t *answer = json_loads(body->text ? body->text : "", 0, NULL);
	const char *detail = json_string_value(json_object_get(answer, "detail"));
	int code = EXIT_OK;

	if (status != 200 || !json_is_object(answer)) {
		fprintf(stderr, "fairlead-mux explain: %s\n", detail ? detail : "the answer is not from a mux");
		code = detail ? EXIT_REFUSED : EXIT_UNREACHABLE;
	} else if (question->json) {
		fputs(body->text, stdout);
	} else {
		print_text(answer);
	}
	json_decref(answer);
	return code;
}

int explain_main(int argc, char *const *argv)
{
	struct question question = {.http = getenv("FAIRLEAD_MUX_HTTP")};
	char url[URL_LEN_MAX], address[2][64], port[2][16], token[BEARER_TOKEN_MAX + 1] = "";
	struct reason why;
	struct body body = {0};
	long status;
	int code = parse(argc, argv, &question);
	CURL *curl;

	if (code)
		return code;
	if (question.help) {
		fputs(usage, stdout);
		return EXIT_OK;
	}
	if (!question.http)
		question.http = "127.0.0.1:9108";
	if (strlen(question.http) > OPTIONS_TEXT_MAX)
		return misused("--http", question.http, "HOST:PORT, unix:PATH");
	if (!split(question.source, address[0], port[0]))
		return misused("source", question.source, "ADDRESS:PORT");
	if (!split(question.destination, address[1], port[1]))
		return misused("destination", question.destination, "ADDRESS:PORT");
	if (question.token_file && bearer_first("--token-file", question.token_file, token, &why)) {
		fprintf(stderr, "fairlead-mux explain: %s\n", why.text);
		return EXIT_USAGE;
	}
	curl = curl_easy_init();
	if (!curl) {
		fputs("fairlead-mux explain: libcurl can't start\n", stderr);
		return EXIT_UNREACHABLE;
	}
	snprintf(url, sizeof(url), "%s://%s/explain", question.ca_file ? "https" : "http",
		 strncmp(question.http, unix_prefix, strlen(unix_prefix)) ? question.http : "mux");
	append(curl, url, "service", question.service);
	append(curl, url, "protocol", question.protocol);
	append(curl, url, "source", address[0]);
	append(curl, url, "sourcePort", port[0]);
	append(curl, url, "destination", address[1]);
	append(curl, url, "destinationPort", port[1]);
	status = ask(curl, url, &question, token, &body);
	explicit_bzero(token, sizeof(token));
	code = status ? print(&question, status, &body) : EXIT_UNREACHABLE;
	free(body.text);
	curl_easy_cleanup(curl);
	return code;
}
