/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster's key for tagging packets to servers (fairlead/tag.h). */
#ifndef FAIRLEAD_MUX_TAG_KEY_H
#define FAIRLEAD_MUX_TAG_KEY_H

#include <fairlead/hash.h>

#include "config/reason.h"

/*
 * Reads a file of 32 hex digits that only its owner may read, as fairlead-server does. Returns -EINVAL and why on
 * failure; name is the option's, and why never contains the key.
 */
int tag_key_read(const char *name, const char *path, struct fl_siphash_key *out, struct reason *why);

#endif
