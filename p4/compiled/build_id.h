/* SPDX-License-Identifier: Apache-2.0 */
/* Which build of DPDK's pipeline library this is (compiled.h). */
#ifndef FAIRLEAD_P4_COMPILED_BUILD_ID_H
#define FAIRLEAD_P4_COMPILED_BUILD_ID_H

enum { BUILD_ID_MAX = 129 }; /* hex digits and the end */

/* Of DPDK's pipeline library in this process; empty: it has none. */
void build_id_read(char out[BUILD_ID_MAX]);

#endif
