// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>

#include "refusal.h"

int refusal_print(const char *field, const char *value, const char *allowed)
{
	fprintf(stderr, "fairlead-server: %s: '%s' is not allowed; allowed: %s\n", field, value, allowed);
	return -EINVAL;
}
