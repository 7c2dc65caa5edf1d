// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isAskable, merge } from "./client";
import { type ApiEvent, reader } from "./events";

test("events are taken out of the stream wherever it is cut", () => {
  const stream =
    ': hello\n\nid: 0a-1\nevent: mux\ndata: {"mux":"m1"}\n\nid: 0a-2\r\nevent: start\r\ndata: {"a":\r\ndata: 1}\r\n\r\n';
  for (let cut = 0; cut <= stream.length; cut++) {
    const events: Omit<ApiEvent, "at">[] = [];
    const read = reader(({ at: _, ...event }) => events.push(event));
    read.feed(stream.slice(0, cut));
    read.feed(stream.slice(cut));
    assert.deepEqual(events, [
      { id: "0a-1", kind: "mux", data: { mux: "m1" } },
      { id: "0a-2", kind: "start", data: { a: 1 } },
    ]);
  }
});

test("controllers that are known stay known", () => {
  const own = "http://10.1.0.5:8080";
  assert.deepEqual(merge([own], ["http://10.1.0.6:80", "http://10.1.0.5:8080", "https://[fd00::7]:8443"]), [
    ...[own, "http://10.1.0.6", "https://[fd00::7]:8443"],
  ]);
});

test("a controller that the page's policy does not name is known, and not asked", () => {
  const known = ["http://10.1.0.6", "https://control2.example:8443", "https://[fd00::7]:8443"];
  const may = (named: string) => known.map((each) => isAskable(each, named));
  assert.deepEqual(may("http://10.1.0.6 https://control2.example:8443"), [true, true, false]);
  assert.deepEqual(may(""), [false, false, false]);
});
