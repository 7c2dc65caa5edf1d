// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.explain;

/** A connection's 5-tuple; the destination is a VIP. */
public record Flow(
    String protocol, String source, int sourcePort, String destination, int destinationPort) {}
