// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressKey, arrange, type Keyed, Texts, visible } from "./rows";

interface Row {
  id: number;
  address: string;
}
const columns: Keyed<Row>[] = [
  { key: "id", value: (row) => row.id },
  { key: "address", value: (row) => addressKey(row.address), text: (row) => row.address },
];
const rows: Row[] = [
  { id: 3, address: "10.2.0.10" },
  { id: 1, address: "10.2.0.9" },
  { id: 20, address: "10.2.0.9" },
];
const ids = (found: Row[]) => found.map((row) => row.id);

test("rows are sorted by numbers and addresses, equal ones stay in order", () => {
  const sorted = (by: string, isDescending: boolean) => ids(arrange(rows, columns, "", { by, isDescending }));
  assert.deepEqual(sorted("", false), [3, 1, 20]);
  assert.deepEqual(sorted("id", false), [1, 3, 20]);
  assert.deepEqual(sorted("id", true), [20, 3, 1]);
  assert.deepEqual(sorted("address", false), [1, 20, 3]);
  assert.deepEqual(sorted("nothing", false), [3, 1, 20]);
});

test("a filter wants every word, of the texts that are shown", () => {
  const none = { by: "", isDescending: false };
  assert.deepEqual(ids(arrange(rows, columns, "10.2.0.9", none)), [1, 20]);
  assert.deepEqual(ids(arrange(rows, columns, " 20 10.2 ", none)), [20]);
  assert.deepEqual(ids(arrange(rows, columns, "010.002", none)), []);
});

test("the text of a row is made once, however often it is searched", () => {
  let made = 0;
  const counting: Keyed<Row>[] = [{ key: "id", value: (row) => row.id, text: (row) => `${made++ && ""}${row.id}` }];
  const many = Array.from({ length: 65_535 }, (_, id) => ({ id, address: "" }));
  const texts = new Texts(many, counting);
  assert.equal(texts.more(65_534), true);
  for (const words of ["7", "77", "zz"]) arrange(many, counting, words, { by: "id", isDescending: true }, texts);
  const found = arrange(many, counting, "7", { by: "id", isDescending: true }, texts);
  assert.equal(texts.more(1), false);
  assert.equal(found[0]!.id, 65_527);
  assert.ok(found.length > 10_000 && found.every((row, index) => index === 0 || row.id < found[index - 1]!.id));
  assert.equal(made, many.length);
});

test("only rows in view are shown, and a few around them", () => {
  assert.deepEqual(visible(0, 340, 34, 1000), [0, 18]);
  assert.deepEqual(visible(3400, 340, 34, 1000), [92, 118]);
  assert.deepEqual(visible(1e9, 340, 34, 5), [0, 5]);
});
