// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store;

import java.util.Optional;

/** What a write leaves in ZooKeeper besides itself, in the same step: see {@link Journal}. */
public record Note(AuditEntry entry, Optional<KeptAnswer> kept) {
  /**
   * Most bytes of an answer: it has to fit into one request to ZooKeeper together with its write.
   */
  public static final int ANSWER_MAX = 64 * 1024;

  /**
   * The answer to a request that clients may repeat.
   *
   * @param key 64 hex digits
   * @param digest of the request
   */
  public record KeptAnswer(String key, String digest, byte[] answer) {
    public KeptAnswer {
      if (!key.matches("[0-9a-f]{64}")) {
        throw new IllegalArgumentException("key '%s'; allowed: 64 hex digits".formatted(key));
      }
      if (answer.length > ANSWER_MAX) {
        throw new IllegalArgumentException(
            "an answer of %d bytes; allowed: at most %d".formatted(answer.length, ANSWER_MAX));
      }
    }
  }
}
