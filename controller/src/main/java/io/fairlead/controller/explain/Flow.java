// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.explain;

public record Flow(
    String protocol, String source, int sourcePort, String destination, int destinationPort) {}
