// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math"

	"fairlead.dev/jepsen/history"
)

// Bound is what a run shows of the chance that a connection breaks: while a kind of fault was active, or in all of it.
// jepsen/bounds.edn pins these figures.
type Bound struct {
	Fault       string  // "": the whole run
	Connections int     // that were open at some time meanwhile, without those whose break a fault excuses
	Broke       int     // of these, by a limit of the protocol or by no known cause, also later
	AtMost      float64 // the chance of a break, at 95 %
	Stall       int64   // the longest of their waits for an answer that overlap with the fault, in nanoseconds; 0: none was long
}

// Bounds are those of the whole run, and of each kind of fault in the order of their first starts. Connections that a fault
// excuses say nothing of others, and are left out, and their waits with them.
func Bounds(ops []history.Op) ([]Bound, error) {
	all, _, err := connections(ops)
	if err != nil {
		return nil, err
	}
	faults, err := Faults(ops)
	if err != nil {
		return nil, err
	}
	bounds := []Bound{{}}
	kinds := map[string][]*Fault{"": {{To: math.MaxInt64}}}
	for _, fault := range faults {
		name := string(fault.Fault)
		if kinds[name] == nil {
			bounds = append(bounds, Bound{Fault: name})
		}
		kinds[name] = append(kinds[name], fault)
	}
	for _, each := range all {
		if each.Broke() && Excuse(faults, each) != nil {
			continue
		}
		for number := range bounds {
			bounds[number].count(each, kinds[bounds[number].Fault])
		}
	}
	for number, each := range bounds {
		bounds[number].AtMost = AtMost(each.Broke, each.Connections)
	}
	return bounds, nil
}

// count adds a connection if it was open during one of the faults.
func (b *Bound) count(each Connection, faults []*Fault) {
	open := false
	for _, fault := range faults {
		open = open || each.From <= fault.To && fault.From <= each.To
		for _, stall := range each.Stalls {
			if stall[0] <= fault.To && fault.From <= stall[1] {
				b.Stall = max(b.Stall, stall[1]-stall[0])
			}
		}
	}
	if open {
		b.Connections++
		if each.Broke() {
			b.Broke++
		}
	}
}

func (b Bound) String() string {
	name, stall := "the whole run", "none of 0.2 s"
	if b.Fault != "" {
		name = b.Fault
	}
	if b.Stall > 0 {
		stall = fmt.Sprintf("%.1f s", float64(b.Stall)/1e9)
	}
	return fmt.Sprintf("%-16s %6d connections, %4d broke: a chance of at most %7.4f %%, longest stall %s", name, b.Connections, b.Broke, 100*b.AtMost, stall)
}

// risk is the probability of so few breaks if the chance is that of AtMost.
const risk = 0.05

// AtMost returns the upper bound of the chance of a break at 95 %, of Clopper and Pearson (Biometrika 26, 1934), if so many of
// the connections broke, independently of each other: without a break 1 - 0.05^(1/n), about 3/n.
func AtMost(broke, connections int) float64 {
	if broke >= connections {
		return 1
	}
	low, high := 0.0, 1.0
	for range 60 { // more halvings than a double has digits
		if middle := (low + high) / 2; probability(broke, connections, middle) > risk {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// probability returns that of at most so many breaks. It adds in logarithms, as (1 - chance)^connections may be too small.
func probability(broke, connections int, chance float64) float64 {
	term := float64(connections) * math.Log1p(-chance)
	total := math.Exp(term)
	for count := 1; count <= broke; count++ {
		term += math.Log(float64(connections-count+1)/float64(count)) + math.Log(chance) - math.Log1p(-chance)
		total += math.Exp(term)
	}
	return total
}
