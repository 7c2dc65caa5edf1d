/* SPDX-License-Identifier: Apache-2.0 */
/* Groups in lanes (lanes_stages.h) whose packets differ: have several services, or left their lanes. Stage by stage. */
#ifndef FAIRLEAD_MUX_MIXED_H
#define FAIRLEAD_MUX_MIXED_H

#include "packet/lanes_stages.h"

/* Services of groups that have several. */
void mixed_find_services(struct burst *burst, struct lanes *lanes, uint32_t groups);

/* What is left of a group's head: packets that left their lanes, and buckets that lanes do not find. */
void mixed_complete_head(struct burst *burst, uint32_t first, struct lanes *lanes);

/* Reads the rows of a group some of whose packets left, or have a bucket that lanes do not find, and says whose are steady. */
void mixed_rows(struct burst *burst, uint32_t first, struct lanes *lanes);

#endif
