// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/traffic"
	"fairlead.dev/jepsen/workload"
	"olympos.io/encoding/edn"
)

const second = int64(1e9)

// drawn returns the page's timeline.
type drawn struct {
	ViewBox string   `xml:"viewBox,attr"`
	Rects   []rect   `xml:"rect"`
	Texts   []text   `xml:"text"`
	Charts  []charts `xml:"g"`
}
type rect struct {
	X      float64 `xml:"x,attr"`
	Width  float64 `xml:"width,attr"`
	Height float64 `xml:"height,attr"`
	Title  string  `xml:"title"`
}
type text struct {
	X    float64 `xml:"x,attr"`
	Y    float64 `xml:"y,attr"`
	Says string  `xml:",chardata"`
}
type charts struct {
	Texts []text `xml:"text"`
	Lines []struct {
		Points string `xml:"points,attr"`
	} `xml:"polyline"`
}

func page2svg(t *testing.T, run Run) (page string, svg drawn) {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, run); err != nil {
		t.Fatal(err)
	}
	page = out.String()
	from, to := strings.Index(page, "<svg"), strings.Index(page, "</svg>")
	if from < 0 || to < 0 {
		t.Fatalf("no timeline in %s", page)
	}
	if err := xml.Unmarshal([]byte(page[from:to+len("</svg>")]), &svg); err != nil {
		t.Fatal(err)
	}
	return page, svg
}

// crowded has a fault every five seconds, for ten seconds each.
func crowded(count int) Run {
	run := Run{Title: "a run", Green: true, Lags: map[string][]workload.Lag{}}
	for number := range count {
		from := int64(number) * 5 * second
		run.Faults = append(run.Faults, &check.Fault{Fault: "from-zookeeper", Node: fmt.Sprintf("mux%d", number%3+1), From: from, To: from + 10*second})
	}
	for at := range int64(count*5 + 10) {
		run.Traffic = append(run.Traffic, traffic.Second{At: at * second, Requests: 800, Median: 2, Most: 30})
		for _, mux := range []string{"mux1", "mux2", "mux3"} {
			run.Lags[mux] = append(run.Lags[mux], workload.Lag{At: at * second, Generations: at % 7})
		}
	}
	return run
}

func TestThePageSaysWhatTheRunProves(t *testing.T) {
	run := crowded(1)
	run.Method = "hunt"
	run.Bounds = []check.Bound{{Connections: 8304, AtMost: check.AtMost(0, 8304)}, {Fault: "kill", Connections: 30, Broke: 1, AtMost: check.AtMost(1, 30), Stall: 15e8}}
	page, _ := page2svg(t, run)
	for _, want := range append([]string{"Chance of a break, steering hunt"}, run.Bounds[0].String(), run.Bounds[1].String()) {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if page, _ = page2svg(t, crowded(1)); strings.Contains(page, "Chance of a break") {
		t.Error("a run without connections has bounds")
	}
}

func TestNothingLiesOverAnotherThing(t *testing.T) {
	for _, count := range []int{0, 1, 6, 13, 60} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			_, svg := page2svg(t, crowded(count))
			box := strings.Fields(svg.ViewBox)
			height, err := strconv.ParseFloat(box[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			if len(svg.Rects) != count {
				t.Errorf("%d faults are shaded, want %d", len(svg.Rects), count)
			}
			for _, each := range svg.Rects {
				if each.X < left || each.X+each.Width > width+0.1 || each.Height <= 0 || each.Height > height {
					t.Errorf("%+v is outside of the timeline, %s", each, svg.ViewBox)
				}
			}
			all := svg.Texts
			for _, chart := range svg.Charts {
				apart(t, chart.Texts)
			}
			apart(t, all)
			for _, each := range all {
				if each.Y > height || each.Y <= 0 {
					t.Errorf("%+v is outside of the timeline, %s", each, svg.ViewBox)
				}
			}
		})
	}
}

// apart fails if a text of a line begins before the one at its left has ended.
func apart(t *testing.T, texts []text) {
	t.Helper()
	slices.SortFunc(texts, func(a, b text) int {
		if a.Y != b.Y {
			return int(a.Y - b.Y)
		}
		return int(a.X - b.X)
	})
	for i := 1; i < len(texts); i++ {
		before, each := texts[i-1], texts[i]
		if before.Y == each.Y && strings.TrimSpace(each.Says) != "" && before.X+5.5*float64(len(before.Says)) > each.X {
			t.Errorf("%q at %g lies over %q at %g", each.Says, each.X, before.Says, before.X)
		}
	}
}

func TestWhatIsDrawn(t *testing.T) {
	run := crowded(2)
	run.Broken = []int64{3 * second, 3*second + 1, 7 * second}
	run.Traffic = append(run.Traffic, traffic.Second{At: 4 * second, Requests: 200, Median: 50, Most: 60}) // of another client
	_, svg := page2svg(t, run)
	names := []string{"answers (a second)", "latency (ms)", "broken connections (a second)", "generations behind"}
	tops := []string{"1000", "60", "2", "6"}
	lines := []int{1, 2, 1, 3}
	if len(svg.Charts) != len(names) {
		t.Fatalf("%d charts, want %d", len(svg.Charts), len(names))
	}
	for i, chart := range svg.Charts {
		var said []string
		for _, each := range chart.Texts {
			said = append(said, each.Says)
		}
		if !slices.Contains(said, names[i]) || !slices.Contains(said, tops[i]) || len(chart.Lines) != lines[i] {
			t.Errorf("chart %d says %q in %d lines; want %q up to %s in %d", i, said, len(chart.Lines), names[i], tops[i], lines[i])
		}
	}
}

// TestSilentMux: a mux that does not answer is not drawn as up to date.
func TestSilentMux(t *testing.T) {
	run := crowded(1)
	run.Lags = map[string][]workload.Lag{"mux1": {{At: second, Generations: 2}, {At: 2 * second, Generations: -1}, {At: 3 * second, Generations: 4}}}
	_, svg := page2svg(t, run)
	lags := svg.Charts[len(svg.Charts)-1]
	if points := strings.Fields(lags.Lines[0].Points); len(points) != 2 {
		t.Errorf("the line of generations behind has points %q, want two", points)
	}
}

func TestThePageSays(t *testing.T) {
	for _, each := range []struct {
		run  Run
		want []string
	}{
		{Run{Title: "jepsen/run, schedule brief", Green: true, Seed: 7, Command: "jepsen/run --seed 7", Wanted: "All verdicts must be true."},
			[]string{"jepsen/run, schedule brief", ">as it must be<", "Seed 7", "<code>jepsen/run --seed 7</code>", "All verdicts must be true."}},
		{Run{Title: "t", Verdicts: []check.Verdict{
			{Name: "sticky", Valid: check.True, Why: "fine"}, {Name: "unbroken", Valid: check.False, Why: "<bad> & worse", Examples: []string{"one"}},
			{Name: "image", Valid: check.Unknown, Why: "who knows"}}, Files: []string{"config.edn"}, Schedule: "   8.0 s  kill"},
			[]string{">not as it must be<", "<code>:sticky</code>", `class="true">true<`, `class="false">false<`, `class="unknown">unknown<`,
				"&lt;bad&gt; &amp; worse", "<li>one</li>", `<a href="config.edn">`, "   8.0 s  kill"}},
	} {
		page, _ := page2svg(t, each.run)
		for _, want := range each.want {
			if !strings.Contains(page, want) {
				t.Errorf("%q is not in the page", want)
			}
		}
	}
}

func TestNote(t *testing.T) {
	recorder := history.NewRecorder([]string{"connections"})
	recorder.Fault("start", map[edn.Keyword]any{"fault": edn.Keyword("kill"), "node": "mux1"}, nil)
	recorder.Fault("heal", map[edn.Keyword]any{"fault": edn.Keyword("kill"), "node": "mux1"}, nil)
	recorder.Fault("heal", map[edn.Keyword]any{"fault": edn.Keyword("all")}, nil)
	for id, end := range []edn.Keyword{"closed", "reset", "alive", "timeout", "refused"} {
		for _, kind := range []edn.Keyword{history.Invoke, history.OK} {
			recorder.Add("connections", history.Op{Process: int64(id), Type: kind, F: "connection",
				Value: history.Value(check.Connection{ID: int64(id), Kind: "tcp", End: end, To: int64(id) * second})})
		}
	}
	var run Run
	for range 2 { // each workload's history has the faults; the page has them once
		if err := run.Note("connections", recorder.History("connections")); err != nil {
			t.Fatal(err)
		}
		if len(run.Faults) != 1 || run.Faults[0].Node != "mux1" {
			t.Errorf("faults %+v", run.Faults)
		}
	}
	if want := []int64{second, 3 * second, 4 * second}; !slices.Equal(run.Broken[:3], want) {
		t.Errorf("broken at %v, want %v", run.Broken, want)
	}
}
