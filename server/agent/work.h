/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections in work: those that have received something, with nothing sent since. So a request is work from its first
 * byte to the first byte of its answer, also while the connection waits to be accepted. By an eBPF program (work.bpf.c),
 * which is exact for protocols of requests and answers; else by sock_diag, which takes a request for answered if it came
 * within the same tick of the kernel's clock as the answer before it.
 */
#ifndef FAIRLEAD_AGENT_WORK_H
#define FAIRLEAD_AGENT_WORK_H

#include "services.h"

struct work;

/* NULL: no memory, or sockets cannot be listed at all. with_program false: by sock_diag. */
struct work *work_open(bool with_program);
void work_close(struct work *work);

/* Why there is no program; NULL: there is one. */
const char *work_why(const struct work *work);

/* Other services than before. */
void work_serve(struct work *work, const struct services *services);

/* Counts the connections in work of each service. Returns 0 or a negative errno. */
int work_read(struct work *work, const struct services *services, fl_u64 now_ns, fl_u32 *counts);

#endif
