// SPDX-License-Identifier: Apache-2.0

// Package report writes a run's page: the schedule, the verdicts, and a timeline with the faults shaded.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/traffic"
	"fairlead.dev/jepsen/workload"
)

//go:embed page.html
var page string

// Run is all that a page shows.
type Run struct {
	Title    string // the schedule or switch
	Command  string // that repeats it
	Seed     uint64
	Date     string
	Verdicts []check.Verdict
	Wanted   string // the expected verdicts, as a sentence
	Green    bool
	Schedule string // a line a step
	Faults   []*check.Fault
	Traffic  []traffic.Second
	Lags     map[string][]workload.Lag
	Method   string // of steering
	Bounds   []check.Bound
	Broken   []int64 // times at which connections broke
	Files    []string
}

// Note takes the faults, the broken connections and their bounds from a workload's history.
func (r *Run) Note(workload string, ops []history.Op) error {
	if len(r.Faults) == 0 {
		faults, err := check.Faults(ops)
		if err != nil {
			return err
		}
		r.Faults = slices.DeleteFunc(faults, func(f *check.Fault) bool { return f.Fault == "all" })
	}
	if workload != "connections" {
		return nil
	}
	bounds, err := check.Bounds(ops)
	if err != nil {
		return err
	}
	r.Bounds = bounds
	for _, op := range ops {
		var each check.Connection
		if op.IsNemesis() || op.Type == history.Invoke {
			continue
		}
		if err := op.Into(&each); err != nil {
			return err
		}
		if each.Broke() {
			r.Broken = append(r.Broken, each.To)
		}
	}
	return nil
}

// The charts of the timeline, from top to bottom.
type chart struct {
	Title  string
	Unit   string
	Top    string // the scale's upper end
	Y      int
	Series []series
}

type series struct {
	Name, Colour, Points string
	LabelX               int
}

type band struct {
	X, Width float64
	Height   int
	Name     string
	LabelX   float64
	LabelY   int
}

type tick struct {
	X    float64
	Text string
}

const (
	width, left       = 1000.0, 60.0
	chartHi, chartGap = 110, 40
	rowHi             = 13  // of faults' names, above the charts
	letter            = 6.6 // a generous estimate of a letter's width
)

var colours = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b"}

type point struct{ at, value float64 }

// Write writes the page.
func Write(to io.Writer, run Run) error {
	end := 1.0
	for _, each := range run.Traffic {
		end = max(end, float64(each.At)/1e9)
	}
	for _, lags := range run.Lags {
		for _, lag := range lags {
			end = max(end, float64(lag.At)/1e9)
		}
	}
	x := func(at float64) float64 { return left + min(at, end)/end*(width-left) }

	var requests, median, most, broken = map[int]float64{}, map[int]float64{}, map[int]float64{}, map[int]float64{}
	for _, each := range run.Traffic {
		second := int(each.At / 1e9)
		requests[second] += float64(each.Requests)
		median[second] = max(median[second], each.Median)
		most[second] = max(most[second], each.Most)
		broken[second] += 0
	}
	for _, at := range run.Broken {
		broken[int(at/1e9)]++
	}
	charts := []chart{
		draw("answers", "a second", x, named{"answers", points(requests)}),
		draw("latency", "ms", x, named{"median", points(median)}, named{"slowest", points(most)}),
		draw("broken connections", "a second", x, named{"broken", points(broken)}),
	}
	var lags []named
	for _, mux := range slices.Sorted(maps.Keys(run.Lags)) {
		behind := map[int]float64{}
		for _, lag := range run.Lags[mux] {
			if second := int(lag.At / 1e9); lag.Generations >= 0 { // -1: a mux without an answer has no known lag
				behind[second] = max(behind[second], float64(lag.Generations))
			}
		}
		lags = append(lags, named{mux, points(behind)})
	}
	charts = append(charts, draw("generations behind", "", x, lags...))

	var bands []band
	for _, fault := range run.Faults {
		from, to := float64(fault.From)/1e9, min(float64(fault.To)/1e9, end)
		name := string(fault.Fault)
		if fault.Node != "" {
			name += " " + fault.Node
		}
		bands = append(bands, band{X: x(from), Width: max(x(to)-x(from), 1), Name: name})
	}
	top := label(bands)*rowHi + 30
	for i := range charts {
		charts[i].Y = top + i*(chartHi+chartGap)
	}
	bottom := top + len(charts)*(chartHi+chartGap)
	for i := range bands {
		bands[i].Height = bottom - chartGap + 6 - bands[i].LabelY
	}
	var ticks []tick
	step := 10.0
	for end/step > 15 {
		step *= 2
	}
	for at := 0.0; at <= end; at += step {
		ticks = append(ticks, tick{x(at), fmt.Sprintf("%g s", at)})
	}
	return template.Must(template.New("page").Parse(page)).Execute(to, map[string]any{
		"Run": run, "Charts": charts, "Bands": bands, "Ticks": ticks, "Width": width, "Left": left, "Chart": chartHi,
		"Height": bottom + 6, "Bottom": bottom - 14,
	})
}

// label places the bands' names in rows, without overlap and within the width, and returns the number of rows.
func label(bands []band) int {
	var ends []float64 // of each row
	for i := range bands {
		wide := letter * float64(len(bands[i].Name))
		at := max(left, min(bands[i].X, width-wide))
		row := slices.IndexFunc(ends, func(end float64) bool { return end <= at })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
		}
		ends[row] = at + wide
		bands[i].LabelX, bands[i].LabelY = at, 12+row*rowHi
	}
	return len(ends)
}

type named struct {
	name   string
	points []point
}

func points(of map[int]float64) (all []point) {
	for _, second := range slices.Sorted(maps.Keys(of)) {
		all = append(all, point{float64(second), of[second]})
	}
	return all
}

func draw(title, unit string, x func(float64) float64, lines ...named) chart {
	top := 1.0
	for _, line := range lines {
		for _, each := range line.points {
			top = max(top, each.value)
		}
	}
	made := chart{Title: title, Unit: unit, Top: fmt.Sprintf("%.4g", top)}
	labelX := left + letter*float64(len(title)+len(unit)+6)
	for number, line := range lines {
		text := ""
		for _, each := range line.points {
			text += fmt.Sprintf("%.1f,%.1f ", x(each.at), chartHi-each.value/top*chartHi)
		}
		if len(lines) == 1 {
			line.name = "" // the title has it
		}
		made.Series = append(made.Series, series{line.name, colours[number%len(colours)], text, int(labelX)})
		labelX += letter * float64(len(line.name)+3)
	}
	return made
}
