/* SPDX-License-Identifier: Apache-2.0 */
/* The format of every refusal: the field, its value, what is allowed. */
#ifndef FAIRLEAD_REFUSAL_H
#define FAIRLEAD_REFUSAL_H

/* Prints it, and returns -EINVAL. */
int refusal_print(const char *field, const char *value, const char *allowed);

#endif
