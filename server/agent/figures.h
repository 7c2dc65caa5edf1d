/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How busy a server is, from what programs say about themselves. Each function returns true and a number, or false and in
 * `why` a sentence that names what was said and what is allowed.
 */
#ifndef FAIRLEAD_AGENT_FIGURES_H
#define FAIRLEAD_AGENT_FIGURES_H

#include <stddef.h>

#include <fairlead/types.h>

enum {
	FIGURES_WHY_MAX = 300,
	FIGURES_MAX = 1000000000, /* more is no number of requests */
};

/* nginx's stub_status: the connections whose request is read or answered, without the one that asks. */
bool figures_nginx(const char *text, size_t len, fl_u32 *busy, char why[FIGURES_WHY_MAX]);

/*
 * Apache's server-status?auto: the workers that read a request (R), answer it (W), look a name up (D), log (L) or finish
 * before they end (G), without the one that asks. Not those that wait on a connection that is kept (K) or closed (C).
 */
bool figures_apache(const char *text, size_t len, fl_u32 *busy, char why[FIGURES_WHY_MAX]);

/* /proc/pressure/cpu: microseconds since the start in which a task waited for a processor ("some"). */
bool figures_pressure(const char *text, size_t len, fl_u64 *microseconds, char why[FIGURES_WHY_MAX]);

/* A line of a command, without its end: a number from 0 to FIGURES_MAX. */
bool figures_line(const char *text, size_t len, fl_u32 *busy, char why[FIGURES_WHY_MAX]);

#endif
