// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import io.fairlead.controller.resources.plane.Result;
import io.fairlead.controller.resources.plane.WriteOptions;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * The write that a request asks for, and how its result is answered.
 *
 * @param kept what is kept of the answer, for the request that is sent again
 */
public record Write(
    Function<WriteOptions, CompletionStage<Result>> call,
    Function<Result, Answer> answer,
    Function<Result, Answer> kept) {
  /** One whose whole answer is kept. */
  public Write(
      Function<WriteOptions, CompletionStage<Result>> call, Function<Result, Answer> answer) {
    this(call, answer, answer);
  }

  /** One that changes what exists. */
  public static Write of(Function<WriteOptions, CompletionStage<Result>> call) {
    return new Write(call, Answer::ok);
  }

  /** One that may create what its path names; {@code location} is the path of that. */
  public static Write creating(
      Function<WriteOptions, CompletionStage<Result>> call, Function<Result, String> location) {
    return new Write(
        call,
        result ->
            result.created() ? Answer.created(result, location.apply(result)) : Answer.ok(result));
  }

  /** With what {@code told} makes of the result, in the answer and in the one that is kept. */
  public Write telling(UnaryOperator<Result> told) {
    return new Write(
        call, result -> answer.apply(told.apply(result)), result -> kept.apply(told.apply(result)));
  }

  /** One with secrets in its answer, which are not kept. */
  public Write keeping(Function<Result, Answer> newKept) {
    return new Write(call, answer, newKept);
  }
}
