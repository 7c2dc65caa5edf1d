// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import com.google.common.hash.Hashing;
import io.fairlead.controller.resources.plane.Precondition;
import io.vertx.core.buffer.Buffer;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Entity tags and the headers that carry them (RFC 9110, sections 8.8.3 and 13.1). */
final class EntityTags {
  private static final Pattern TAG = Pattern.compile("(W/)?\"([!#-~]*)\"");
  private static final int TAG_DIGITS = 24;

  private EntityTags() {}

  static String quote(String version) {
    return '"' + version + '"';
  }

  /** For what has no version of its own: the same bytes, the same tag. */
  static String of(Buffer body) {
    String digest = Hashing.sha256().hashBytes(body.getBytes()).toString();
    return digest.substring(0, TAG_DIGITS);
  }

  /**
   * The versions that an {@code If-Match} names. A weak tag never matches there, so it is kept in
   * its quoted form, which equals no version.
   */
  static Set<String> strong(String header) {
    Set<String> versions = new HashSet<>();
    if (header.strip().equals("*")) {
      versions.add(Precondition.ANY_VERSION);
    }
    Matcher tags = TAG.matcher(header);
    while (tags.find()) {
      versions.add(tags.group(1) == null ? tags.group(2) : tags.group());
    }
    return versions;
  }

  /** Whether an {@code If-None-Match} names {@code version}: weak comparison. */
  static boolean matches(String header, String version) {
    if (header.strip().equals("*")) {
      return true;
    }
    Matcher tags = TAG.matcher(header);
    while (tags.find()) {
      if (tags.group(2).equals(version)) {
        return true;
      }
    }
    return false;
  }
}
