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
	Second     string           // the owner of the second bucket, if the connection has two
	Former     []string         // owners before that may have connections, newest first
	Applied    map[string]int64 // by mux, when it first had this row or a later one
}

// Bucket is one by which packets of the connection were steered.
type Bucket struct {
	Number  int64
	Arrays  int64            // the generation of the arrays that gave it; 0: the hash did
	Second  bool             // beside the first one, in every packet
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
	Seen     int64 // of a server: the highest generation of the service that it knew
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
	Resets       []Reset // in order of time
	Sockets      []Sockets
	Counters     []string            // what changed at each node about that time
	Samples      map[string][]Sample // by node, in order of time
	Window, Hold float64             // of the service, in seconds
	Places       int                 // of a bucket's list of former owners
	Behind       float64             // for how many seconds a mux may be behind before it withdraws
}

// underWay is how long a packet of a mux may be on its way at most, from server to server.
const underWay = 1_000_000_000

// ahead is how long before a mux applies a change it tells servers of it at most.
const ahead = 1_000_000_000

// withdrawn is how much longer than Behind a mux may take to withdraw, and routers to follow, in seconds.
const withdrawn = 10

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
// came from other servers, except with a lie: the controller takes the connection for ended, and arrays lead it elsewhere.
func (f Facts) Fault() *check.Fault {
	fault := check.Excuse(f.Faults, f.Connection)
	if fault != nil && fault.Fault != "lie" && len(f.Resets) > 0 && !slices.ContainsFunc(f.Resets, func(each Reset) bool { return each.Server == fault.Node }) {
		return nil
	}
	return fault
}

// reset returns the RST that ended the connection, the first after its last answer; nil if none was seen.
func (f Facts) reset() *Reset {
	if f.Connection.End != "reset" {
		return nil
	}
	for number := range f.Resets {
		if f.Resets[number].At >= max(f.Connection.From, f.Connection.LastAnswer) {
			return &f.Resets[number]
		}
	}
	return nil
}

// ended is when that RST was sent, which the client may read later; the connection's end if none was seen.
func (f Facts) ended() int64 {
	if reset := f.reset(); reset != nil {
		return min(reset.At, f.Connection.To)
	}
	return f.Connection.To
}

// limit returns the limit that the connection met; "" and what is known if there is none.
func (f Facts) limit() (name, why string) {
	f.Connection.To = f.ended()
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
	known := fmt.Sprintf("%s; the newest row names %s", names(rows[first:last+1]), strings.Join(rows[last].listed(), ", "))
	if f.Connection.End == "reset" {
		known += by(f.reset())
	}
	if left := f.left(rows[first:last+1], server); f.Hold == 0 && !f.byArrays() && left >= f.Window {
		return "window", fmt.Sprintf("%s; %s lost it %.1f s before the connection's end", known, server, left)
	}
	if cut := f.overflow(server); cut != nil && !rows[last].names(server) {
		return "overflow", fmt.Sprintf("%s; generation %d had no room for %s", known, cut.Generation, server)
	}
	for _, mux := range muxes(rows) {
		if name, why := f.late(rows, last, server, mux); name != "" {
			return name, known + "; " + why
		}
	}
	return "", known
}

// late returns the limit by which a connection of the server broke since this mux was behind: "" if it was not, or if that
// should break nothing.
func (f Facts) late(rows []Row, last int, server, mux string) (name, why string) {
	if at := rowOf(rows, mux, f.Connection.From); at >= 0 && at < last && rows[at].owns(server) && !rows[last].names(server) {
		lost := slices.IndexFunc(rows[at:], func(row Row) bool { return !row.owns(server) }) + at
		if behind := seconds(f.Connection.From - applied(rows[lost])); behind > f.Behind+withdrawn {
			return "alone", fmt.Sprintf("%s had not applied generation %d for %.1f s when it began", mux, rows[lost].Generation, behind)
		}
	}
	at := rowOf(rows, mux, f.Connection.To-underWay)
	if at < 0 || at >= last || rows[at].names(server) {
		return "", ""
	}
	news := slices.IndexFunc(rows[at:], func(row Row) bool { return row.names(server) }) + at
	if news < at {
		return "", ""
	}
	generation, behind := rows[news].Generation, seconds(f.Connection.To-applied(rows[news]))
	if behind > f.Behind+withdrawn {
		return "alone", fmt.Sprintf("%s had not applied generation %d for %.1f s at its end", mux, generation, behind)
	}
	if f.Connection.End == "reset" && f.untold(rows[at].listed(), rows[news]) {
		return "notice", fmt.Sprintf("%s had not applied generation %d, and no server on its packet's way had heard of it, as notices were lost", mux, generation)
	}
	return "", ""
}

// untold says whether none of the servers on a packet's way knew a row's generation, the last of them being the one that
// sent the RST that ended the connection, and notices to each of them may have been lost: from each mux that told it, for as long as that one did.
func (f Facts) untold(way []string, row Row) bool {
	if reset := f.reset(); reset != nil {
		end := slices.Index(way, reset.Server)
		if end < 0 {
			return false
		}
		way = way[:end+1]
	}
	for _, server := range way {
		var known *Sample
		for number, sample := range f.Samples[server] {
			if sample.At <= f.Connection.To {
				known = &f.Samples[server][number]
			}
		}
		if known == nil || known.Seen >= row.Generation {
			return false
		}
		for mux, at := range row.Applied {
			if at <= f.Connection.To && !slices.ContainsFunc(f.Faults, func(fault *check.Fault) bool {
				return fault.Loses(mux, server) && fault.From <= at-ahead && at <= fault.To
			}) {
				return false
			}
		}
	}
	return true
}

// overflow returns the row by whose move the server left a full list: the newest entry came, and it, the oldest, went.
func (f Facts) overflow(server string) *Row {
	for _, bucket := range f.Buckets {
		for number := 1; number < len(bucket.Rows); number++ {
			old, next := bucket.Rows[number-1], &bucket.Rows[number]
			if applied(*next) <= f.Connection.To && len(old.Former) == f.Places && len(next.Former) == f.Places && old.Former[f.Places-1] == server &&
				next.Former[0] == old.Owner && !next.names(server) && !old.names(next.Owner) {
				return next
			}
		}
	}
	return nil
}

// owns says whether the server has the bucket, or one of both.
func (r Row) owns(server string) bool { return r.Owner == server || r.Second == server && server != "" }

// listed are the servers that packets name by a row, in order.
func (r Row) listed() []string {
	all := []string{r.Owner}
	if r.Second != "" && r.Second != r.Owner {
		all = append(all, r.Second)
	}
	return append(all, r.Former...)
}

// names says whether packets name the server by a row.
func (r Row) names(server string) bool { return slices.Contains(r.listed(), server) }

// muxes are those that had one of the rows at some time.
func muxes(rows []Row) []string {
	all := map[string]bool{}
	for _, row := range rows {
		for mux := range row.Applied {
			all[mux] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// rowOf is the number of the row that a mux had at some time; -1: none yet.
func rowOf(rows []Row, mux string, at int64) int {
	number := -1
	for each, row := range rows {
		if since, had := row.Applied[mux]; had && since <= at {
			number = each
		}
	}
	return number
}

// tenure returns the row by which the connection's server had the bucket last, and the server: the one that answered or,
// before any had, the owner at the beginning.
func (f Facts) tenure(rows []Row) (int, string) {
	server, at := "", -1
	if len(f.Connection.Servers) > 0 {
		server = f.Connection.Servers[0]
	}
	for number, row := range rows {
		if server == "" && (number == 0 || applied(row) <= f.Connection.From) || server != "" && row.owns(server) && applied(row) <= f.Connection.To {
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
// If each packet names two buckets, they are of both.
func (f Facts) rows() []Row {
	if len(f.Buckets) == 2 && f.Buckets[1].Second {
		return both(f.Buckets[0].Rows, f.Buckets[1].Rows)
	}
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

// both returns the rows by which packets name two buckets: both owners, then the first one's former owners, then the
// second's. None if not all are known.
func both(first, second []Row) (rows []Row) {
	for i, j := 0, 0; i < len(first) || j < len(second); {
		var row Row
		switch {
		case j == len(second) || i < len(first) && first[i].Generation < second[j].Generation:
			row = first[i]
			i++
		case i == len(first) || second[j].Generation < first[i].Generation:
			row = second[j]
			j++
		default:
			row = first[i]
			i, j = i+1, j+1
		}
		if i == 0 || j == 0 {
			continue
		}
		row.Owner, row.Second, row.Former = first[i-1].Owner, second[j-1].Owner, nil
		for _, former := range slices.Concat(first[i-1].Former, second[j-1].Former) {
			if !row.names(former) {
				row.Former = append(row.Former, former)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// left is how many seconds before the connection's end its server lost its bucket, which it had by the first of these rows;
// 0 if it has not.
func (f Facts) left(rows []Row, server string) float64 {
	for _, row := range rows[1:] {
		if !row.owns(server) {
			return seconds(f.Connection.To - applied(row))
		}
	}
	return 0
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

func by(reset *Reset) string {
	if reset == nil {
		return "; who sent the RST was not seen"
	}
	return "; reset by " + reset.Server
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

// names are the owners in turn.
func names(rows []Row) string {
	var all []string
	for _, row := range rows {
		owners := row.Owner
		if row.Second != "" {
			owners += "+" + row.Second
		}
		if len(all) == 0 || all[len(all)-1] != owners {
			all = append(all, owners)
		}
	}
	return strings.Join(all, " → ")
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
		if each.Second {
			by = ", the second"
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
