// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum numbers {
	CONNECT_MS = 5000,
	REQUEST_MS = 20000,
	COMPRESS_FROM = 1024, /* bytes: shorter ones fit a packet anyhow */
	ANSWER_MAX = 64 << 20,
	FDS_MAX = 4,
};

struct exchange {
	const struct options *options;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	char *sent; /* the body of the request */
	char *body;
	size_t len, room;
	bool is_running, too_long;
	CURLcode code;
	char error[CURL_ERROR_SIZE];
};

struct exchange *exchange_new(const struct options *options)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		return NULL;
	exchange->options = options;
	exchange->multi = curl_multi_init();
	exchange->easy = curl_easy_init();
	if (exchange->multi && exchange->easy)
		return exchange;
	exchange_free(exchange);
	return NULL;
}

static void end(struct exchange *exchange)
{
	if (exchange->is_running)
		curl_multi_remove_handle(exchange->multi, exchange->easy);
	exchange->is_running = false;
	curl_slist_free_all(exchange->headers);
	exchange->headers = NULL;
	free(exchange->sent);
	exchange->sent = NULL;
}

void exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return;
	end(exchange);
	curl_easy_cleanup(exchange->easy);
	curl_multi_cleanup(exchange->multi);
	free(exchange->body);
	free(exchange);
}

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	size_t len = size * count;

	if (len > ANSWER_MAX - exchange->len) {
		exchange->too_long = true;
		return 0;
	}
	if (exchange->len + len > exchange->room) {
		size_t room = 2 * (exchange->len + len);
		char *grown = realloc(exchange->body, room);

		if (!grown)
			return 0;
		exchange->body = grown;
		exchange->room = room;
	}
	memcpy(exchange->body + exchange->len, data, len);
	exchange->len += len;
	return len;
}

static int add_header(struct exchange *exchange, const char *header)
{
	struct curl_slist *grown = curl_slist_append(exchange->headers, header);

	if (!grown)
		return -ENOMEM;
	exchange->headers = grown;
	return 0;
}

/* The token is read each time, so that it may be replaced. */
static int add_token(struct exchange *exchange)
{
	char token[OPTIONS_TOKEN_MAX], header[OPTIONS_TOKEN_MAX + 32];
	int err;

	if (!exchange->options->token_file)
		return 0;
	err = options_read_token(exchange->options->token_file, token);
	if (err)
		return err;
	snprintf(header, sizeof(header), "Authorization: Bearer %s", token);
	err = add_header(exchange, header);
	explicit_bzero(token, sizeof(token));
	explicit_bzero(header, sizeof(header));
	return err;
}

/* Compresses as gzip; NULL: no memory. */
static char *compress_body(const char *body, size_t len, size_t *compressed)
{
	z_stream stream = {0};
	char *out = NULL;

	/* 16: a gzip header in place of zlib's */
	if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	stream.next_in = (Bytef *)body;
	stream.avail_in = (uInt)len;
	stream.avail_out = (uInt)deflateBound(&stream, len);
	out = malloc(stream.avail_out);
	stream.next_out = (Bytef *)out;
	if (out && deflate(&stream, Z_FINISH) == Z_STREAM_END) {
		*compressed = stream.total_out;
	} else {
		free(out);
		out = NULL;
	}
	deflateEnd(&stream);
	return out;
}

static int set_body(struct exchange *exchange, const char *body)
{
	size_t len = strlen(body);
	int err = add_header(exchange, "Content-Type: application/json");

	if (!err)
		err = add_header(exchange, "Expect:");
	if (!err && len >= COMPRESS_FROM) {
		exchange->sent = compress_body(body, len, &len);
		err = add_header(exchange, "Content-Encoding: gzip");
	} else {
		exchange->sent = strdup(body);
	}
	if (err || !exchange->sent)
		return -ENOMEM;
	curl_easy_setopt(exchange->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	curl_easy_setopt(exchange->easy, CURLOPT_POSTFIELDS, exchange->sent);
	return 0;
}

static void set_options(struct exchange *exchange)
{
	const struct options *options = exchange->options;
	CURL *easy = exchange->easy;

	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)REQUEST_MS);
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead-server/" FAIRLEAD_VERSION);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->error);
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (options->ca_file)
		curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
	if (options->client_cert) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT, options->client_cert);
		curl_easy_setopt(easy, CURLOPT_SSLKEY, options->client_key);
	}
}

int exchange_begin(struct exchange *exchange, const char *controller, const char *path, const char *body)
{
	char url[512];
	int err;

	end(exchange);
	exchange->len = 0;
	exchange->too_long = false;
	exchange->error[0] = '\0';
	set_options(exchange);
	snprintf(url, sizeof(url), "%s%s", controller, path);
	curl_easy_setopt(exchange->easy, CURLOPT_URL, url);
	err = add_token(exchange);
	if (!err && body)
		err = set_body(exchange, body);
	if (!err) {
		curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers);
		err = curl_multi_add_handle(exchange->multi, exchange->easy) ? -ENOMEM : 0;
	}
	if (err) {
		end(exchange);
		return err;
	}
	exchange->is_running = true;
	return 0;
}

struct exchange_result exchange_result(struct exchange *exchange)
{
	struct exchange_result result = {EXCHANGE_RUNNING, 0, NULL, 0, NULL};
	CURLMsg *message;
	int left;

	curl_multi_perform(exchange->multi, &left);
	message = curl_multi_info_read(exchange->multi, &left);
	if (!message || message->msg != CURLMSG_DONE)
		return result;
	exchange->code = message->data.result;
	curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &result.status);
	end(exchange);
	result.state = exchange->code ? EXCHANGE_FAILED : EXCHANGE_DONE;
	result.body = exchange->body;
	result.len = exchange->len;
	if (exchange->too_long)
		result.error = "the answer is longer than 64 MiB";
	else
		result.error = exchange->error[0] ? exchange->error : curl_easy_strerror(exchange->code);
	return result;
}

void exchange_poll(struct exchange *exchange, const int *fds, unsigned count, int ms)
{
	struct curl_waitfd waits[FDS_MAX];
	unsigned used = 0;

	for (unsigned i = 0; i < count && used < FDS_MAX; i++)
		if (fds[i] >= 0)
			waits[used++] = (struct curl_waitfd){fds[i], CURL_WAIT_POLLIN, 0};
	curl_multi_poll(exchange->multi, waits, used, ms, NULL);
}
