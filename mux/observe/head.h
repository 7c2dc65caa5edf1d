/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request, from the bytes as they came: the one place that says what it must be like. A server that reads
 * it in another way than a proxy before it can be given a request that the proxy did not see. So it is a plain request of
 * HTTP/1.1 without a body, written in the one way that all read alike, or refused: each line ends in CR LF, there are no
 * other control characters, single spaces part the words of the first line, and no line continues another.
 *
 * First head_end() looks at the bytes as they come, each of them once. When it has found the end, head_parse() reads
 * the whole.
 */
#ifndef FAIRLEAD_MUX_HEAD_H
#define FAIRLEAD_MUX_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum head_limits {
	HEAD_MAX = 8192,
	HEAD_ARGUMENTS_MAX = 16,
};

enum head_fault {
	HEAD_OK = 0,
	HEAD_LENGTH,
	HEAD_BYTE,
	HEAD_LINE,
	HEAD_VERSION,
	HEAD_METHOD,
	HEAD_TARGET,
	HEAD_NAME,
	HEAD_HOST,
	HEAD_TWICE,
	HEAD_BODY, /* it announces one, or asks whether to send it */
	HEAD_FAULTS,
};

struct head {
	const char *method;
	const char *path; /* as it was sent, escapes too, without the arguments */
	unsigned count;
	struct head_argument {
		const char *name, *value; /* without escapes; value NULL: there is no '=' */
	} arguments[HEAD_ARGUMENTS_MAX];
	const char *host;          /* with its port, if it has one */
	const char *authorization; /* NULL: none */
};

/*
 * The length of the head with the empty line that ends it; 0: it goes on after len bytes; -fault: it is refused, however
 * it goes on. The bytes before `from` were looked at by an earlier call.
 */
ssize_t head_end(const char *bytes, size_t from, size_t len);

/* Reads the len bytes of a head, all of those that head_end() found, and changes them: out is made of parts of them. */
enum head_fault head_parse(char *bytes, size_t len, struct head *out);

/*
 * Whether Host is localhost or an address. A page whose own name now has an address of this host (DNS rebinding) sends
 * that name, and its browser lets it read the answer.
 */
bool head_host_is_address(const struct head *head);

/* The first argument with the name; NULL: there is none, or it has no value. */
const char *head_argument(const struct head *head, const char *name);

/* The words of a refusal, by enum head_fault. */
extern const struct head_refusal {
	const char *field, *allowed;
} head_refusals[HEAD_FAULTS];

#endif
