// SPDX-License-Identifier: Apache-2.0
//
// What happens, as it happens: the stream of events, and who has written what.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { AuditRecord } from "../../generated/schema";
import { Why, whyNot } from "../access";
import { type ApiEvent, events, isStreaming } from "../api/events";
import { usePolled } from "../api/poll";
import { describe, serviceOfEvent } from "../audit/describe";
import { serviceColumn } from "../parts/columns";
import { clock, moment, whole } from "../parts/figures";
import { type PageProps, setQuery } from "../router";
import "../explain/explain.css";
import { Failure } from "../parts/notice";
import { type Column, Table } from "../parts/table";

const RECORDS = 1000;
const KINDS = ["service", "hold", "slowStart", "stage", "drain", "mux", "controller"];

export function AuditPage({ query }: PageProps) {
  const service = useSignal(query.service ?? "");
  const kind = useSignal(query.kind ?? "");
  useEffect(() => setQuery({ service: service.value, kind: kind.value }), [service.value, kind.value]);
  return (
    <>
      <section class="card">
        <h1>Audit and events</h1>
        <div class="filters">
          <label>
            Service
            <input
              type="search"
              name="service"
              placeholder="all"
              value={service.value}
              onInput={(event) => (service.value = event.currentTarget.value.trim())}
            />
          </label>
          <label>
            Events of
            <select name="kind" value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value)}>
              <option value="">all kinds</option>
              {KINDS.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        </div>
      </section>
      <Events service={service.value} kind={kind.value} />
      <Audit service={service.value} />
    </>
  );
}

const EVENT_COLUMNS: Column<ApiEvent>[] = [
  { key: "at", title: "Time", value: (row) => row.at, render: (row) => clock(row.at / 1000) },
  { key: "kind", title: "Event", value: (row) => row.kind, render: (row) => <span class="tag">{row.kind}</span> },
  {
    key: "service",
    title: "Service",
    value: (row) => serviceOfEvent(row).join(", "),
    render: (row) =>
      serviceOfEvent(row).map((name) => (
        <a key={name} href={`#/service/${name}`}>
          {name}{" "}
        </a>
      )),
  },
  { key: "what", title: "What", value: describe },
];

function Events({ service, kind }: { service: string; kind: string }) {
  const isPaused = useSignal(false);
  const paused = useRef<ApiEvent[]>([]);
  const all = isPaused.value ? paused.current : events.value;
  const rows = useMemo(
    () =>
      all
        .filter((event) => (!kind || event.kind === kind) && (!service || serviceOfEvent(event).includes(service)))
        .reverse(),
    [all, kind, service],
  );
  const pause = () => {
    paused.current = events.value;
    isPaused.value = !isPaused.value;
  };
  return (
    <section class="card">
      <h2>Events</h2>
      <p class="hint" role="status">
        {isPaused.value ? "Paused." : isStreaming.value ? "Live." : "Connecting."} The latest 1,000 since you opened the
        page, newest first.
      </p>
      <Table
        label="Events"
        columns={EVENT_COLUMNS}
        rows={rows}
        rowKey={(row) => `${row.id} ${row.at}`}
        empty={all.length ? "No matching event." : "No event since you opened the page."}
        tools={
          <button type="button" aria-pressed={isPaused.value} onClick={pause}>
            {isPaused.value ? "Resume" : "Pause"}
          </button>
        }
      />
    </section>
  );
}

const AUDIT_COLUMNS: Column<AuditRecord>[] = [
  { key: "number", title: "#", isNumber: true, value: (row) => row.number },
  { key: "time", title: "Time", value: (row) => row.time, render: (row) => moment(row.time) },
  { key: "who", title: "Who", value: (row) => row.who },
  serviceColumn((row) => row.service),
  {
    key: "what",
    title: "What",
    value: (row) => row.what,
    text: (row) => `${row.what} ${row.body ?? ""}`,
    render: (row) => (
      <span class="mono clip" title={row.body}>
        {row.what} {row.body ?? ""}
      </span>
    ),
  },
  {
    key: "outcome",
    title: "Outcome",
    value: (row) => row.outcome,
    render: (row) => <span class={row.outcome === "refused" ? "bad" : "good"}>{row.outcome}</span>,
  },
  { key: "generation", title: "Generation", isNumber: true, value: (row) => row.generation || "" },
  { key: "moved", title: "Moved", isNumber: true, value: (row) => row.movedBuckets || "" },
  {
    key: "lost",
    title: "Lost owner",
    isNumber: true,
    value: (row) => row.lostBuckets ?? "",
    render: (row) => row.lostBuckets && <span class="bad">{whole(row.lostBuckets)}</span>,
  },
  { key: "controller", title: "Controller", value: (row) => row.controller },
];

function Audit({ service }: { service: string }) {
  const reason = whyNot("admin");
  const records = usePolled<AuditRecord[]>(reason ? "" : `/v1/audit?limit=${RECORDS}`, 10, [
    "service",
    "drain",
    "hold",
    "slowStart",
    "stage",
  ]);
  const rows = useMemo(
    () => (records.data.value ?? []).filter((record) => !service || record.service === service),
    [records.data.value, service],
  );
  return (
    <section class="card">
      <h2>Changes</h2>
      {reason ? (
        <Why reason={reason} id="why-no-audit" />
      ) : (
        <>
          <Failure error={records.error.value} />
          <Table
            label="Audit records"
            columns={AUDIT_COLUMNS}
            rows={rows}
            rowKey={(row) => row.number}
            empty="No change yet."
          />
        </>
      )}
    </section>
  );
}
