// SPDX-License-Identifier: Apache-2.0
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Backend, Result, Service } from "../../generated/schema";
import { locked, Why, whyNot } from "../access";
import { ApiError, call, key, text } from "../api/client";
import { usePolled } from "../api/poll";
import { Conflict } from "../change/conflict";
import { type Added, changes, type Edits, parseAdded } from "../change/edits";
import { Plan } from "../change/plan";
import { Pool } from "../change/pool";
import { href, type PageProps } from "../router";

/** A pool as it was read at once, and its version. */
interface State {
  etag: string;
  generation: number;
  backends: Backend[];
}

/** Of the element that says why nothing can be changed. */
const WHY = "why-no-change";

type OnLoss = "refuse" | "whenSafe" | "force";

const WORDS: Record<OnLoss, string> = {
  refuse: "refuse the change",
  whenSafe: "move them once they have room",
  force: "move them now: their oldest connections break",
};

export function ChangePage({ args }: PageProps) {
  return args[0] ? <Editor name={args[0]} /> : <Choice />;
}

function Choice() {
  const { data, error } = usePolled<Service[]>("/v1/services", 10, ["service"]);
  return (
    <section class="card">
      <h1>Change the pool of a service</h1>
      {error.value && <p role="alert">{error.value}</p>}
      {data.value?.length === 0 && <p>There is no service.</p>}
      <ul>
        {(data.value ?? []).map((service) => (
          <li key={service.name}>
            <a href={href("change", [service.name])}>{service.name}</a>{" "}
            <span class="hint">
              generation {service.generation}, {service.backends} backends
              {whyNot("operator", service.name) && ", read-only"}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** One version of the pool: the list and the service have the same tag, or they are read again. */
async function read(path: string): Promise<State> {
  for (;;) {
    const backends = await call<Backend[]>(`${path}/backends`);
    const service = await call<Service>(path);
    if (service.etag === backends.etag) {
      return { etag: backends.etag, generation: service.body!.generation, backends: backends.body! };
    }
  }
}

function Editor({ name }: { name: string }) {
  const path = `/v1/services/${encodeURIComponent(name)}`;
  const base = useSignal<State | undefined>(undefined);
  const latest = useSignal<State | undefined>(undefined);
  const edits = useSignal<Edits>(new Map());
  const more = useSignal("");
  const onLoss = useSignal<OnLoss>("refuse");
  const plan = useSignal<{ result: Result; asked: string } | undefined>(undefined);
  const done = useSignal<Result | undefined>(undefined);
  const error = useSignal("");
  const isBusy = useSignal(false);
  const watched = usePolled<Service>(path, 3, ["service"]);

  const load = async () => {
    try {
      base.value = await read(path);
      latest.value = undefined;
      error.value = "";
    } catch (failure) {
      error.value = text(failure);
    }
  };
  useEffect(() => void load(), [path]);
  // Somebody else's commit is shown as soon as it is there, not only when this one is refused.
  useEffect(() => {
    const tag = watched.etag.value;
    if (!base.value || !tag || isBusy.value || tag === base.value.etag || tag === latest.value?.etag) return;
    void read(path).then(
      (state) => {
        if (state.etag === base.value?.etag) return;
        const hasEdits = edits.value.size > 0 || more.value !== "";
        (hasEdits ? latest : base).value = state; // without edits there is nothing to contradict
      },
      () => {}, // asked again with the next version
    );
  }, [watched.etag.value, base.value, isBusy.value]);

  let added: Added[] = [];
  let wrong = "";
  try {
    added = parseAdded(more.value);
  } catch (failure) {
    wrong = text(failure);
  }
  const wanted = base.value ? changes(base.value.backends, edits.value, added) : [];
  const asked = JSON.stringify([wanted, onLoss.value, base.value?.etag]);
  const isPlanned = plan.value?.asked === asked;
  const place = useMemo(
    () => new Map((base.value?.backends ?? []).map((backend, index) => [backend.id, index])),
    [base.value],
  );

  const send = async (isDry: boolean) => {
    isBusy.value = true;
    error.value = "";
    done.value = undefined;
    const query = [isDry && "dryRun=true", onLoss.value !== "refuse" && `${onLoss.value}=true`]
      .filter(Boolean)
      .join("&");
    try {
      const { body } = await call<Result>(`${path}/changes${query && `?${query}`}`, {
        method: "POST",
        body: { changes: wanted },
        ifMatch: base.value!.etag,
        ...(isDry ? {} : { idempotencyKey: key() }),
      });
      if (isDry) plan.value = { result: body!, asked };
      else {
        done.value = body!;
        clear();
        await load();
      }
    } catch (failure) {
      error.value = text(failure);
      if (failure instanceof ApiError && failure.status === 412) {
        latest.value = await read(path);
        error.value = "";
      }
    }
    isBusy.value = false;
  };
  const clear = () => {
    edits.value = new Map();
    more.value = "";
    plan.value = undefined;
  };

  if (!base.value) {
    return (
      <section class={error.value ? "card error" : "card"}>
        <h1>Change {name}</h1>
        <p role="status">{error.value || "Loading"}</p>
      </section>
    );
  }
  const { backends, generation } = base.value;
  const now = latest.value;
  const lock = locked(whyNot("operator", name), WHY);
  return (
    <>
      <header class="title">
        <h1>Change {name}</h1>
        <span class="hint">
          generation {generation}, <a href={href("service", [name])}>see the service</a>
        </span>
      </header>
      {done.value && (
        <p class="card" role="status">
          <strong class="good">Applied.</strong> Generation {done.value.generation.toLocaleString("en")},{" "}
          {done.value.movedBuckets.toLocaleString("en")} buckets moved.
        </p>
      )}
      {now && (
        <Conflict
          service={name}
          before={base.value}
          now={now}
          onKeep={() => {
            base.value = now;
            latest.value = undefined;
            plan.value = undefined;
          }}
          onDiscard={() => {
            clear();
            base.value = now;
            latest.value = undefined;
          }}
        />
      )}
      <section class="card" aria-labelledby="pool">
        <h2 id="pool">Pool</h2>
        <Why reason={whyNot("operator", name)} id={WHY} />
        <Pool
          lock={lock}
          backends={backends}
          edits={edits.value}
          onEdit={(next) => {
            edits.value = next;
            done.value = undefined;
          }}
        />
        <label class="spaced">
          Add backends, one per line: ID ADDRESS [WEIGHT]
          <textarea
            spellcheck={false}
            placeholder="7 10.1.0.27 100"
            aria-invalid={wrong !== ""}
            value={more.value}
            onInput={(event) => (more.value = event.currentTarget.value)}
            {...lock}
          />
        </label>
        {wrong && (
          <p class="bad" role="alert">
            {wrong}
          </p>
        )}
      </section>
      <section class="card" aria-labelledby="plan">
        <h2 id="plan">Plan</h2>
        <div class="actions">
          <button
            type="button"
            class={isPlanned ? "" : "primary"}
            disabled={isBusy.value || wrong !== "" || wanted.length === 0 || now !== undefined}
            onClick={() => void send(true)}
            {...lock}
          >
            Plan {wanted.length} {wanted.length === 1 ? "change" : "changes"}
          </button>
          <button
            type="button"
            class={isPlanned ? "primary" : ""}
            disabled={isBusy.value || !isPlanned || now !== undefined}
            onClick={() => void send(false)}
            {...lock}
          >
            Apply
          </button>
          <button type="button" disabled={isBusy.value || (wanted.length === 0 && !more.value)} onClick={clear}>
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
        </div>
        {error.value && (
          <p class="bad" role="alert">
            {error.value}
          </p>
        )}
        {plan.value && !isPlanned && (
          <p class="hint">You changed your edits after this plan. Plan again before you apply.</p>
        )}
        {plan.value && <Plan result={plan.value.result} place={place} />}
        {!plan.value && wanted.length === 0 && <p class="hint">Edit weights, remove or add backends, then plan.</p>}
      </section>
    </>
  );
}
