// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.explain;

import java.util.Optional;

/**
 * Where a packet of a flow goes. {@code hash} is the 32-bit flow hash, {@code bucket} absent where
 * the port names the backend ({@link MptcpPorts}), {@code previous} the owner before the last move,
 * {@code moved} whether the window since {@code since} (Unix seconds, 0 for never) is still open.
 */
public record Explanation(
    String service,
    long hash,
    Optional<Integer> bucket,
    Optional<Owner> current,
    Optional<Owner> previous,
    long since,
    boolean moved,
    long generation) {}
