/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of a ring on its way to the latest generation (arrays_sync.h builds them): which of its generations must
 * wait for them, and what is published with each. For methods without arrays nothing waits. Nor does a generation
 * whose arrays were written ahead of it and have been read by then.
 */
#ifndef FAIRLEAD_MUX_RING_ARRAYS_H
#define FAIRLEAD_MUX_RING_ARRAYS_H

#include "control/service/ring_sync.h"

/* The newest ones, which no ring of an earlier generation can be published with; 0: there are none. */
uint32_t ring_arrays_newest(const struct ring_sync *sync);
/* Whether arrays must be read before their generation can be published. */
bool ring_arrays_lack(struct ring_sync *sync);
/* Whether a ring of this generation could be published with its arrays. */
bool ring_arrays_are_there(struct ring_sync *sync, uint32_t generation);
/* Whether deltas alone lead on: there are no arrays between those of the published ring and the newest. */
bool ring_arrays_lead_on(const struct ring_sync *sync);

/* What is published with this generation; NULL: no arrays. */
const struct arrays_set *ring_arrays_at(const struct ring_sync *sync, uint32_t generation);
/* The same; NULL: none, or those that are published already. */
const struct arrays_set *ring_arrays_new_at(const struct ring_sync *sync, uint32_t generation);

/* latest_arrays was read; NULL: only latest_gen was. False: it can't be used, or is being read now. */
bool ring_arrays_list(struct ring_sync *sync, const struct tree_reply *reply);
/* Reads the next node. */
void ring_arrays_read(struct ring_sync *sync);
/* READ_ARRAYS or READ_ARRAYS_PATCH was answered. Returns whether the ring may go on. */
bool ring_arrays_answer(struct ring_sync *sync, const struct service_answer *answer);
/* Reads what was written ahead, if anything; deltas are applied meanwhile. */
void ring_arrays_read_ahead(struct ring_sync *sync);
/* READ_AHEAD or READ_AHEAD_PATCH was answered. */
void ring_arrays_answer_ahead(struct ring_sync *sync, const struct service_answer *answer);
/* Takes arrays that were checked aside. Returns whether the ring may go on. */
bool ring_arrays_poll(struct ring_sync *sync);
/* Nothing is known any more. */
void ring_arrays_forget(struct ring_sync *sync);

#endif
