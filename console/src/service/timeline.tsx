// SPDX-License-Identifier: Apache-2.0
//
// Generations of a service, the latest first: who did what by the audit, and which backends won or lost buckets, as far as
// this page was there to see it.
import { useMemo } from "preact/hooks";
import type { AuditRecord } from "../../generated/schema";
import { usePolled } from "../api/poll";
import { type Column, Table } from "../parts/table";
import { difference, type Seen } from "./shares";

interface Entry {
  generation: number;
  time: string;
  who: string;
  what: string;
  body: string;
  moved: number | undefined;
  lost: number;
  change: [number, number][];
}

const SHOWN = 6;
const RECORDS = 1000;

export function Timeline({ service, seen }: { service: string; seen: Seen[] }) {
  const { data, error, status } = usePolled<AuditRecord[]>(`/v1/audit?limit=${RECORDS}`, 15, ["service"]);
  const entries = useMemo(() => merge(data.value ?? [], service, seen), [data.value, service, seen]);
  return (
    <>
      {status.value === 403 && (
        <p class="hint">Who did what is for admins. Below is what this page has seen since it was opened.</p>
      )}
      {error.value && status.value !== 403 && <p class="hint">The audit cannot be read: {error.value}</p>}
      <Table
        label={`Generations of ${service}`}
        columns={COLUMNS}
        rows={entries}
        rowKey={(row) => `${row.generation} ${row.time} ${row.what}`}
        empty="Nothing has been seen yet."
      />
    </>
  );
}

function merge(records: AuditRecord[], service: string, seen: Seen[]): Entry[] {
  const differences = new Map(seen.map((each, index) => [each.generation, difference(seen[index - 1], each)]));
  const entries = records
    .filter((record) => record.service === service && record.outcome === "committed")
    .map((record): Entry => {
      const change = differences.get(record.generation) ?? [];
      return {
        generation: record.generation,
        time: record.time,
        who: record.who,
        what: record.what.replace(`/v1/services/${service}`, "…"),
        body: record.body ?? "",
        moved: record.movedBuckets,
        lost: record.lostBuckets ?? 0,
        change: record.movedBuckets ? change : [],
      };
    });
  const known = new Set(entries.map((entry) => entry.generation));
  const unknown = seen
    .filter((each) => !known.has(each.generation))
    .map((each): Entry => {
      const change = differences.get(each.generation) ?? [];
      const won = change.filter(([, buckets]) => buckets > 0).reduce((sum, [, buckets]) => sum + buckets, 0);
      return {
        generation: each.generation,
        time: new Date(each.at).toISOString(),
        who: "",
        what: "seen by this page",
        body: "",
        moved: change.length ? won : undefined,
        lost: 0,
        change,
      };
    });
  return [...entries, ...unknown].sort((a, b) => b.generation - a.generation || (a.time < b.time ? 1 : -1));
}

const COLUMNS: Column<Entry>[] = [
  { key: "generation", title: "Generation", value: (row) => row.generation, isNumber: true },
  {
    key: "time",
    title: "Time",
    value: (row) => row.time,
    render: (row) => new Date(row.time).toLocaleString("sv"),
  },
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
  {
    key: "moved",
    title: "Moved",
    value: (row) => row.moved ?? -1,
    isNumber: true,
    render: (row) => row.moved?.toLocaleString("en") ?? "–",
  },
  {
    key: "lost",
    title: "Lost",
    value: (row) => row.lost,
    isNumber: true,
    render: (row) => <span class={row.lost ? "bad" : ""}>{row.lost}</span>,
  },
  {
    key: "change",
    title: "Buckets won and lost",
    value: (row) => row.change.length,
    render: (row) => (
      <span class="mono">
        {row.change.slice(0, SHOWN).map(([id, buckets]) => (
          <span key={id} class={buckets > 0 ? "good" : "warn"}>
            {`${id}: ${buckets > 0 ? "+" : "−"}${Math.abs(buckets).toLocaleString("en")}  `}
          </span>
        ))}
        {row.change.length > SHOWN && `and ${row.change.length - SHOWN} more`}
      </span>
    ),
  },
];
