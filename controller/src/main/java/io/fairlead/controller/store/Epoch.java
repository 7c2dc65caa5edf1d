// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

/**
 * One controller's time as leader: {@code number} is what the epoch node says, {@code version} the
 * node's version, which every write of that leader checks.
 */
public record Epoch(long number, int version) {}
