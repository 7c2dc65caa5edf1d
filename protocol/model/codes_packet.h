/* SPDX-License-Identifier: Apache-2.0 */
/* What muxes send in codes.h, and what servers make of it. */
#ifndef FAIRLEAD_MODEL_CODES_PACKET_H
#define FAIRLEAD_MODEL_CODES_PACKET_H

#include "codes.h"

/* A packet of the connection comes by the mux; the first one opens it. */
enum world_result codes_packet(const struct codes_setting *setting, struct codes *codes, uint8_t mux);

/* Another client's SYN in the bucket. */
void codes_other(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t mux);

/* A server reads the notice of a generation; all that are told it do. */
void codes_read(const struct codes_setting *setting, struct codes *codes, uint8_t g, uint8_t server);
void codes_tell_of(const struct codes_setting *setting, struct codes *codes, uint8_t g);

/* Whether the server knows what the generation's notice tells. */
bool codes_is_told(const struct codes *codes, uint8_t g, uint8_t server);

#endif
