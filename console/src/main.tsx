// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { learnCaller } from "./access";
import { greet, findControllers } from "./api/client";
import { followEvents } from "./api/events";
import { App } from "./app";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const AGAIN_MILLIS = 15_000;

render(<App />, document.getElementById("console")!);
void greet(learnCaller);
void followEvents();
setInterval(() => {
  void findControllers().catch(() => {});
  void learnCaller();
}, AGAIN_MILLIS);
