// SPDX-License-Identifier: Apache-2.0
//
// Generations of a service, the latest first: which backends won or lost buckets, as far as the controller remembers, and who
// did it by the audit.
import { useMemo } from "preact/hooks";
import type { AuditRecord, BucketDifference, GenerationChange, Generations } from "../../generated/schema";
import { whyNot } from "../access";
import { servicePath } from "../api/client";
import { usePolled } from "../api/poll";
import { figureColumn } from "../parts/columns";
import { moment, whole } from "../parts/figures";
import { type Column, Table } from "../parts/table";

interface Entry {
  generation: number;
  time: string;
  who: string;
  what: string;
  body: string;
  moved: number | undefined;
  lost: number | undefined;
  change: BucketDifference[];
  others: number;
}

const SHOWN = 6;
const RECORDS = 1000;

export function Timeline({ service }: { service: string }) {
  const path = `${servicePath(service)}/generations`;
  const known = usePolled<Generations>(path, 15, ["service"]);
  const reason = whyNot("admin");
  const audit = usePolled<AuditRecord[]>(reason ? "" : `/v1/audit?limit=${RECORDS}`, 15, ["service"]);
  const entries = useMemo(
    () => merge(audit.data.value ?? [], service, known.data.value?.changes ?? []),
    [audit.data.value, service, known.data.value],
  );
  return (
    <>
      {reason && <p class="hint">Only admins see the authors of changes.</p>}
      {known.error.value && <p class="hint">Cannot read generations: {known.error.value}</p>}
      {audit.error.value && <p class="hint">Cannot read the audit: {audit.error.value}</p>}
      <Table
        label={`Generations of ${service}`}
        columns={COLUMNS}
        rows={entries}
        rowKey={(row) => `${row.generation} ${row.time} ${row.what}`}
        empty="No known changes."
      />
    </>
  );
}

/** An entry for each write that made a generation, and for each generation of which no write is known. */
export function merge(records: AuditRecord[], service: string, changes: GenerationChange[]): Entry[] {
  const byNumber = new Map(changes.map((change) => [change.generation, change]));
  const entries = records
    .filter((record) => record.service === service && record.outcome === "committed")
    .map((record): Entry => {
      // Writes that moved nothing made no generation: theirs is that of a write before.
      const change = record.movedBuckets ? byNumber.get(record.generation) : undefined;
      return {
        generation: record.generation,
        time: record.time,
        who: record.who,
        what: record.what.replace(servicePath(service), "…"),
        body: record.body ?? "",
        moved: record.movedBuckets,
        lost: record.lostBuckets ?? 0,
        change: change?.largest ?? [],
        others: change?.others ?? 0,
      };
    });
  const written = new Set(entries.map((entry) => entry.generation));
  const others = changes
    .filter((change) => !written.has(change.generation))
    .map((change): Entry => ({
      generation: change.generation,
      time: new Date(change.committed * 1000).toISOString(),
      who: "",
      what: "",
      body: "",
      moved: change.movedBuckets,
      lost: undefined,
      change: change.largest,
      others: change.others,
    }));
  return [...entries, ...others].sort((a, b) => b.generation - a.generation || (a.time < b.time ? 1 : -1));
}

const COLUMNS: Column<Entry>[] = [
  { key: "generation", title: "Generation", value: (row) => row.generation, isNumber: true },
  { key: "time", title: "Time", value: (row) => row.time, render: (row) => moment(row.time) },
  { key: "who", title: "Who", value: (row) => row.who },
  {
    key: "what",
    title: "What",
    value: (row) => `${row.what} ${row.body}`,
    render: (row) => (
      <span class="clip mono" title={row.body}>
        {row.what} <span class="hint">{row.body}</span>
      </span>
    ),
  },
  figureColumn("moved", "Moved", (row) => row.moved, whole),
  {
    key: "lost",
    title: "Lost owner",
    value: (row) => row.lost ?? -1,
    isNumber: true,
    render: (row) => <span class={row.lost ? "bad" : ""}>{row.lost ?? "–"}</span>,
  },
  {
    key: "change",
    title: "Buckets gained and lost",
    value: (row) => row.change.length,
    render: (row) => (
      <span class="mono">
        {row.change.slice(0, SHOWN).map(({ backend, buckets }) => (
          <span key={backend} class={buckets > 0 ? "good" : "warn"}>
            {`${backend || "no owner"}: ${buckets > 0 ? "+" : "−"}${whole(Math.abs(buckets))}  `}
          </span>
        ))}
        {row.change.length + row.others > SHOWN && `and ${whole(row.change.length + row.others - SHOWN)} more`}
      </span>
    ),
  },
];
