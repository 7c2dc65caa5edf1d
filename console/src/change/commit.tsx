// SPDX-License-Identifier: Apache-2.0
//
// Asks the API for the plan of changes, shows it, and applies the changes once they are planned.
import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Result } from "../../generated/schema";
import type { locked } from "../access";
import { ApiError, call, key, text } from "../api/client";
import { Failure } from "../parts/notice";
import type { Change } from "./edits";
import { Plan } from "./plan";
import type { Version } from "./versions";

interface CommitProps {
  /** Of the service. */
  path: string;
  /** Of all controls, if the pool may not be changed. */
  lock: ReturnType<typeof locked>;
  base: Version;
  wanted: Change[];
  isSendable: boolean;
  isDraftEmpty: boolean;
  isWriting: Signal<boolean>;
  /** Of the pool; its own errors are shown as well. */
  error: string;
  onDiscard: () => void;
  onSend: () => void;
  onApplied: (result: Result) => Promise<void>;
  /** The API has refused the changes, because `base` is not the latest version. */
  onOvertaken: () => Promise<void>;
}

type OnLoss = "refuse" | "whenSafe" | "force";

const WORDS: Record<OnLoss, string> = {
  refuse: "refuse the change",
  whenSafe: "move them once they have room",
  force: "move them now: their oldest connections break",
};

/** The query's `stage`; none as the service says. */
const STAGES: [string, string][] = [
  ["", "as the service says"],
  ["100", "at once"],
  ["1,10,100", "on 1 %, 10 %, then all of the buckets"],
  ["10,100", "on 10 %, then all of the buckets"],
];

export function Commit(props: CommitProps) {
  const { path, lock, base, wanted, isSendable, isWriting } = props;
  const onLoss = useSignal<OnLoss>("refuse");
  const stages = useSignal("");
  const planned = useSignal<{ result: Result; etag: string; asked: string } | undefined>(undefined);
  const error = useSignal("");
  const asked = JSON.stringify([wanted, onLoss.value, stages.value, base.etag]);
  // A plan for another version of the pool says nothing about this one.
  const plan = planned.value?.etag === base.etag ? planned.value : undefined;
  const isPlanned = plan?.asked === asked;
  const place = useMemo(() => new Map(base.backends.map((backend, index) => [backend.id, index])), [base]);

  const post = async (isDry: boolean): Promise<Result> => {
    const query = [
      isDry && "dryRun=true",
      onLoss.value !== "refuse" && `${onLoss.value}=true`,
      stages.value && `stage=${stages.value}`,
    ]
      .filter(Boolean)
      .join("&");
    const { body } = await call<Result>(`${path}/changes${query && `?${query}`}`, {
      method: "POST",
      body: { changes: wanted },
      ifMatch: base.etag,
      ...(isDry ? {} : { idempotencyKey: key() }),
    });
    return body!;
  };
  const send = async (isDry: boolean) => {
    isWriting.value = true;
    error.value = "";
    props.onSend();
    try {
      const result = await post(isDry);
      planned.value = isDry ? { result, etag: base.etag, asked } : undefined;
      if (!isDry) await props.onApplied(result);
    } catch (failure) {
      if (failure instanceof ApiError && failure.status === 412) await props.onOvertaken();
      else error.value = text(failure);
    }
    isWriting.value = false;
  };
  const discard = () => {
    planned.value = undefined;
    props.onDiscard();
  };
  return (
    <section class="card" aria-labelledby="plan">
      <h2 id="plan">Plan</h2>
      <div class="actions">
        <button
          type="button"
          class={isPlanned ? "" : "primary"}
          disabled={isWriting.value || !isSendable || wanted.length === 0}
          onClick={() => void send(true)}
          {...lock}
        >
          Plan {wanted.length} {wanted.length === 1 ? "change" : "changes"}
        </button>
        <button
          type="button"
          class={isPlanned ? "primary" : ""}
          disabled={isWriting.value || !isSendable || !isPlanned}
          onClick={() => void send(false)}
          {...lock}
        >
          Apply
        </button>
        <button type="button" disabled={isWriting.value || props.isDraftEmpty} onClick={discard}>
          Discard
        </button>
        <label>
          Full buckets that would lose a former owner
          <select
            value={onLoss.value}
            onChange={(event) => (onLoss.value = event.currentTarget.value as OnLoss)}
            {...lock}
          >
            {Object.entries(WORDS).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label>
          Weights take effect
          <select value={stages.value} onChange={(event) => (stages.value = event.currentTarget.value)} {...lock}>
            {STAGES.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Failure error={error.value || props.error} />
      {plan && !isPlanned && <p class="hint">You changed your edits after this plan. Plan again before you apply.</p>}
      {plan && <Plan result={plan.result} place={place} />}
      {!plan && wanted.length === 0 && <p class="hint">Edit weights, remove or add backends, then plan.</p>}
    </section>
  );
}
