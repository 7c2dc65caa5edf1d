/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which servers are told of a service's generations (tell/teller.h): all backends of the ring, and of a snapshot that is
 * to replace it, except dead ones and addresses that are no server's. Removed ones are among them, as long as the ring
 * has them: they may have connections.
 */
#ifndef MUX_TELLING_H
#define MUX_TELLING_H

#include <stdbool.h>
#include <stdint.h>

struct delta;
struct ring;
struct service_config;
struct teller;

/*
 * Tells the service's servers this generation. ring: the one that is served, change: the delta or the image that is to be
 * published next; either may be NULL. If there is no memory for a list of servers, the list of the last call is used.
 * teller: NULL does nothing.
 */
void telling_begin(struct teller *teller, const struct service_config *config, const struct ring *ring,
		   const struct delta *change, uint32_t generation);

/* Whether the generation, of which they are told, may be applied. */
bool telling_is_done(struct teller *teller, const struct service_config *config, uint32_t generation);

/* The service is removed. */
void telling_end(struct teller *teller, const struct service_config *config);

#endif
