/* SPDX-License-Identifier: Apache-2.0 */
/* The Beamer paper's own encapsulation (fairlead/ipip.h): IPv4 in IPv4, with an option of 16 bytes. */
#ifndef FAIRLEAD_MUX_IPIP_H
#define FAIRLEAD_MUX_IPIP_H

#include "encap/encap.h"

extern const struct encap encap_ipip;

#endif
