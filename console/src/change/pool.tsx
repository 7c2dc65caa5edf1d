// SPDX-License-Identifier: Apache-2.0
//
// The pool as a table that is edited: a weight per backend, or that it is removed.
import type { Backend } from "../../generated/schema";
import type { locked } from "../access";
import { addressColumn } from "../parts/columns";
import { type Column, Table } from "../parts/table";
import { type Edits, WEIGHT_MAX } from "./edits";

interface PoolProps {
  /** Of all controls, if the pool may not be changed. */
  lock: ReturnType<typeof locked>;
  backends: Backend[];
  edits: Edits;
  onEdit: (edits: Edits) => void;
}

export function Pool({ lock, backends, edits, onEdit }: PoolProps) {
  const set = (id: number, edit: { weight: number } | { remove: "gracefully" | "dead" } | undefined) => {
    const next = new Map(edits);
    if (edit) next.set(id, edit);
    else next.delete(id);
    onEdit(next);
  };
  const weight = (row: Backend) => {
    const edit = edits.get(row.id);
    return edit && "weight" in edit ? edit.weight : row.weight;
  };
  const removal = (row: Backend) => {
    const edit = edits.get(row.id);
    return edit && "remove" in edit ? edit.remove : "";
  };
  const columns: Column<Backend>[] = [
    { key: "id", title: "Id", value: (row) => row.id, isNumber: true },
    addressColumn(),
    { key: "state", title: "State", value: (row) => row.state },
    { key: "buckets", title: "Buckets", value: (row) => row.buckets, isNumber: true },
    {
      key: "weight",
      title: "Weight",
      value: weight,
      text: (row) => String(row.weight),
      isNumber: true,
      render: (row) => (
        <input
          class="edit"
          type="number"
          min={0}
          max={WEIGHT_MAX}
          aria-label={`Weight of backend ${row.id}`}
          disabled={removal(row) !== ""}
          value={weight(row)}
          onInput={(event) => {
            const value = event.currentTarget.valueAsNumber;
            if (!Number.isInteger(value) || value < 0 || value > WEIGHT_MAX) return;
            set(row.id, value === row.weight ? undefined : { weight: value });
          }}
          {...lock}
        />
      ),
    },
    {
      key: "what",
      title: "Edit",
      value: (row) => (edits.has(row.id) ? 0 : 1),
      text: () => "",
      render: (row) => (
        <>
          <select
            aria-label={`Removal of backend ${row.id}`}
            value={removal(row)}
            onChange={(event) => {
              const value = event.currentTarget.value;
              set(row.id, value === "" ? undefined : { remove: value as "gracefully" | "dead" });
            }}
            {...lock}
          >
            <option value="">keep</option>
            <option value="gracefully">remove, chain its connections</option>
            <option value="dead">remove, its machine is gone</option>
          </select>{" "}
          {removal(row) === "" && weight(row) > 0 && (
            <button
              type="button"
              onClick={() => set(row.id, { weight: 0 })}
              aria-label={`Drain backend ${row.id}`}
              {...lock}
            >
              Drain
            </button>
          )}
          {edits.has(row.id) && (
            <button
              type="button"
              onClick={() => set(row.id, undefined)}
              aria-label={`Undo the edit of backend ${row.id}`}
            >
              Undo
            </button>
          )}
        </>
      ),
    },
  ];
  return (
    <Table
      label="Pool"
      columns={columns}
      rows={backends}
      rowKey={(row) => row.id}
      isPicked={(row) => edits.has(row.id)}
    />
  );
}
