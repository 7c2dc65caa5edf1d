/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller of codes.h decides, by the newest generation. */
#ifndef FAIRLEAD_MODEL_CODES_KEEPER_H
#define FAIRLEAD_MODEL_CODES_KEEPER_H

#include "codes.h"

/* Whether the connection is known, and new arrays would lead to its server. */
bool codes_is_fixable(const struct codes_setting *setting, const struct codes *codes);

/* Whether the bucket may move to the server. */
bool codes_may_move(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket, uint8_t to);

/* The rule for new arrays, and for dropping those before the newest; whether new ones may give the connection a code. */
bool codes_may_commit(const struct codes_setting *setting, const struct codes *codes);
bool codes_may_drop(const struct codes_setting *setting, const struct codes *codes);
bool codes_may_code(const struct codes_setting *setting, const struct codes *codes, uint8_t code);

/* The bucket that is kept for the connection's server, which owns none; PAIR_BUCKETS: none is. */
uint8_t codes_kept(const struct codes_setting *setting, const struct codes *codes);

/* Whether a bucket's move may be renewed now, and whether it has to be before a tick passes. */
bool codes_may_renew(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket);
bool codes_must_renew(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket);

/* Whether the leader believes the connection's server that it has it. */
bool codes_is_plausible(const struct codes *codes);

/* The latest owner of the bucket's line that is neither dead nor this one; WORLD_NONE: there is none. */
uint8_t codes_owner_before(const struct codes_setting *setting, const struct codes *codes, uint8_t bucket,
			   uint8_t owner);

/* The bucket's earlier owners once its row gets this previous owner; called before it does. */
void codes_line_change(const struct codes_setting *setting, struct codes *codes, uint8_t bucket, uint8_t previous);

/* Forgets what is not in reach any more. */
void codes_line_forget(const struct codes_setting *setting, struct codes *codes);

#endif
