// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.services;

/** Where in a QUIC connection id the backend's id stands: offset 0..19, length 1 or 2. */
public record QuicServerId(int offset, int length) {}
