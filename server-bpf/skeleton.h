/* SPDX-License-Identifier: Apache-2.0 */
/* bpftool's skeleton of the program. It contains the program as one string, longer than C guarantees to support. */
#ifndef FAIRLEAD_SKELETON_H
#define FAIRLEAD_SKELETON_H

#include "server.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "server.skel.h"
#pragma GCC diagnostic pop

#endif
