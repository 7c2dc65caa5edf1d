// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/jepsen/check"
)

// rows are a bucket's, one for each owner, each 10 s after the one before: the first mux has it at once, the second 0.2 s
// later.
func rows(owners string) (rows []Row) {
	var former []string
	for number, owner := range strings.Fields(owners) {
		if number > 0 {
			former = append([]string{rows[number-1].Owner}, former...)
		}
		former = slices.DeleteFunc(slices.Clone(former), func(each string) bool { return each == owner })
		at := int64(number) * 10e9
		rows = append(rows, Row{int64(number + 1), owner, former, map[string]int64{"mux1": at, "mux2": at + 2e8}})
	}
	return rows
}

// TestClass: a connection of a that began at 1 s, and how it ended; the class is the fault or the limit that it met, and a
// cause that none of them is stays NOT EXPLAINED.
func TestClass(t *testing.T) {
	kill := &check.Fault{Fault: "kill", Node: "a", MayBreak: "connections-of-node", From: 40e9, To: 42e9}
	lie := &check.Fault{Fault: "lie", Node: "a", MayBreak: "connections-of-node", From: 40e9, To: 42e9}
	released := rows("a b")
	released[1].Former = nil
	for name, row := range map[string]struct {
		rows   []Row
		end    string
		to     float64
		resets string // the servers that sent a RST, in order
		hold   float64
		window float64 // 8 without
		arrays int64
		faults []*check.Fault
		from   float64
		class  string
		says   string
	}{
		"four moves":                             {rows: rows("a b c d e"), to: 41, resets: "b", hold: 600, class: "fourth-move", says: "4 moves since a → b → c → d → e; reset by b"},
		"four moves, by whom is not seen":        {rows: rows("a b c d e"), to: 41, hold: 600, class: "fourth-move", says: "not seen"},
		"four moves, reset by the last":          {rows: rows("a b c d e"), to: 45, resets: "e", hold: 600, class: Unexplained},
		"five moves, of a late mux":              {rows: rows("a b c d e f"), to: 51, resets: "b", hold: 600, class: "fourth-move"},
		"four moves, timed out":                  {rows: rows("a b c d e"), end: "timeout", to: 60, hold: 600, class: "fourth-move"},
		"one move, timed out":                    {rows: rows("a b"), end: "timeout", to: 30, hold: 600, class: Unexplained, says: "1 moves since a → b"},
		"the fourth comes later":                 {rows: rows("a b c d e"), to: 35, resets: "b", hold: 600, class: Unexplained, says: "3 moves since a → b → c → d"},
		"opened by a late mux":                   {rows: rows("x a b c d e"), from: 21, to: 51, resets: "b", hold: 600, class: "fourth-move"},
		"its server got it again":                {rows: rows("a b c d a e"), to: 51, resets: "d", hold: 600, class: Unexplained, says: "1 moves since a → e"},
		"at the second move, by b":               {rows: rows("a b c"), to: 20.1, resets: "b", hold: 600, class: "notice", says: "0.100 s after the first mux had generation 3"},
		"at the second move, not repeated":       {rows: rows("a b c"), to: 21.6, resets: "b", hold: 600, class: "notice"},
		"long after the second move":             {rows: rows("a b c"), to: 25, resets: "b", hold: 600, class: Unexplained},
		"at the second move, by c":               {rows: rows("a b c"), to: 20.1, resets: "c", hold: 600, class: Unexplained},
		"at the second move, timed out":          {rows: rows("a b c"), end: "timeout", to: 20.1, hold: 600, class: Unexplained},
		"back to the owner in between":           {rows: rows("a b c b"), to: 35, resets: "c", hold: 600, class: "return"},
		"at the first move":                      {rows: rows("a b"), to: 10.1, resets: "b", hold: 600, class: Unexplained},
		"no move":                                {rows: rows("a"), to: 5, resets: "a", hold: 600, class: Unexplained, says: "no mux had a move"},
		"a window after the move":                {rows: rows("a b"), to: 19, resets: "b", class: "window"},
		"a window after the first of two":        {rows: rows("a b c"), to: 26, window: 15, resets: "c", class: "window", says: "made 16.0 s"},
		"by arrays, and kept":                    {rows: rows("a b"), arrays: 3, to: 19, resets: "b", class: Unexplained},
		"by arrays, and released":                {rows: released, arrays: 3, to: 19, resets: "b", class: "window"},
		"within the window":                      {rows: rows("a b"), to: 15, resets: "b", class: Unexplained},
		"released":                               {rows: released, to: 15, resets: "b", hold: 600, class: Unexplained, says: "then released"},
		"its server was killed":                  {rows: rows("a b c d e"), to: 41, hold: 600, faults: []*check.Fault{kill}, class: "kill of a"},
		"its server was killed, and ended it":    {rows: rows("a b"), to: 41, resets: "a b", hold: 600, faults: []*check.Fault{kill}, class: "kill of a"},
		"its server was killed, another ends it": {rows: rows("a b"), to: 41, resets: "b", hold: 600, faults: []*check.Fault{kill}, class: Unexplained},
		"its server's agent lied":                {rows: rows("a b"), to: 41, resets: "b", hold: 600, faults: []*check.Fault{lie}, class: "lie of a"},
		"of another server":                      {rows: rows("b c"), to: 5, hold: 600, class: Unexplained, says: "a never had its bucket"},
		"its bucket is not known":                {to: 5, hold: 600, class: Unexplained, says: "not known"},
	} {
		facts := Facts{Buckets: []Bucket{{Rows: row.rows, Arrays: row.arrays, Applied: map[string]int64{"mux1": 0}}}, Faults: row.faults, Window: max(row.window, 8), Hold: row.hold, Connection: check.Connection{ID: 7, Servers: []string{"a"}, End: "reset",
			From: int64(max(row.from, 1) * 1e9), To: int64(row.to * 1e9), LastAnswer: int64(row.to*1e9) - 1e9}}
		if row.end != "" {
			facts.Connection.End = "timeout"
		}
		for _, server := range strings.Fields(row.resets) {
			facts.Resets = append(facts.Resets, Reset{server, facts.Connection.To - 1e6})
		}
		class, limit, why := facts.Class()
		if class != row.class || !strings.Contains(why, row.says) || limit != (class != Unexplained && row.faults == nil) {
			t.Errorf("%s: %s (%v), %s; want %s, %s", name, class, limit, why, row.class, row.says)
		}
		if said := facts.String(); !strings.HasPrefix(said, class+": connection 7") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestCutOff: muxes tell server3 to whom to pass on what it had from server4 while halves keep them apart, and again a second
// later, as in a run of the schedule health. That is the limit, if all muxes were cut off all that time and sent notices,
// and server3 counted none.
func TestCutOff(t *testing.T) {
	const sent, muxes, rack = `fairlead_mux_notices_total{result="sent"}`, "mux1,mux2,mux3", "server3,server4"
	halves := func(left, right string, from, to float64) *check.Fault {
		return &check.Fault{Fault: "halves", Left: left, Right: right, From: int64(from * 1e9), To: int64(to * 1e9)}
	}
	counted := func(name string, seconds ...float64) (samples []Sample) {
		for number, at := range seconds {
			samples = append(samples, Sample{int64(at * 1e9), map[string]int64{"deliver_unknown": int64(7 * number), name: int64(number)}})
		}
		return samples
	}
	for name, row := range map[string]struct {
		change func(*Facts)
		class  string
	}{
		"as it was":                      {func(*Facts) {}, "notice"},
		"long after":                     {func(f *Facts) { f.Connection.To, f.Resets[0].At = 50_139e6, 50_138e6 }, "notice"},
		"the other half first":           {func(f *Facts) { f.Faults[0] = halves(rack, muxes, 29.7, 40.8) }, "notice"},
		"a notice came after":            {func(f *Facts) { f.Samples["server3"] = append(f.Samples["server3"], counted("notice", 0, 43.2)[1]) }, "notice"},
		"no fault":                       {func(f *Facts) { f.Faults = nil }, Unexplained},
		"loss":                           {func(f *Facts) { f.Faults[0] = &check.Fault{Fault: "loss", Node: "server3", To: 60e9} }, Unexplained},
		"of another server":              {func(f *Facts) { f.Faults[0] = halves(muxes, "server4", 29.7, 40.8) }, Unexplained},
		"between the servers":            {func(f *Facts) { f.Faults[0] = halves("server4", "server3", 29.7, 40.8) }, Unexplained},
		"not of all muxes":               {func(f *Facts) { f.Faults[0] = halves("mux1,mux2", rack, 29.7, 40.8) }, Unexplained},
		"from after the first notice":    {func(f *Facts) { f.Faults[0].From = 35_060e6 }, Unexplained},
		"until before the second notice": {func(f *Facts) { f.Faults[0].To = 36_100e6 }, Unexplained},
		"it got a notice":                {func(f *Facts) { f.Samples["server3"] = counted("notice", 33.5, 35.8, 37) }, Unexplained},
		"it learned of a packet":         {func(f *Facts) { f.Samples["server3"] = counted("learned", 33.5, 35.8, 37) }, Unexplained},
		"what it counted is not known":   {func(f *Facts) { delete(f.Samples, "server3") }, Unexplained},
		"nor at the first notice":        {func(f *Facts) { f.Samples["server3"] = counted("drop_stale", 34.7, 35.8, 37) }, Unexplained},
		"nor at the second notice":       {func(f *Facts) { f.Samples["server3"] = counted("drop_stale", 33.5, 35.8) }, Unexplained},
		"no mux sent notices":            {func(f *Facts) { f.Samples["mux2"], f.Samples["mux3"] = nil, counted("other", 33.5, 36.5, 37.5) }, Unexplained},
		"answered by way of it":          {func(f *Facts) { f.Connection.LastAnswer = 34_500e6 }, Unexplained},
		"reset by the last":              {func(f *Facts) { f.Resets[0].Server = "server5" }, Unexplained},
		"by whom is not seen":            {func(f *Facts) { f.Resets = nil }, Unexplained},
		"timed out":                      {func(f *Facts) { f.Connection.End = "timeout" }, Unexplained},
		"not moved on":                   {func(f *Facts) { f.Buckets[0].Rows = f.Buckets[0].Rows[:2] }, Unexplained},
	} {
		first, second := map[string]int64{"mux1": 34_234e6, "mux2": 34_235e6, "mux3": 34_272e6}, map[string]int64{"mux1": 35_065e6, "mux2": 35_164e6, "mux3": 35_058e6}
		facts := Facts{Window: 120, Faults: []*check.Fault{halves(muxes, rack, 29.684, 40.798)}, Resets: []Reset{{"server3", 36_809e6}},
			Connection: check.Connection{Servers: []string{"server4"}, End: "reset", From: 20_971e6, To: 36_810e6, LastAnswer: 29_561e6},
			Buckets:    []Bucket{{Number: 12556, Rows: []Row{{2, "server4", nil, first}, {3, "server3", []string{"server4"}, first}, {4, "server5", []string{"server3"}, second}}}},
			Samples: map[string][]Sample{"server3": counted("drop_stale", 33.5, 34.7, 35.8, 37, 38),
				"mux1": counted("other", 33.6, 36.6, 37.6), "mux2": counted(sent, 33.4, 36.4, 37.4), "mux3": counted(sent, 33.5, 36.5, 37.5)}}
		row.change(&facts)
		if class, limit, why := facts.Class(); class != row.class || limit != (class == "notice") ||
			limit && !strings.Contains(why, "2 moves since server4 → server3 → server5; server3 was cut off when it was told of generation 4, and got no notice; reset by server3") {
			t.Errorf("%s: %s (%v), %s; want %s", name, class, limit, why, row.class)
		}
	}
}

// TestArrays: the bucket of a connection of a that four moves broke is that of the arrays by which it was opened, until
// newer ones know it. What a bucket that it never had would excuse is not its cause.
func TestArrays(t *testing.T) {
	moved, other := rows("a b c d e"), rows("x y")
	arrays := func(number int64, seconds float64, rows []Row) Bucket {
		if number == 0 {
			return Bucket{Rows: rows}
		}
		return Bucket{Arrays: number, Applied: map[string]int64{"mux1": int64(seconds * 1e9), "mux2": int64(seconds*1e9) + 2e8}, Rows: rows}
	}
	for name, row := range map[string]struct {
		from    float64
		buckets []Bucket
		class   string
		says    string
	}{
		"no arrays":                               {1, []Bucket{arrays(0, 0, moved)}, "fourth-move", "4 moves since a"},
		"opened by those before":                  {1, []Bucket{arrays(4, 11, other), arrays(0, 0, moved)}, "fourth-move", "4 moves since a"},
		"opened by those before, which are gone":  {1, []Bucket{arrays(4, 11, moved[1:])}, Unexplained, "not known"},
		"the newest came after its end":           {1, []Bucket{arrays(20, 60, other), arrays(4, 0.5, moved)}, "fourth-move", "4 moves since a"},
		"no mux has the newest":                   {1, []Bucket{{Arrays: 20, Rows: other}, arrays(4, 0.5, moved)}, "fourth-move", "4 moves since a"},
		"both came after its end":                 {1, []Bucket{arrays(21, 60, other), arrays(20, 50, moved)}, Unexplained, "not known"},
		"opened by the newest":                    {2, []Bucket{arrays(4, 1, moved), arrays(0, 0, other)}, "fourth-move", "4 moves since a"},
		"opened by a mux that had not the newest": {2, []Bucket{arrays(4, 1.9, other), arrays(0, 0, moved)}, "fourth-move", "4 moves since a"},
		"the newest know it":                      {1, []Bucket{arrays(4, 11, rows("x a b")), arrays(0, 0, moved)}, Unexplained, "1 moves since a → b"},
		"neither leads to it":                     {12, []Bucket{arrays(4, 11, other), arrays(0, 0, moved)}, Unexplained, "never had its bucket"},
	} {
		facts := Facts{Buckets: row.buckets, Window: 20, Hold: 600, Resets: []Reset{{"b", 41e9}},
			Connection: check.Connection{ID: 7, Servers: []string{"a"}, End: "reset", From: int64(row.from * 1e9), To: 41e9}}
		if class, _, why := facts.Class(); class != row.class || !strings.Contains(why, row.says) {
			t.Errorf("%s: %s, %s; want %s, %s", name, class, why, row.class, row.says)
		}
	}
}

// TestUnanswered: a connection that no server answered is that of the bucket's owner at its beginning.
func TestUnanswered(t *testing.T) {
	facts := Facts{Buckets: []Bucket{{Rows: rows("a b c d e f")}}, Window: 8, Hold: 600, Connection: check.Connection{End: "timeout", From: 11e9, To: 59e9}}
	if class, _, why := facts.Class(); class != "fourth-move" || !strings.Contains(why, "b → c → d → e → f") {
		t.Errorf("%s: %s", class, why)
	}
}

// TestString: the facts up to the connection's end are told, one a line; those of later rows and faults are not.
func TestString(t *testing.T) {
	facts := Facts{Connection: check.Connection{ID: 7, Client: "client1", Kind: "tcp", Servers: []string{"a"}, End: "reset", From: 1e9, To: 21e9, LastAnswer: 20e9, Local: "10.2.0.11:4444"},
		Why: "connection reset by peer", VIP: "10.99.0.1:80", Window: 8, Hold: 600,
		Buckets:  []Bucket{{9, 3, map[string]int64{"mux1": 20e9, "mux2": 22e9}, rows("e")}, {5, 0, nil, rows("a b c d")}},
		Faults:   []*check.Fault{{Fault: "loss", Node: "mux1", From: 18e9, To: 30e9}, {Fault: "kill", Node: "mux2", From: 22e9, To: 30e9}},
		Resets:   []Reset{{"c", 21e9}},
		Sockets:  []Sockets{{"b", 21e9, []string{"TIME-WAIT 0 0"}}},
		Counters: []string{"b, 19.0 s to 22.0 s: drop_stale +3"}}
	facts.Faults = append(facts.Faults, &check.Fault{Fault: "halves", Left: "mux1", Right: "a,b", From: 19e9, To: 1 << 62})
	want := `NOT EXPLAINED: connection 7 of client1 (tcp, 1.000 s to 21.000 s, answered 0 times by [a]) ended by reset: 2 moves since a → b → c; reset by c
  error     connection reset by peer
  tuple     10.2.0.11:4444 → 10.99.0.1:80, last answer at 20.000 s
  bucket    9 by arrays 3; mux1 20.000 s, mux2 22.000 s
  owner     generation 1: e, before none; mux1 0.000 s, mux2 0.200 s
  bucket    5
  owner     generation 1: a, before none; mux1 0.000 s, mux2 0.200 s
  owner     generation 2: b, before a; mux1 10.000 s, mux2 10.200 s
  owner     generation 3: c, before b, a; mux1 20.000 s, mux2 20.200 s
  fault     loss of mux1, 18.0 s to 21.0 s
  fault     halves of mux1 and a,b, 19.0 s to 21.0 s
  RST       by c at 21.000 s
  sockets   of b at 21.000 s: TIME-WAIT 0 0
  counters  b, 19.0 s to 22.0 s: drop_stale +3`
	if got := facts.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
