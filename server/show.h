/* SPDX-License-Identifier: Apache-2.0 */
/* Prints an attached program: configuration, counters, generations. */
#ifndef FAIRLEAD_SHOW_H
#define FAIRLEAD_SHOW_H

#include "document.h"
#include "running.h"

/* running_check() must have returned 0. Returns 0, or a negative errno after printing a sentence. */
int show_print(const struct running *running, enum document_format format);

#endif
