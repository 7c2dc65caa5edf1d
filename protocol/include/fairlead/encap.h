/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The encapsulations between muxes and servers: the list that all parts in C build their tables from.
 *
 *	ENCAP(NAME, word)	word: of the configuration, of file names, and of functions' names
 *
 *	mux		mux/encap/<word>.c, a struct encap
 *	module		kernel-module/<word>.c, a struct fl_encap
 *	XDP program	server-bpf/<word>.bpf.h, included by encap.bpf.h
 *
 * Each ENCAP is a line of its own, since the builds of the mux and the module read here which files to compile.
 */
#ifndef FAIRLEAD_ENCAP_H
#define FAIRLEAD_ENCAP_H

/* clang-format off */

/* What the XDP program receives. */
#define FL_ENCAPS_OF_XDP(ENCAP)                                                                                        \
	ENCAP(GUE, gue)                                                                                                 \
	ENCAP(SRV6, srv6)

/* All: what muxes send, and the module receives. */
#define FL_ENCAPS(ENCAP)                                                                                               \
	FL_ENCAPS_OF_XDP(ENCAP)                                                                                         \
	ENCAP(IPIP, ipip)

/* clang-format on */

#define FL_ENCAP_NUMBER(NAME, word) FL_ENCAP_##NAME,

enum fl_encap_number {
	FL_ENCAPS(FL_ENCAP_NUMBER) FL_ENCAPS_COUNT,
};

#undef FL_ENCAP_NUMBER

#endif
