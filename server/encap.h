/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The encapsulations in which servers receive packets: the one list that both forms build their tables from.
 *
 *	ENCAP(NAME, word)	word: of the configuration, of file names, and the prefix of functions
 *
 *	XDP program	<word>.bpf.h, dispatched by encap.bpf.h
 *	module		<word>.c, a struct fl_encap (receive.h)
 */
#ifndef FAIRLEAD_SERVER_ENCAP_H
#define FAIRLEAD_SERVER_ENCAP_H

/* What both forms receive, and what the module receives. */
#define FL_ENCAPS_OF_BOTH(ENCAP)   ENCAP(GUE, gue)
#define FL_ENCAPS_OF_MODULE(ENCAP) FL_ENCAPS_OF_BOTH(ENCAP) ENCAP(IPIP, ipip)

#define FL_ENCAP_NUMBER(NAME, word) FL_ENCAP_##NAME,

enum fl_encap_number {
	FL_ENCAPS_OF_MODULE(FL_ENCAP_NUMBER) FL_ENCAPS,
};

#undef FL_ENCAP_NUMBER

#endif
