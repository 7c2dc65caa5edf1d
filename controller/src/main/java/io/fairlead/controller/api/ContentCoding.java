// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.api;

import io.vertx.ext.web.RoutingContext;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import java.util.zip.GZIPInputStream;

/** Takes a request's body out of its {@code Content-Encoding}. */
final class ContentCoding {
  private static final String HEADER = "Content-Encoding";

  private ContentCoding() {}

  /**
   * @param most bytes that the result may have; no more are ever taken out
   * @throws Problem.Found for another coding than gzip, a damaged body, or a longer one
   */
  static byte[] decode(RoutingContext context, int most) {
    byte[] sent =
        context.body().buffer() == null ? new byte[0] : context.body().buffer().getBytes();
    String coding = context.request().getHeader(HEADER);
    if (coding == null || coding.equalsIgnoreCase("identity")) {
      return sent;
    }
    if (!coding.equalsIgnoreCase("gzip")) {
      throw new Problem.Found(
          Problem.of(
              Problem.Kind.UNSUPPORTED_MEDIA_TYPE,
              HEADER,
              Optional.of(coding),
              "gzip, or no such header"));
    }
    return inflate(sent, most);
  }

  static byte[] inflate(byte[] sent, int most) {
    byte[] bytes;
    try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(sent))) {
      bytes = in.readNBytes(most + 1);
    } catch (IOException e) {
      throw new Problem.Found(
          Problem.of(
              Problem.Kind.INVALID,
              "body",
              Optional.of(sent.length + " bytes"),
              "a whole body compressed by gzip, as Content-Encoding says"));
    }
    if (bytes.length > most) {
      throw new Problem.Found(
          Problem.of(
              Problem.Kind.TOO_LARGE,
              "body",
              Optional.of("more than %d bytes before compression".formatted(most)),
              "at most %d bytes before compression".formatted(most)));
    }
    return bytes;
  }
}
