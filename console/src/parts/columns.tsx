// SPDX-License-Identifier: Apache-2.0
//
// Columns that several tables have.
import { href } from "../router";
import { short } from "./figures";
import { addressKey } from "./rows";
import type { Column } from "./table";

/** Numbers that may be unknown, as `show` writes them. */
export function figureColumn<T>(
  key: string,
  title: string,
  value: (row: T) => number | undefined,
  show: (value: number) => string = short,
): Column<T> {
  return {
    key,
    title,
    isNumber: true,
    value: (row) => value(row) ?? -1,
    render: (row) => {
      const known = value(row);
      return known === undefined ? "–" : show(known);
    },
  };
}

export function addressColumn<T extends { address: string }>(): Column<T> {
  return {
    key: "address",
    title: "Address",
    value: (row) => addressKey(row.address),
    text: (row) => row.address,
    render: (row) => <span class="mono">{row.address}</span>,
  };
}

/** A service's name, which leads to its page. */
export function serviceColumn<T>(value: (row: T) => string | undefined): Column<T> {
  return {
    key: "service",
    title: "Service",
    value: (row) => value(row) ?? "",
    render: (row) => {
      const name = value(row);
      return name && <a href={href("service", [name])}>{name}</a>;
    },
  };
}
