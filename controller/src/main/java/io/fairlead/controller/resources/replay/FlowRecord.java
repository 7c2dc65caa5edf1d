// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.replay;

import io.fairlead.controller.core.ring.Address;

/**
 * What a file says of a connection at one place: a sampled packet, or a record of an exporter. A
 * connection may have many.
 *
 * @param protocol as in IP: 6 is TCP, 17 UDP
 * @param start Unix milliseconds of its first packet
 * @param end of its last one
 * @param begun whether it began with that first packet: a SYN, or as the exporter says
 * @param ended whether it is over then, by a FIN or RST or by what the exporter says
 * @param bucket that a mux recorded, -1 if none did
 * @param second the other one that it recorded, -1 if none
 */
public record FlowRecord(
    int protocol,
    Address source,
    int sourcePort,
    Address destination,
    int destinationPort,
    long start,
    long end,
    long packets,
    long bytes,
    boolean begun,
    boolean ended,
    int bucket,
    int second) {
  public static final int TCP = 6;
  public static final int UDP = 17;

  /** None. */
  public static final int NONE = -1;

  /** Takes records as they are read. */
  @FunctionalInterface
  public interface Sink {
    void take(FlowRecord flow);
  }
}
