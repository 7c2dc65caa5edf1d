// SPDX-License-Identifier: Apache-2.0
//
// A table that shows only the rows in view: sorted by a click on a column, filtered by words.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { plural, whole } from "./figures";
import { arrange, type Cell, type Keyed, type Order, Texts, visible } from "./rows";

export interface Column<T> extends Keyed<T> {
  title: string;
  /** What is shown; by default the value, numbers with separators. */
  render?: (row: T) => ComponentChildren;
  isNumber?: boolean;
}

interface TableProps<T> {
  /** Names the table for screen readers. */
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => Cell;
  /** Said if there is no row at all. */
  empty?: string;
  order?: Order;
  filter?: string;
  /** Shown beside the filter. */
  tools?: ComponentChildren;
  hasFilter?: boolean;
  isPicked?: (row: T) => boolean;
}

const ROW = 34;
const MOST = 560;
/** Rows whose texts are made ahead at once, a few milliseconds. */
const AHEAD = 4096;
const PAUSE_MILLIS = 10;

export function Table<T extends object>(props: TableProps<T>): VNode {
  const { columns, rows, label } = props;
  const filter = useSignal(props.filter ?? "");
  const order = useSignal<Order>(props.order ?? { by: "", isDescending: false });
  const top = useSignal(0);
  const height = useSignal(MOST);
  const box = useRef<HTMLDivElement>(null);
  const texts = useMemo(() => new Texts(rows, columns), [rows]);
  const shown = useMemo(
    () => arrange(rows, columns, filter.value, order.value, texts),
    [rows, columns, filter.value, order.value],
  );

  useEffect(() => {
    if (props.hasFilter === false || rows.length <= AHEAD) return;
    let timer = window.setTimeout(function ahead() {
      if (texts.more(AHEAD)) timer = window.setTimeout(ahead, PAUSE_MILLIS);
    }, PAUSE_MILLIS);
    return () => clearTimeout(timer);
  }, [texts]);

  useEffect(() => {
    const observer = new ResizeObserver(() => (height.value = box.current?.clientHeight ?? MOST));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const sort = (key: string) => {
    const { by, isDescending } = order.value;
    order.value = { by: key, isDescending: by === key && !isDescending };
  };
  const [first, last] = visible(top.value, height.value, ROW, shown.length);
  return (
    <div class="table">
      {(props.hasFilter ?? true) && (
        <div class="table-tools">
          <input
            type="search"
            placeholder="Filter"
            aria-label={`Filter ${label}`}
            value={filter.value}
            onInput={(event) => {
              filter.value = event.currentTarget.value;
              if (box.current) box.current.scrollTop = 0;
            }}
          />
          <span class="count" role="status">
            {shown.length < rows.length && `${whole(shown.length)} of `}
            {plural(rows.length, "row")}
          </span>
          {props.tools}
        </div>
      )}
      <div
        class="table-box"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={label}
        onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      >
        <table aria-rowcount={shown.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <th
                  key={column.key}
                  scope="col"
                  class={column.isNumber ? "number" : ""}
                  aria-sort={
                    order.value.by !== column.key ? "none" : order.value.isDescending ? "descending" : "ascending"
                  }
                >
                  <button type="button" onClick={() => sort(column.key)}>
                    {column.title}
                    <span aria-hidden="true">
                      {order.value.by !== column.key ? "" : order.value.isDescending ? " ▾" : " ▴"}
                    </span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <Gap height={first * ROW} columns={columns.length} />}
            {shown.slice(first, last).map((row, offset) => (
              <tr
                key={props.rowKey(row)}
                aria-rowindex={first + offset + 2}
                aria-selected={props.isPicked ? props.isPicked(row) : undefined}
              >
                {columns.map((column) => (
                  <td key={column.key} class={column.isNumber ? "number" : ""}>
                    {column.render ? column.render(row) : plain(column.value(row))}
                  </td>
                ))}
              </tr>
            ))}
            {last < shown.length && <Gap height={(shown.length - last) * ROW} columns={columns.length} />}
          </tbody>
        </table>
        {shown.length === 0 && <p class="empty">{rows.length ? "No row matches." : (props.empty ?? "None.")}</p>}
      </div>
    </div>
  );
}

function Gap({ height, columns }: { height: number; columns: number }) {
  return (
    <tr aria-hidden="true" class="gap">
      <td colSpan={columns} style={{ height: `${height}px` }} />
    </tr>
  );
}

function plain(value: Cell): string {
  return typeof value === "number" ? whole(value) : value;
}
