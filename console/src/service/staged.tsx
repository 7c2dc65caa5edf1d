// SPDX-License-Identifier: Apache-2.0
//
// The latest staged change of a service: how far it is, what agents report, and going on or back by hand.
import { useSignal } from "@preact/signals";
import type { Result, StageStatus } from "../../generated/schema";
import { locked, Why, whyNot } from "../access";
import { call, key, servicePath, text } from "../api/client";
import { usePolled } from "../api/poll";
import { percent } from "../parts/figures";
import { Failure } from "../parts/notice";
import { counts, next, shares, who } from "./staging";

type Verb = "advance" | "rollback";

/** Nothing of a service that never had one. */
export function Staged({ service }: { service: string }) {
  const path = `${servicePath(service)}/stage`;
  const { data, again } = usePolled<StageStatus>(path, 3, ["stage"]);
  const error = useSignal("");
  const isWriting = useSignal(false);
  const reason = whyNot("operator", service);
  const status = data.value;
  if (!status?.staging) return null;
  const { staging } = status;
  const isRunning = staging.state === "running";
  const post = async (verb: Verb) => {
    isWriting.value = true;
    error.value = "";
    try {
      await call<Result>(`${path}/${verb}`, { method: "POST", idempotencyKey: key() });
    } catch (failure) {
      error.value = text(failure);
    }
    isWriting.value = false;
    again();
  };
  const button = (verb: Verb, words: string) => (
    <button
      type="button"
      disabled={isWriting.value}
      onClick={() => void post(verb)}
      {...locked(reason, "why-no-stage")}
    >
      {words}
    </button>
  );
  return (
    <section class="card" aria-labelledby="staged">
      <h2 id="staged">Staged change</h2>
      <div>
        <strong>{who(staging)}</strong> <span class="tag">{staging.state.replace("_", " ")}</span>{" "}
        <span class="hint">
          steps {shares(staging)} of the buckets, {staging.bakeSeconds} s each
        </span>
      </div>
      <progress max={1} value={staging.share} aria-label="Part of the change that has taken effect" />
      <p>
        {percent(staging.share)} {isRunning ? "moved, next: " : ""}
        {next(staging, Date.now() / 1000)}
      </p>
      {status.words && <p class={status.verdict === "fails" ? "bad" : "hint"}>{status.words}</p>}
      {counts(status).map(([name, words]) => (
        <p key={name} class="hint">
          {name}: {words}
        </p>
      ))}
      {isRunning && (
        <>
          <div class="actions">
            {button("advance", "Next step now")}
            {button("rollback", "Roll back")}
          </div>
          <Why reason={reason} id="why-no-stage" />
        </>
      )}
      <Failure error={error.value} />
    </section>
  );
}
