// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** The body of an answer, which fails if it has more bytes than are wanted. */
final class LimitedBody implements HttpResponse.BodySubscriber<byte[]> {
  private final int most;
  private final CompletableFuture<byte[]> whole = new CompletableFuture<>();
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private Flow.Subscription subscription;

  /**
   * @param most 0: none is wanted, and what comes is not read
   */
  LimitedBody(int most) {
    this.most = most;
  }

  @Override
  public CompletionStage<byte[]> getBody() {
    return whole;
  }

  @Override
  public void onSubscribe(Flow.Subscription begun) {
    subscription = begun;
    if (most > 0) {
      subscription.request(Long.MAX_VALUE);
    } else {
      subscription.cancel();
      onComplete();
    }
  }

  @Override
  public void onNext(List<ByteBuffer> parts) {
    for (ByteBuffer part : parts) {
      if (part.remaining() > most - bytes.size()) {
        subscription.cancel();
        onError(new IOException("the answer has more than %d bytes".formatted(most)));
        return;
      }
      byte[] copy = new byte[part.remaining()];
      part.get(copy);
      bytes.writeBytes(copy);
    }
  }

  @Override
  public void onError(Throwable e) {
    whole.completeExceptionally(e);
  }

  @Override
  public void onComplete() {
    whole.complete(bytes.toByteArray());
  }
}
