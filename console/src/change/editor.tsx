// SPDX-License-Identifier: Apache-2.0
//
// The pool of a service and what is to change of it: edited, planned, applied; somebody else's changes meanwhile.
import { useSignal } from "@preact/signals";
import type { Result } from "../../generated/schema";
import { locked, Why, whyNot } from "../access";
import { servicePath } from "../api/client";
import { whole } from "../parts/figures";
import { Failure, Unread } from "../parts/notice";
import { href } from "../router";
import { Commit } from "./commit";
import { Conflict } from "./conflict";
import { asks, type Draft, NO_EDITS } from "./edits";
import { Pool } from "./pool";
import { useVersions } from "./versions";

/** Of the element that says why nothing can be changed. */
const WHY = "why-no-change";

export function Editor({ name }: { name: string }) {
  const path = servicePath(name);
  const draft = useSignal<Draft>(NO_EDITS);
  const done = useSignal<Result | undefined>(undefined);
  const isWriting = useSignal(false);
  const pool = useVersions(path, isWriting.value, () => draft.value.edits.size > 0 || draft.value.more !== "");
  const { base, latest } = pool;
  if (!base) {
    return <Unread title={`Change ${name}`} error={pool.error} />;
  }
  const { wanted, wrong } = asks(base.backends, draft.value);
  const reason = whyNot("operator", name);
  const lock = locked(reason, WHY);
  return (
    <>
      <header class="title">
        <h1>Change {name}</h1>
        <span class="hint">
          generation {base.generation}, <a href={href("service", [name])}>see the service</a>
        </span>
      </header>
      {done.value && (
        <p class="card" role="status">
          <strong class="good">Applied.</strong> Generation {whole(done.value.generation)},{" "}
          {whole(done.value.movedBuckets)} buckets moved.
        </p>
      )}
      {latest && (
        <Conflict
          service={name}
          before={base}
          now={latest}
          onKeep={() => pool.adopt(latest)}
          onDiscard={() => {
            draft.value = NO_EDITS;
            pool.adopt(latest);
          }}
        />
      )}
      <section class="card" aria-labelledby="pool">
        <h2 id="pool">Pool</h2>
        <Why reason={reason} id={WHY} />
        <Pool
          lock={lock}
          backends={base.backends}
          edits={draft.value.edits}
          onEdit={(edits) => {
            draft.value = { ...draft.value, edits };
            done.value = undefined;
          }}
        />
        <label class="spaced">
          Add backends, one per line: ID ADDRESS [WEIGHT]
          <textarea
            spellcheck={false}
            placeholder="7 10.1.0.27 100"
            aria-invalid={wrong !== ""}
            value={draft.value.more}
            onInput={(event) => (draft.value = { ...draft.value, more: event.currentTarget.value })}
            {...lock}
          />
        </label>
        <Failure error={wrong} />
      </section>
      <Commit
        path={path}
        lock={lock}
        base={base}
        wanted={wanted}
        isSendable={wrong === "" && !latest}
        isDraftEmpty={wanted.length === 0 && !draft.value.more}
        isWriting={isWriting}
        error={pool.error}
        onDiscard={() => (draft.value = NO_EDITS)}
        onSend={() => (done.value = undefined)}
        onApplied={(result) => {
          done.value = result;
          draft.value = NO_EDITS;
          return pool.load();
        }}
        onOvertaken={pool.loadLatest}
      />
    </>
  );
}
