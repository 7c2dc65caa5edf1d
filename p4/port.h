/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline's ports as mux.p4 knows them: their numbers, and what every buffer that enters must have. SWX's own ports
 * tell a program neither a frame's length nor keep its parser within the frame; so whoever feeds the pipeline puts the
 * arrival header in front of each frame (README.md, "Ports"). The program's ports: program/ports.h.
 */
#ifndef FAIRLEAD_P4_PORT_H
#define FAIRLEAD_P4_PORT_H

enum p4_port_numbers {
	P4_PORT_WIRES = 4,     /* output ports 0 to 3; input ports likewise */
	P4_PORT_EXCEPTION = 4, /* output port of what arrived by wire port 0; the others follow */
	P4_PORT_DROP = 8,
	P4_PORTS_OUT = 9,

	P4_PORT_ARRIVAL_LEN = 8,
	P4_PORT_HEADROOM = 124, /* the longest outer header, over IPv6 with four candidates, less Ethernet */
	P4_PORT_READABLE = 128, /* from the frame's start: all headers that the parser may read */
};

#endif
