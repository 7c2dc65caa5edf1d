// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.core.ring.Address;
import java.util.Optional;
import java.util.Set;

/**
 * Who sends on behalf of a server.
 *
 * @param name of the token or the certificate
 * @param addresses of the server; empty without authentication, where every caller may speak for
 *     every server
 */
public record Sender(String name, Optional<Set<Address>> addresses) {}
