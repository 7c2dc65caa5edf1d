/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Withdraws the VIPs of services whose packets this mux can't forward (sick.h); it still serves packets that arrive.
 * The other muxes are known from their hellos alone: a mux that hears none does not withdraw, as far as it knows no
 * other one is left. To them it says what a mux says that is behind (HELLO_BEHIND): it has a ring, does not announce it, and
 * counts among the muxes.
 */
#ifndef FAIRLEAD_MUX_SICK_WITHDRAWAL_H
#define FAIRLEAD_MUX_SICK_WITHDRAWAL_H

#include "control/service/service_sync.h"
#include "hello/hello.h"

struct sick_withdrawal {
	struct hello *hello;  /* NULL: none */
	enum ailment of_mux;  /* of all services */
	uint64_t deadline_ms; /* when sick_withdrawal_run() is due; UINT64_MAX: about once a second */
	unsigned seed;
};

/* The mux has this ailment, or AILMENT_NONE. Logs if that has changed; detail: what exactly, "": nothing more. */
void sick_withdrawal_of_mux(struct sick_withdrawal *withdrawal, enum ailment ailment, const char *detail);

/*
 * Decides about all services, before hellos are sent. True: a service was withdrawn or is back. A mux that asks has its
 * hellos sent at once. may_return: else none comes back, as a service may be about to be removed.
 */
bool sick_withdrawal_run(struct sick_withdrawal *withdrawal, struct service_sync *const *syncs, unsigned count,
			 bool may_return, uint64_t now_ms);

/* After hellos were sent: has them sent again soon while it asks. */
void sick_withdrawal_repeat(const struct sick_withdrawal *withdrawal, uint64_t now_ms);

#endif
