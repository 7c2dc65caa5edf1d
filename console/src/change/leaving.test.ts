// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Leaving } from "../../generated/schema";
import { moment } from "../parts/figures";
import { connections, fate, known, unknown } from "./leaving";

const leaving = (backend: number, more: Partial<Leaving>): Leaving => ({
  ...{ backend, buckets: 8, estimated: false, fate: "chained", until: 1_767_225_840 },
  ...more,
});
const ALL = leaving(1, { connections: 1203 });
const PART = leaving(2, { connections: 40, estimated: true, fate: "held" });
const NO_AGENT = leaving(3, { unknown: "backend 3 has no agent", fate: "broken" });

test("numbers are the API's, and say whether they are estimated or incomplete", () => {
  for (const [rows, sum, rest] of [
    [[], undefined, "no backend gives any"],
    [[ALL], "1,203", "as agents report them"],
    [[ALL, PART], "≈ 1,243", "as agents report them"],
    [[ALL, NO_AGENT], "1,203", "and unknown ones of 1 backend"],
    [[ALL, NO_AGENT, NO_AGENT], "1,203", "and unknown ones of 2 backends"],
    [[NO_AGENT], undefined, "no agent reports"],
  ] as const) {
    assert.deepEqual([known([...rows]), unknown([...rows])], [sum, rest]);
  }
});

test("each backend has its number and what becomes of it", () => {
  const until = moment(1_767_225_840);
  assert.deepEqual(
    [ALL, PART, NO_AGENT].map((each) => [connections(each), fate(each)]),
    [
      ["1,203", `chained, broken at ${until} if still open`],
      ["about 40", `held, broken at ${until} if still open`],
      ["unknown: backend 3 has no agent", "broken"],
    ],
  );
});
