// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.agents;

import io.fairlead.controller.resources.agents.AgentReports.Place;
import io.fairlead.controller.resources.plane.Refusal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Where agents' reports of single connections go (protocol/README.md §11). Thread-safe; no call
 * waits for the event thread of a service.
 */
public interface ConnectionReports {
  /** No service asks for connections. */
  ConnectionReports NONE =
      new ConnectionReports() {
        @Override
        public boolean asks(String service) {
          return false;
        }

        @Override
        public Optional<Report.Remembered> accept(Place place, Optional<Changes> changes) {
          return Optional.empty();
        }

        @Override
        public OptionalInt nextSeconds(String service) {
          return OptionalInt.empty();
        }
      };

  /** Whether the service wants to know connections one by one. */
  boolean asks(String service);

  /**
   * Takes in what a server reports of its connections, if anything.
   *
   * @return what the server is answered; empty if the service does not ask
   */
  Optional<Report.Remembered> accept(Place place, Optional<Changes> changes);

  /** When servers of the service should report again, at the latest. */
  OptionalInt nextSeconds(String service);

  /** {@link Report.Connections}, decoded. What was closed comes before what was opened. */
  record Changes(
      String memory,
      String mark,
      boolean whole,
      boolean first,
      boolean last,
      long[] opened,
      long[] closed) {
    /** Most flow hashes of one list. */
    public static final int LISTED_MAX = 262_144;

    /**
     * @param field for the refusal
     */
    static Changes of(String field, Report.Connections report) {
      return new Changes(
          report.memory(),
          report.mark(),
          report.whole(),
          report.first(),
          report.last(),
          hashes(field + ".opened", report.opened()),
          hashes(field + ".closed", report.closed()));
    }

    private static long[] hashes(String field, String text) {
      byte[] bytes;
      try {
        bytes = Base64.getDecoder().decode(text);
      } catch (IllegalArgumentException e) {
        throw refused(field, "%d characters (base64)".formatted(text.length()));
      }
      // the decoder takes text without padding, and bits behind the last byte
      if (!Base64.getEncoder().encodeToString(bytes).equals(text)
          || bytes.length % Long.BYTES != 0
          || bytes.length / Long.BYTES > LISTED_MAX) {
        throw refused(field, "%d bytes".formatted(bytes.length));
      }
      long[] hashes = new long[bytes.length / Long.BYTES];
      ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(hashes);
      return hashes;
    }

    private static Refusal refused(String field, String value) {
      return Refusal.invalid(
          field, value, "base64 of at most %d flow hashes of 8 bytes each".formatted(LISTED_MAX));
    }
  }
}
