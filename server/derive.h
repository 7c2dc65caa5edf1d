/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead-server keys`: the keys of one server, from the cluster's. */
#ifndef FAIRLEAD_DERIVE_H
#define FAIRLEAD_DERIVE_H

#include "arguments.h"

/* Prints the file. Returns 0, or a negative errno after printing a sentence. */
int derive_print(const struct arguments *arguments);

#endif
