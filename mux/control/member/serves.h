/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of mux can serve, as its node says (protocol/README.md section 4): controllers warn of the rest. */
#ifndef FAIRLEAD_MUX_SERVES_H
#define FAIRLEAD_MUX_SERVES_H

#include <stdint.h>

/* What is NULL or 0 the kind does not restrict. */
struct mux_serves {
	const char *const *encap;    /* words, ended by NULL */
	const char *const *steering; /* likewise */
	uint32_t buckets;            /* of one service, at most */
};

#endif
