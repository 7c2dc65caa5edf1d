/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a running program: configuration, counters, memory. */
#ifndef FAIRLEAD_SHOW_H
#define FAIRLEAD_SHOW_H

#include "document.h"
#include "running.h"

/* Of a server that running_check() has found usable. Returns 0, or a negative errno and a printed sentence. */
int show_print(const struct running *running, enum document_format format);

#endif
