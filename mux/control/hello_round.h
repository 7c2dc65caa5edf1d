/* SPDX-License-Identifier: Apache-2.0 */
/* What this mux tells the others about its services, once a second (hello.h). */
#ifndef MUX_HELLO_ROUND_H
#define MUX_HELLO_ROUND_H

#include "control/service_sync.h"
#include "hello/hello.h"

/* Sends the hellos that are due, none if hello is NULL. Services without a ring are left out. */
void hello_round_run(struct hello *hello, struct service_sync *const *syncs, unsigned count, uint64_t now_ms);

#endif
