// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
		if op.IsNemesis() || op.Type != history.OK || op.Into(&each) != nil || each.End == "closed" || each.End == "alive" {
			continue
		}
		facts := trace.Facts{Connection: each, Why: op.Error, VIP: fmt.Sprintf("%s:%d", c.listing.VIP, c.listing.Port), Bucket: -1, Faults: faults,
			Window: c.needs.WindowSeconds, Hold: c.needs.HoldSeconds}
		c.witnesses.Facts(&facts)
		if facts.Fault() == nil {
			if facts.Bucket, err = c.bucket(each.Local); err != nil {
				failure = errors.Join(failure, err)
			} else if facts.Bucket >= 0 {
				facts.Rows = c.generations.Rows(int(facts.Bucket))
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

// bucket asks the controllers for that of a connection from an address and port; -1 if it has none, or there are none.
func (c *conductor) bucket(local string) (int64, error) {
	source, err := netip.ParseAddrPort(local)
	if err != nil {
		return -1, nil // it never had an address
	}
	query := url.Values{"protocol": {"tcp"}, "source": {source.Addr().String()}, "sourcePort": {fmt.Sprint(source.Port())},
		"destination": {c.listing.VIP}, "destinationPort": {fmt.Sprint(c.listing.Port)}}
	answer, err := c.api.Await("/v1/services/"+c.listing.Service+"/explain?"+query.Encode(), time.Minute)
	if err != nil {
		return -1, err
	}
	explained := struct {
		Bucket int64 `json:"bucket"`
	}{-1}
	if err := json.Unmarshal(answer.Body, &explained); err != nil {
		return -1, fmt.Errorf("explain %s: %w: %.200s", local, err, answer.Body)
	}
	return explained.Bucket, nil
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
