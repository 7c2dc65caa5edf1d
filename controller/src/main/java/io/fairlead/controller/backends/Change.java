// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.backends;

/** One change of a service's pool. Weights are 0..65535; addresses are IPv4 or IPv6 literals. */
public sealed interface Change {
  int id();

  record Add(int id, String address, int weight) implements Change {}

  record Weight(int id, int weight) implements Change {}

  record Remove(int id) implements Change {}
}
