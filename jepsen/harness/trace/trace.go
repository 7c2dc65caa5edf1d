// SPDX-License-Identifier: Apache-2.0

// Package trace finds out why a connection broke: from the moves of its bucket, what muxes and servers did then, and the
// faults, it names the limit of protocol/README.md §10 that the connection met, if it met one.
package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/jepsen/check"
)

// Row is a bucket's row of the ring from one generation on.
type Row struct {
	Generation int64
	Owner      string           // names of nodes
	Former     []string         // owners before that may have connections, newest first
	Applied    map[string]int64 // by mux, when it first had this row or a later one
}

// Bucket is one by which packets of the connection were steered.
type Bucket struct {
	Number  int64
	Arrays  int64            // the generation of the arrays that gave it; 0: it is the low bits of the hash
	Applied map[string]int64 // by mux, when it first had these arrays; empty for 0
	Rows    []Row            // in order of generations
}

// Reset is a RST that a server sent to the connection's client.
type Reset struct {
	Server string
	At     int64
}

// Sockets are those that a server had with the client's address and port at some time, as ss shows them.
type Sockets struct {
	Server  string
	At      int64
	Sockets []string
}

// Sample are the counters of a node at some time.
type Sample struct {
	At       int64
	Counters map[string]int64
}

// Around returns the last sample before a time, or else the first of all, and the first after another, or else the last of
// all; nil if there is none.
func Around(samples []Sample, from, to int64) (first, last *Sample) {
	for number := range samples {
		if samples[number].At <= from || first == nil {
			first = &samples[number]
		}
		if last == nil || last.At < to {
			last = &samples[number]
		}
	}
	return first, last
}

// Facts are all that is known of a connection that broke. Times are the history's, in nanoseconds.
type Facts struct {
	Connection   check.Connection
	Why          string   // the client's error
	VIP          string   // with the port
	Buckets      []Bucket // at its end, those of the newest arrays first; none if they are not known
	Faults       []*check.Fault
	Resets       []Reset
	Sockets      []Sockets
	Counters     []string            // what changed at each node about that time
	Samples      map[string][]Sample // by node, in order of time
	Window, Hold float64             // of the service, in seconds
}

// repeated is how long after a mux has applied a change a server may wait for its notice at most, if the first was lost:
// muxes repeat it after one second.
const repeated = 1_500_000_000

// ahead is how long before a mux has applied a change it sends the first notices of it at most.
const ahead = 1_000_000_000

// Unexplained is the class of a connection whose cause is none of the others.
const Unexplained = "NOT EXPLAINED"

// Class returns the name of the fault or of the limit by which the connection broke, or Unexplained, and why. limit says
// whether it is a limit.
func (f Facts) Class() (class string, limit bool, why string) {
	if fault := f.Fault(); fault != nil {
		return fmt.Sprintf("%s of %s", string(fault.Fault), fault.Node), false, "which may break its connections"
	}
	if class, why = f.limit(); class == "" {
		return Unexplained, false, why
	}
	return class, true, why
}

// Fault returns the fault that broke the connection, or nil. A fault that may have does not count if RSTs were seen and all
// came from other servers, but for a lie: the controller takes the connection for ended, and arrays lead it elsewhere.
func (f Facts) Fault() *check.Fault {
	fault := check.Excuse(f.Faults, f.Connection)
	if fault != nil && fault.Fault != "lie" && len(f.Resets) > 0 && !slices.ContainsFunc(f.Resets, func(each Reset) bool { return each.Server == fault.Node }) {
		return nil
	}
	return fault
}

// limit returns the limit that the connection met; "" and what is known if there is none.
func (f Facts) limit() (name, why string) {
	rows := f.rows()
	if len(rows) == 0 {
		return "", "its bucket's rows are not known"
	}
	first, server := f.tenure(rows)
	if first < 0 {
		return "", fmt.Sprintf("%s never had its bucket", server)
	}
	last := first
	for at := first + 1; at < len(rows); at++ {
		if applied(rows[at]) <= f.Connection.To {
			last = at
		}
	}
	// The owners since, each once, and when the first mux and the last had each.
	var since []Row
	for _, row := range rows[first : last+1] {
		if len(since) == 0 || since[len(since)-1].Owner != row.Owner {
			since = append(since, row)
		}
	}
	moves := len(since) - 1
	owners := fmt.Sprintf("%d moves since %s", moves, names(since))
	from, told := f.resetBy(since), ""
	if f.Connection.End != "timeout" {
		told = by(from)
	}
	switch {
	case moves == 0:
		return "", "no mux had a move of its bucket since " + server + " got it"
	case moves >= 4 && (from == "" || slices.ContainsFunc(since[1:moves-2], owns(from))):
		return "fourth-move", owners + told
	case f.Connection.End == "reset" && returns(since):
		return "return", owners + told
	case f.Hold == 0 && !(f.byArrays() && slices.Contains(rows[last].Former, server)) && f.left(rows[first:last+1]) >= f.Window:
		return "window", fmt.Sprintf("%s, the first made %.1f s before its end", owners, f.left(rows[first:last+1]))
	case f.Connection.End == "reset" && moves >= 2 && (from == "" || slices.ContainsFunc(since[1:moves], owns(from))):
		for _, move := range since[2:] {
			least, most := applied(move), latest(move.Applied)
			if least <= f.Connection.To && f.Connection.To <= most+repeated {
				return "notice", fmt.Sprintf("%s; reset %.3f s after the first mux had generation %d, the last had it %.3f s after the first%s", owners,
					seconds(f.Connection.To-least), move.Generation, seconds(most-least), told)
			}
		}
		if move := f.untold(since, from); move != nil {
			return "notice", fmt.Sprintf("%s; %s was cut off when it was told of generation %d, and got no notice%s", owners, from, move.Generation, told)
		}
	}
	if len(rows[last].Former) == 0 {
		owners += ", then released"
	}
	return "", owners + told
}

// untold returns the move by which an owner in between lost the bucket, if it cannot know of whom it had got it; nil if it
// may: all muxes were cut off from it for as long as they told it, it counted no notice and no lesson meanwhile although
// they sent some, and before that the connection got no answer by way of it.
func (f Facts) untold(since []Row, server string) *Row {
	for at := 1; at < len(since)-1; at++ {
		move := &since[at+1]
		if since[at].Owner != server || f.Connection.LastAnswer > latest(since[at].Applied) {
			continue
		}
		from, to := applied(*move)-ahead, latest(move.Applied)+repeated
		sent := false
		for mux := range move.Applied {
			more, known := f.counted(mux, `fairlead_mux_notices_total{result="sent"}`, from, to)
			sent = sent || known && more > 0
		}
		notices, known := f.counted(server, "notice", from, to)
		lessons, _ := f.counted(server, "learned", from, to)
		if sent && known && notices == 0 && lessons == 0 && slices.ContainsFunc(f.Faults, func(fault *check.Fault) bool {
			for mux := range move.Applied {
				if !fault.Cuts(mux, server) {
					return false
				}
			}
			return fault.From <= from && to <= fault.To
		}) {
			return move
		}
	}
	return nil
}

// counted is how much more a node had counted at the end of some time, or soon after, than at its beginning, or shortly
// before; it is not known if the counters were not read then.
func (f Facts) counted(node, name string, from, to int64) (more int64, known bool) {
	first, last := Around(f.Samples[node], from, to)
	if first == nil || first.At > from || last.At < to {
		return 0, false
	}
	return last.Counters[name] - first.Counters[name], true
}

// tenure returns the row by which the connection's server had the bucket last, and the server: the one that answered or,
// before any had, the owner at the beginning.
func (f Facts) tenure(rows []Row) (int, string) {
	server, at := "", -1
	if len(f.Connection.Servers) > 0 {
		server = f.Connection.Servers[0]
	}
	for number, row := range rows {
		if server == "" && (number == 0 || applied(row) <= f.Connection.From) || server != "" && row.Owner == server && applied(row) <= f.Connection.To {
			at = number
		}
	}
	if server == "" {
		server = rows[at].Owner
	}
	return at, server
}

// rows returns those of the bucket by which the connection was steered at its end: of the newest arrays by which it was
// opened, or that gave it a bucket of its server, which they do to connections that they know. None if they are not known.
func (f Facts) rows() []Row {
	for _, each := range f.Buckets {
		begin := f.Connection.From
		if each.Arrays != 0 {
			begin = max(begin, earliest(each.Applied))
		}
		switch {
		case begin > f.Connection.To: // newer than its end
		case latest(each.Applied) <= f.Connection.From,
			len(f.Connection.Servers) > 0 && ownerAt(each.Rows, begin) == f.Connection.Servers[0]:
			return each.Rows
		}
	}
	return nil
}

// left is how many seconds before the connection's end its bucket left its server, by the first of these rows.
func (f Facts) left(rows []Row) float64 {
	for number, row := range rows[1:] {
		if row.Owner != rows[number].Owner {
			return seconds(f.Connection.To - applied(row))
		}
	}
	return seconds(f.Connection.To)
}

// byArrays says whether arrays gave the connection a bucket: then former owners stay until they are released.
func (f Facts) byArrays() bool {
	return slices.ContainsFunc(f.Buckets, func(each Bucket) bool { return each.Arrays != 0 })
}

// ownerAt is a bucket's owner at some time, by the muxes that were first to have each row.
func ownerAt(rows []Row, at int64) (owner string) {
	for _, row := range rows {
		if applied(row) <= at {
			owner = row.Owner
		}
	}
	return owner
}

// resetBy is the owner that sent the last RST, "" if none was seen.
func (f Facts) resetBy(since []Row) string {
	for _, each := range slices.Backward(f.Resets) {
		if slices.ContainsFunc(since, owns(each.Server)) {
			return each.Server
		}
	}
	if len(f.Resets) > 0 {
		return f.Resets[len(f.Resets)-1].Server
	}
	return ""
}

func owns(server string) func(Row) bool { return func(row Row) bool { return row.Owner == server } }

func by(server string) string {
	if server == "" {
		return "; who sent the RST was not seen"
	}
	return "; reset by " + server
}

// returns says whether the bucket went back to the owner before the last one, without being the connection's.
func returns(since []Row) bool {
	for at := 3; at < len(since); at++ {
		if since[at].Owner == since[at-2].Owner {
			return true
		}
	}
	return false
}

// applied is when the first mux had the row; never, if none has yet.
func applied(row Row) int64 { return earliest(row.Applied) }

// earliest of times by mux; never, if there is none.
func earliest(times map[string]int64) int64 {
	least := int64(1 << 62)
	for _, at := range times {
		least = min(least, at)
	}
	return least
}

// latest of times by mux; 0 if there is none.
func latest(times map[string]int64) (most int64) {
	for _, at := range times {
		most = max(most, at)
	}
	return most
}

func names(rows []Row) string {
	var owners []string
	for _, row := range rows {
		owners = append(owners, row.Owner)
	}
	return strings.Join(owners, " → ")
}

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }

// before is how long before its last answer what happened is told of.
const before = 15_000_000_000

// String is the class and all facts, one a line.
func (f Facts) String() string {
	class, _, why := f.Class()
	lines := []string{fmt.Sprintf("%s: %s: %s", class, f.Connection, why), fmt.Sprintf("  error     %s", f.Why),
		fmt.Sprintf("  tuple     %s → %s, last answer at %.3f s", f.Connection.Local, f.VIP, seconds(f.Connection.LastAnswer))}
	for _, each := range f.Buckets {
		by := ""
		if each.Arrays != 0 {
			by = fmt.Sprintf(" by arrays %d; %s", each.Arrays, when(each.Applied))
		}
		lines = append(lines, fmt.Sprintf("  bucket    %d%s", each.Number, by))
		for _, row := range each.Rows {
			if applied(row) > f.Connection.To {
				break
			}
			former := strings.Join(row.Former, ", ")
			if former == "" {
				former = "none"
			}
			lines = append(lines, fmt.Sprintf("  owner     generation %d: %s, before %s; %s", row.Generation, row.Owner, former, when(row.Applied)))
		}
	}
	for _, each := range f.Faults {
		if each.From <= f.Connection.To && f.Connection.LastAnswer-before <= each.To {
			lines = append(lines, fmt.Sprintf("  fault     %s of %s, %.1f s to %.1f s", string(each.Fault), each.On(), seconds(each.From), seconds(min(each.To, f.Connection.To))))
		}
	}
	for _, each := range f.Resets {
		lines = append(lines, fmt.Sprintf("  RST       by %s at %.3f s", each.Server, seconds(each.At)))
	}
	for _, each := range f.Sockets {
		lines = append(lines, fmt.Sprintf("  sockets   of %s at %.3f s: %s", each.Server, seconds(each.At), strings.Join(each.Sockets, "; ")))
	}
	for _, each := range f.Counters {
		lines = append(lines, "  counters  "+each)
	}
	return strings.Join(lines, "\n")
}

// when says when each mux had something.
func when(times map[string]int64) string {
	var told []string
	for _, mux := range slices.Sorted(maps.Keys(times)) {
		told = append(told, fmt.Sprintf("%s %.3f s", mux, seconds(times[mux])))
	}
	return strings.Join(told, ", ")
}
