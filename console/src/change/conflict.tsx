// SPDX-License-Identifier: Apache-2.0
//
// What somebody else changed since the pool that is edited was read.
import type { AuditRecord, Backend } from "../../generated/schema";
import { whyNot } from "../access";
import { usePolled } from "../api/poll";
import { moment } from "../parts/figures";
import { differences } from "./edits";

interface ConflictProps {
  service: string;
  before: { generation: number; backends: Backend[] };
  now: { generation: number; backends: Backend[] };
  onKeep: () => void;
  onDiscard: () => void;
}

const SHOWN = 20;

export function Conflict({ service, before, now, onKeep, onDiscard }: ConflictProps) {
  const audit = usePolled<AuditRecord[]>(whyNot("admin") ? "" : "/v1/audit?limit=50", 10, ["service"]);
  const writes = (audit.data.value ?? []).filter(
    (record) => record.service === service && record.outcome === "committed" && record.generation > before.generation,
  );
  const found = differences(before.backends, now.backends);
  return (
    <section class="card conflict" role="alert" aria-labelledby="conflict">
      <h2 id="conflict">Someone else changed {service}</h2>
      <p>
        Your edits are based on generation {before.generation}; the service has {now.generation} now. None of your edits
        is applied.
      </p>
      {writes.length > 0 && (
        <ul>
          {writes.map((record) => (
            <li key={record.number}>
              <strong>{record.who}</strong>, {moment(record.time)}:{" "}
              <span class="mono">
                {record.what} {record.body}
              </span>
            </li>
          ))}
        </ul>
      )}
      {found.length > 0 ? (
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Backend</th>
              <th scope="col">Was</th>
              <th scope="col">Is</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, SHOWN).map((each) => (
              <tr key={each.id}>
                <td>{each.id}</td>
                <td>{each.was}</td>
                <td>{each.is}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p>The backends are the same: settings or bucket owners changed.</p>
      )}
      {found.length > SHOWN && <p class="hint">and {found.length - SHOWN} more</p>}
      <div class="actions">
        <button type="button" class="primary" onClick={onKeep}>
          Keep my edits, based on the new state
        </button>
        <button type="button" onClick={onDiscard}>
          Discard my edits
        </button>
      </div>
    </section>
  );
}
