// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.net.impl.ConnectionBase;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Lets only strict HTTP/1.1 (RFC 9112) through to Netty's decoder, which joins folded lines, skips
 * what precedes a request, and reads what no client of ours sends; a proxy before this server, or
 * the controller behind it, could find another request in the same bytes. {@link RequestHead} has
 * the rules for heads. Of bodies it knows only where they end. Trailers and chunk extensions are
 * refused: nothing here uses them.
 *
 * <p>What is refused goes on as Netty's own decoder would report it, in the place of the request or
 * of the rest of its body, so that the answer is in order; nothing after it is read.
 *
 * <p>A head has to come whole within {@link #HEAD_SECONDS} of the connection or of its first byte,
 * and what follows within {@link #BODY_SECONDS}, whoever answers it: else a connection costs its
 * sender a byte in two minutes, and a few thousand keep out all others.
 */
final class WireCheck extends ByteToMessageDecoder {
  /** As Vert.x has them for the decoder. */
  static final int LINE_MAX = 4096;

  static final int HEADERS_MAX = 8192;

  static final int HEAD_SECONDS = 10;
  static final int BODY_SECONDS = 30;

  private static final String DECODER = "httpDecoder";
  private static final String REFUSED = "fairlead.controller.http.malformed";
  private static final byte[] END = {'\r', '\n'};

  private enum State {
    HEAD,
    BODY,
    CHUNK_SIZE,
    CHUNK,
    CHUNK_END,
    LAST_CHUNK,
    CLOSED
  }

  /** A request that is not HTTP as this server reads it. */
  static final class MalformedException extends DecoderException {
    MalformedException(String why) {
      super(why);
    }

    @Override
    public Throwable fillInStackTrace() {
      return this;
    }
  }

  /** What is awaited of a request. */
  private enum Part {
    NONE(0),
    HEAD(HEAD_SECONDS),
    BODY(BODY_SECONDS);

    final int seconds;

    Part(int seconds) {
      this.seconds = seconds;
    }
  }

  private final MeterRegistry metrics;
  private State state = State.HEAD;

  /** Of what the deadline is, and of which request. */
  private Part awaited = Part.NONE;

  private long awaitedOf;
  private Future<?> deadline;

  /** Of requests whose heads have come. */
  private long heads;

  /** From its first line on. */
  private RequestHead head;

  /** Bytes of the head, from the first unread byte, whose lines were checked. */
  private int checked;

  /** How many bytes the head may have. */
  private int headersEnd;

  /** Bytes of the body or of the chunk that are still to come. */
  private long remaining;

  private static final class TooLongException extends RuntimeException {
    TooLongException(String why) {
      super(why, null, false, false);
    }
  }

  WireCheck(MeterRegistry metrics) {
    this.metrics = metrics;
  }

  /** Before anything is read of {@code connection}. Vert.x has no public way to its pipeline. */
  static void check(HttpConnection connection, MeterRegistry metrics) {
    ((ConnectionBase) connection)
        .channelHandlerContext()
        .pipeline()
        .addBefore(DECODER, "wireCheck", new WireCheck(metrics));
  }

  /** So that its series exists before the first one. */
  static void register(MeterRegistry metrics) {
    metrics.counter(REFUSED);
    late(metrics, Part.HEAD);
    late(metrics, Part.BODY);
  }

  private static Counter late(MeterRegistry metrics, Part part) {
    return metrics.counter(Connections.CLOSED, "limit", part.name().toLowerCase(Locale.ROOT));
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    await(context, Part.HEAD);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
    super.channelRead(context, message);
    if (state == State.CLOSED || (state == State.HEAD && actualReadableBytes() == 0)) {
      await(context, Part.NONE);
    } else {
      await(context, state == State.HEAD ? Part.HEAD : Part.BODY);
    }
  }

  @Override
  protected void handlerRemoved0(ChannelHandlerContext context) {
    await(context, Part.NONE);
  }

  /** From now on, unless it was awaited already. */
  private void await(ChannelHandlerContext context, Part part) {
    if (part == awaited && heads == awaitedOf) {
      return;
    }
    awaited = part;
    awaitedOf = heads;
    if (deadline != null) {
      deadline.cancel(false);
      deadline = null;
    }
    if (part != Part.NONE) {
      schedule(context, part);
    }
  }

  private void schedule(ChannelHandlerContext context, Part part) {
    deadline =
        context.executor().schedule(() -> end(context, part), part.seconds, TimeUnit.SECONDS);
  }

  private void end(ChannelHandlerContext context, Part part) {
    if (context.channel().config().isAutoRead()) {
      late(metrics, part).increment();
      context.close();
    } else {
      schedule(context, part); // it may have come, and waits until an earlier one is answered
    }
  }

  @Override
  protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
    State before = state;
    try {
      switch (before) {
        case HEAD -> readHead(in, out);
        case BODY, CHUNK -> pass(in, out);
        case CHUNK_SIZE -> readChunkSize(in, out);
        case CHUNK_END, LAST_CHUNK -> readEnd(in, out);
        case CLOSED -> in.skipBytes(in.readableBytes());
      }
    } catch (DecoderException e) {
      metrics.counter(REFUSED).increment();
      state = State.CLOSED;
      in.skipBytes(in.readableBytes());
      out.add(before == State.HEAD ? refusedRequest(e) : refusedBody(e));
    }
  }

  private void readHead(ByteBuf in, List<Object> out) {
    for (String line = headLine(in); line != null; line = headLine(in)) {
      boolean isFirst = checked == 0;
      checked += line.length() + END.length;
      if (isFirst) {
        head = new RequestHead(line);
        headersEnd = checked + HEADERS_MAX;
      } else if (!line.isEmpty()) {
        head.header(line);
      } else {
        head.end();
        remaining = head.length();
        State body = remaining > 0 ? State.BODY : State.HEAD;
        state = head.isChunked() ? State.CHUNK_SIZE : body;
        out.add(in.readRetainedSlice(checked));
        checked = 0;
        heads++;
        return;
      }
    }
  }

  private String headLine(ByteBuf in) {
    try {
      return line(in, checked, checked == 0 ? LINE_MAX : headersEnd - checked);
    } catch (TooLongException e) {
      throw checked == 0
          ? new TooLongHttpLineException(e.getMessage())
          : new TooLongHttpHeaderException(e.getMessage());
    }
  }

  private void pass(ByteBuf in, List<Object> out) {
    int length = (int) Math.min(in.readableBytes(), remaining);
    out.add(in.readRetainedSlice(length));
    remaining -= length;
    if (remaining == 0) {
      state = state == State.BODY ? State.HEAD : State.CHUNK_END;
    }
  }

  private void readChunkSize(ByteBuf in, List<Object> out) {
    String line = chunkLine(in);
    if (line == null) {
      return;
    }
    remaining = RequestHead.chunkSize(line);
    state = remaining == 0 ? State.LAST_CHUNK : State.CHUNK;
    out.add(in.readRetainedSlice(line.length() + END.length));
  }

  /** Of a chunk, or of the whole body: no trailers. */
  private void readEnd(ByteBuf in, List<Object> out) {
    String line = chunkLine(in);
    if (line == null) {
      return;
    }
    if (!line.isEmpty()) {
      throw new MalformedException(
          state == State.CHUNK_END ? "a chunk is longer than its size" : "a body has trailers");
    }
    state = state == State.CHUNK_END ? State.CHUNK_SIZE : State.HEAD;
    out.add(in.readRetainedSlice(END.length));
  }

  private static String chunkLine(ByteBuf in) {
    try {
      return line(in, 0, RequestHead.CHUNK_DIGITS_MAX);
    } catch (TooLongException e) {
      throw new MalformedException("a chunk does not begin by its size alone, or has no end");
    }
  }

  /** Without its CR LF; null if it has not come whole. */
  private static String line(ByteBuf in, int from, int most) {
    int begin = in.readerIndex() + from;
    int unread = in.writerIndex() - begin;
    int length = in.bytesBefore(begin, Math.min(unread, most + END.length), (byte) '\n');
    if (length < 0) {
      if (unread >= most + END.length) {
        throw new TooLongException("a line has more than %d bytes".formatted(most));
      }
      return null;
    }
    if (length == 0 || in.getByte(begin + length - 1) != '\r') {
      throw new MalformedException("a line ends with LF alone, not with CR LF");
    }
    return in.toString(begin, length - 1, StandardCharsets.ISO_8859_1);
  }

  private static DefaultHttpRequest refusedRequest(DecoderException why) {
    DefaultHttpRequest request =
        new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/malformed");
    request.setDecoderResult(DecoderResult.failure(why));
    return request;
  }

  private static LastHttpContent refusedBody(DecoderException why) {
    LastHttpContent content = new DefaultLastHttpContent(Unpooled.EMPTY_BUFFER);
    content.setDecoderResult(DecoderResult.failure(why));
    return content;
  }
}
