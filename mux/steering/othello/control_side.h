/* SPDX-License-Identifier: Apache-2.0 */
/* What the control side does with the arrays of `othello`: steering.arrays. */
#ifndef FAIRLEAD_MUX_OTHELLO_CONTROL_SIDE_H
#define FAIRLEAD_MUX_OTHELLO_CONTROL_SIDE_H

#include "steering/steering.h"

extern const struct steering_arrays othello_control_side;

#endif
