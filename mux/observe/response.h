/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request is answered with: a text, or a stream of unknown length. A refusal is a problem document (RFC 9457) that
 * names the field, its value and what is allowed.
 */
#ifndef FAIRLEAD_MUX_RESPONSE_H
#define FAIRLEAD_MUX_RESPONSE_H

#include <stddef.h>
#include <sys/types.h>

#include <jansson.h>

enum response_status {
	RESPONSE_OK = 200,
	RESPONSE_INVALID = 400,
	RESPONSE_UNAUTHORIZED = 401,
	RESPONSE_FORBIDDEN = 403,
	RESPONSE_NOT_FOUND = 404,
	RESPONSE_METHOD = 405,
	RESPONSE_CONFLICT = 409,
	RESPONSE_UNAVAILABLE = 503,
};

enum response_limits { RESPONSE_HEAD_MAX = 512 };

struct response_stream {
	/* Writes up to max bytes. Returns how many, 0: none yet, -1: it has ended. */
	ssize_t (*read)(void *context, char *out, size_t max); /* NULL: no stream */
	void (*end)(void *context);                            /* called once, also if the client has gone */
	void *context;
	unsigned seconds; /* how long it may take */
};

/* Without text and stream there was no memory: the connection is closed. */
struct response {
	enum response_status status;
	const char *type;
	const char *header; /* another one, with its CR LF; NULL: none */
	char *text;         /* malloc'ed */
	size_t len;
	struct response_stream stream;
};

/* Takes json; NULL: no memory. type is kept. */
void response_json(struct response *response, enum response_status status, const char *type, json_t *json);

/* value NULL: it is missing. */
void response_problem(struct response *response, enum response_status status, const char *field, const char *value,
		      const char *allowed);

/* A refusal that repeats nothing of the request. header as in struct response. */
void response_unauthorized(struct response *response, const char *detail, const char *header);

/* Its head, which says that the connection is closed after it; returns the length. */
size_t response_head(const struct response *response, char out[RESPONSE_HEAD_MAX]);

/* Frees the text and ends the stream. */
void response_clear(struct response *response);

#endif
