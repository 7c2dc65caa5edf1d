/* SPDX-License-Identifier: Apache-2.0 */
/* Places of cells for the P4 mux: SWX has no products of 64 bits. */
#ifndef FAIRLEAD_P4_CELLS_H
#define FAIRLEAD_P4_CELLS_H

#include <stdint.h>

enum { P4_CELLS_LEN = 25 }; /* of cells_h of headers.p4 */

/* A cell's number in its set, A before B, by cells_h. */
uint32_t p4_cells(const void *input);

#endif
