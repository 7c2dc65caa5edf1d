// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.time.Instant;

/**
 * What a store knows of a node besides its bytes.
 *
 * @param revision of its last write, among all writes to the store
 * @param created by the store's clock, as {@code written}
 * @param isEphemeral whether it ends with the session that created it
 */
public record Stat(
    Version version,
    long revision,
    Instant created,
    Instant written,
    boolean isEphemeral,
    int children) {}
