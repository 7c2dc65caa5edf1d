/* SPDX-License-Identifier: Apache-2.0 */
/* What the host must have for a configuration to work; found out before anything is attached. */
#ifndef FAIRLEAD_HOST_H
#define FAIRLEAD_HOST_H

#include "config.h"

/* Returns 0, or prints a sentence with the remedy and returns -EINVAL. */
int host_check(const struct config *config, const char *interface);

#endif
