// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.RoutingContext;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import java.util.zip.GZIPInputStream;

/** Takes a request's body out of its {@code Content-Encoding}. */
final class ContentCoding {
  private static final String HEADER = "Content-Encoding";

  private ContentCoding() {}

  /**
   * The body as its sender wrote it; reading it throws {@link Problem.Found} if it is damaged, or
   * longer than {@code most} bytes, of which no more are ever taken out.
   *
   * @throws Problem.Found for another coding than gzip
   */
  static InputStream open(RoutingContext context, int most) {
    Buffer body = context.body().buffer();
    byte[] sent = body == null ? new byte[0] : body.getBytes();
    String coding = context.request().getHeader(HEADER);
    if (coding == null || coding.equalsIgnoreCase("identity")) {
      return new ByteArrayInputStream(sent);
    }
    if (!coding.equalsIgnoreCase("gzip")) {
      throw new Problem.Found(
          Problem.of(
              Problem.Kind.UNSUPPORTED_MEDIA_TYPE,
              HEADER,
              Optional.of(coding),
              "gzip, or no such header"));
    }
    try {
      return new Inflated(new GZIPInputStream(new ByteArrayInputStream(sent)), most);
    } catch (IOException e) {
      throw damaged();
    }
  }

  private static Problem.Found damaged() {
    return new Problem.Found(
        Problem.of(
            Problem.Kind.INVALID,
            "body",
            Optional.of("what is no whole gzip"),
            "a whole body compressed by gzip, as Content-Encoding says"));
  }

  private static final class Inflated extends FilterInputStream {
    private final int most;
    private long count;

    Inflated(InputStream in, int most) {
      super(in);
      this.most = most;
    }

    @Override
    public int read() {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] to, int offset, int length) {
      int read;
      try {
        read = in.read(to, offset, length);
      } catch (IOException | StackOverflowError e) { // GZIPInputStream recurses per empty member
        throw damaged();
      }
      count += Math.max(read, 0);
      if (count > most) {
        throw new Problem.Found(
            Problem.of(
                Problem.Kind.TOO_LARGE,
                "body",
                Optional.of("more than %d bytes before compression".formatted(most)),
                "at most %d bytes before compression".formatted(most)));
      }
      return read;
    }
  }
}
