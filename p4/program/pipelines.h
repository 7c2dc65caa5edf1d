/* SPDX-License-Identifier: Apache-2.0 */
/* The front of a P4 mux's workers (threads/front.h): each lets its packets through a pipeline of its own. */
#ifndef FAIRLEAD_P4_PIPELINES_H
#define FAIRLEAD_P4_PIPELINES_H

#include "threads/control_thread.h"
#include "threads/front.h"

/* As mux_kind.open and close (threads/program.h). */
int pipelines_open(struct front **out, const struct mux *mux, struct reason *why);
void pipelines_close(struct front *front);

#endif
