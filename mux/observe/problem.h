/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a refusal: a problem document (RFC 9457) that names the field, its value and what is allowed. */
#ifndef FAIRLEAD_MUX_PROBLEM_H
#define FAIRLEAD_MUX_PROBLEM_H

#define PROBLEM_TYPE "application/problem+json"

/* malloc'ed; NULL: no memory. value NULL: it is missing. */
char *problem_text(unsigned status, const char *field, const char *value, const char *allowed);

#endif
