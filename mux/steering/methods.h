/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All steering methods, in the order of their numbers. METHOD(name) is a line of its own, since meson.build reads this
 * list too. The folder <name>/ has the method's struct steering, steering_<name>, and a meson.build that adds the
 * method's sources and tests.
 */
#ifndef FAIRLEAD_MUX_METHODS_H
#define FAIRLEAD_MUX_METHODS_H

/* clang-format off */
#define STEERING_METHODS(METHOD)                                                                                       \
	METHOD(ring)                                                                                                    \
	METHOD(othello)                                                                                                 \
	METHOD(hunt)                                                                                                    \
	METHOD(maat)
/* clang-format on */

#endif
