/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a service's published ring gets to the latest generation: what is read next, what is applied, loaded or refused
 * (sync_state.h has the diagram). service_sync.h follows the configuration and the numbers, and drives it.
 */
#ifndef FAIRLEAD_MUX_RING_STEPS_H
#define FAIRLEAD_MUX_RING_STEPS_H

#include "control/service/ring_sync.h"

/* A configuration was accepted. */
void ring_steps_configure(struct ring_sync *sync, const struct service_config *config);
/* latest_gen was read: its number, and latest_arrays; NULL: it was not read. */
void ring_steps_latest(struct ring_sync *sync, uint32_t latest, const struct tree_reply *list);

/* After each event: takes arrays that were checked aside, and applies what servers have been told. */
void ring_steps_poll(struct ring_sync *sync);
/* What the mux needs has changed: serves no VIP that it needs itself, until a retry finds that it does not any more. */
void ring_steps_guard(struct ring_sync *sync);
/* latest_gen has changed: reads it and, since it usually moves by one, the next delta along with it. */
void ring_steps_read_changed(struct ring_sync *sync);
/* An answer to what it reads: READ_SNAPSHOT_NUMBER and what is below a generation. */
void ring_steps_answer(struct ring_sync *sync, const struct service_answer *answer);
/* The service is deleted: everything but counters and an outstanding read is as at the beginning. */
void ring_steps_forget(struct ring_sync *sync);
/* Frees what it has but the published ring and arrays. */
void ring_steps_drop(struct ring_sync *sync);

#endif
