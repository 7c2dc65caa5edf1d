/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to GET /peers: the other muxes as they are heard, and who is ahead of this one, service by service. */
#ifndef FAIRLEAD_MUX_PEERS_ANSWER_H
#define FAIRLEAD_MUX_PEERS_ANSWER_H

#include <jansson.h>

#include "observe/sources.h"

/* A new reference; NULL: no memory. */
json_t *peers_answer(const struct sources *from);

#endif
