/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What results in a row say of one endpoint of a backend.
 *
 *	unknown  --rise successes-->  up  --fall failures-->  down  --rise successes-->  up
 *	unknown  --fall failures-->  down
 *
 * A probe that could not be made (no source port, the program was stopped) is no result and changes nothing.
 */
#ifndef FAIRLEAD_PROBE_JUDGE_H
#define FAIRLEAD_PROBE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, word, whether something came back from the server) */
#define OUTCOMES(X)                                                                                                    \
	X(OK, "ok", true)                   /* as expected */                                                          \
	X(TIMEOUT, "timeout", false)        /* nothing came back in time */                                            \
	X(UNROUTABLE, "unroutable", false)  /* this host has no route to the server */                                 \
	X(REFUSED, "refused", true)         /* by a RST, or port unreachable */                                        \
	X(UNREACHABLE, "unreachable", true) /* another ICMP error */                                                   \
	X(NO_ANSWER, "no_answer", true)     /* connected, but no whole answer in time */                               \
	X(CLOSED, "closed", true)           /* before a whole answer */                                                \
	X(MALFORMED, "malformed", true)     /* no HTTP */                                                              \
	X(STATUS, "status", true)           /* another HTTP status */                                                  \
	X(BODY, "body", true)               /* without what is expected */                                             \
	X(TLS, "tls", true)                 /* handshake or certificate */                                             \
	X(ANSWER, "answer", true)           /* of UDP, without what is expected */                                     \
	X(COMMAND, "command", true)         /* ended with another code than 0 */

enum outcome {
#define OUTCOME_ENTRY(NAME, word, answered) OUTCOME_##NAME,
	OUTCOMES(OUTCOME_ENTRY)
#undef OUTCOME_ENTRY
	    OUTCOMES_COUNT
};

enum health {
	HEALTH_UNKNOWN,
	HEALTH_UP,
	HEALTH_DOWN,
};

/* All zero: unknown. */
struct judge {
	uint8_t health;  /* enum health */
	uint8_t outcome; /* enum outcome; if down: of the latest failure */
	uint8_t streak;  /* results in a row against what health says */
	bool last_ok;    /* the latest result, if there is one in the streak */
};

/* The outcome's word in protocol/README.md, 13. */
const char *outcome_name(enum outcome outcome);
/* Whether anything came back from the server. */
bool outcome_is_answer(enum outcome outcome);

/* Takes a result; returns whether health changed, or the outcome of what is down. rise and fall: at least 1. */
bool judge_take(struct judge *judge, enum outcome outcome, uint32_t rise, uint32_t fall);

#endif
