/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the answer to a GET by HTTP/1.x (RFC 9112) as its bytes come, in any pieces: its status, and its body without
 * chunks' framing. Interim answers (1xx) before it are skipped.
 *
 *	status line --> headers --> body: none | by length | until the connection ends | chunks, trailer --> done
 */
#ifndef FAIRLEAD_PROBE_ANSWER_H
#define FAIRLEAD_PROBE_ANSWER_H

#include <stdint.h>

#include "body.h"

enum answer_limits {
	ANSWER_LINE_MAX = 256,   /* of a line, that is kept; longer ones are read, too */
	ANSWER_HEAD_MAX = 65536, /* bytes of all lines: heads, chunks' sizes, trailer */
};

enum answer_state {
	ANSWER_STATUS,
	ANSWER_HEADERS,
	ANSWER_LENGTH, /* a body of `left` more bytes */
	ANSWER_UNTIL_END,
	ANSWER_CHUNK_SIZE,
	ANSWER_CHUNK, /* of `left` more bytes */
	ANSWER_CHUNK_END,
	ANSWER_TRAILER,
	ANSWER_DONE, /* also if the body is longer than what is looked at */
	ANSWER_MALFORMED,
};

struct answer {
	enum answer_state state;
	unsigned status;
	bool has_length, is_chunked;
	uint64_t left;     /* of the body or a chunk */
	uint32_t head_len; /* bytes of all lines so far */
	uint32_t line_len; /* of the line that has begun, as far as it is kept */
	char line[ANSWER_LINE_MAX];
	struct body body;
};

/* Takes the next bytes. Nothing more is read once the state is ANSWER_DONE or ANSWER_MALFORMED. */
void answer_take(struct answer *answer, const char *data, size_t len);

/* The connection has ended. The state is ANSWER_DONE then, or the answer was not whole. */
void answer_end(struct answer *answer);

#endif
