/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the pipelines in step with what the mux serves: the control thread tells it of each change (service/tables.h),
 * and it writes the rings' copies (copies.h), what steering maat has (orders.h) and the tables' entries (entries.h).
 *
 * A service is offered to packets once its ring's copy is there. One that has no copy, since registers are full, is not
 * offered: its packets are left to the usual path, and the log says so.
 */
#ifndef FAIRLEAD_P4_MIRROR_H
#define FAIRLEAD_P4_MIRROR_H

#include "control/member/serves.h"
#include "cores.h"
#include "threads/control_thread.h"

struct mirror;

/* What it takes, if there is room. */
extern const struct mux_serves mirror_serves;

/* Follows the mux's tables from now on; no service may be there yet. NULL and why. */
struct mirror *mirror_new(struct cores *cores, const struct mux *mux, struct reason *why);

/* The mux's tables are not changed any more. */
void mirror_free(struct mirror *mirror);

/* Any thread: the slot of the counters of a service that is offered, by its id; MIRROR_SLOT_NONE: none. */
enum { MIRROR_SLOT_NONE = 0xffff };
uint16_t mirror_slot(const struct mirror *mirror, uint16_t service);

/* Any thread: whether a service that is offered has steering maat, by its id. */
bool mirror_is_ordered(const struct mirror *mirror, uint16_t service);

#endif
