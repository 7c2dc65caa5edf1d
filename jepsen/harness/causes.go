// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/trace"
	"olympos.io/encoding/edn"
)

// causesFile has all that is known of each connection that broke.
const causesFile = "broken.txt"

// printedMost is of how many of them the facts are printed, too.
const printedMost = 20

// causes traces each connection that broke: it writes broken.txt, prints how many broke by which cause and the facts of
// the first that no fault explains, and returns the limits that connections met, by their numbers. One
// that nothing explains is an error, unless the system is broken on purpose.
func (c *conductor) causes() (map[int64]string, error) {
	ops := c.recorder.History("connections")
	faults, err := check.Faults(ops)
	if err != nil {
		return nil, err
	}
	limits, counts := map[int64]string{}, map[string]int{}
	var failure error
	var told []string
	unexcused := 0
	for _, op := range ops {
		var each check.Connection
		if op.IsNemesis() || op.Type != history.OK || op.Into(&each) != nil || !each.Broke() {
			continue
		}
		facts := trace.Facts{Connection: each, Why: op.Error, VIP: fmt.Sprintf("%s:%d", c.listing.VIP, c.listing.Port), Faults: faults,
			Window: c.needs.WindowSeconds, Hold: c.needs.HoldSeconds, Behind: c.needs.BehindSeconds, Places: c.needs.Places()}
		c.witnesses.Facts(&facts)
		if facts.Fault() == nil {
			facts.Buckets, err = c.buckets.Of(each)
			failure = errors.Join(failure, err)
			for number, bucket := range facts.Buckets {
				facts.Buckets[number].Rows = c.generations.Rows(int(bucket.Number))
				if bucket.Arrays != 0 {
					facts.Buckets[number].Applied = c.generations.Had(bucket.Arrays)
				}
			}
		}
		class, limit, _ := facts.Class()
		counts[class]++
		if limit {
			limits[each.ID] = class
		}
		told = append(told, facts.String())
		if limit || class == trace.Unexplained {
			if unexcused++; unexcused <= printedMost {
				fmt.Println(facts.String())
			}
		}
	}
	c.say("%d connections broke: %s", len(told), filepath.Join(c.out, causesFile))
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		c.say("%5d by %s", counts[class], class)
	}
	if count := counts[trace.Unexplained]; count > 0 && c.breaks == "" {
		failure = errors.Join(failure, fmt.Errorf("%d connections broke by no known cause: %s: see %s", count, trace.Unexplained, filepath.Join(c.out, causesFile)))
	}
	return limits, errors.Join(failure, c.save(causesFile, func(file *os.File) error {
		_, err := file.WriteString(strings.Join(append(told, ""), "\n"))
		return err
	}))
}

// broke has what will be gone later looked at: the sockets of a connection that timed out, and with arrays its buckets.
func (c *conductor) broke(each check.Connection) {
	if each.End == "timeout" && each.Local != "" {
		c.witnesses.Ask(each.Local)
	}
	if c.needs.Steering == "othello" {
		c.buckets.Ask(each)
	}
}

// excused returns those of the limits that the schedule says it makes connections meet; all, if moves are so many.
func excused(limits map[int64]string, expected map[edn.Keyword]bool, all bool) map[int64]string {
	some := map[int64]string{}
	for id, limit := range limits {
		if all || expected[edn.Keyword(limit)] {
			some[id] = limit
		}
	}
	return some
}

// met returns the operations with the limits that their connections met.
func met(ops []history.Op, limits map[int64]string) []history.Op {
	for number, op := range ops {
		var each check.Connection
		if op.IsNemesis() || op.Type != history.OK || op.Into(&each) != nil || limits[each.ID] == "" {
			continue
		}
		each.Limit = edn.Keyword(limits[each.ID])
		ops[number].Value = history.Value(each)
	}
	return ops
}
