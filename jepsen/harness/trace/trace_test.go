// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"slices"
	"strings"
	"testing"

	"fairlead.dev/jepsen/check"
	"olympos.io/encoding/edn"
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
		rows = append(rows, Row{Generation: int64(number + 1), Owner: owner, Former: former, Applied: map[string]int64{"mux1": at, "mux2": at + 2e8}})
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
	full, room := rows("x y a b c"), rows("x y a b c")
	full[3].Former, full[4].Former = []string{"a", "y"}, []string{"b", "a"}
	for number, former := range [][]string{nil, {"x"}, {"y", "x"}, {"a", "y"}, {"b", "a"}} {
		full[number].Former = former
	}
	room[3].Former, room[4].Former = []string{"a"}, []string{"b"}
	again := append(slices.Clone(full), Row{Generation: 6, Owner: "y", Former: []string{"c", "b"}, Applied: map[string]int64{"mux1": 50e9}})
	for name, row := range map[string]struct {
		rows   []Row
		end    string
		to     float64
		reset  float64 // 1 ms before its end without
		answer float64 // the last one; 1 s before its end without
		resets string  // the servers that sent a RST, in order
		hold   float64
		window float64 // 8 without
		arrays int64
		faults []*check.Fault
		from   float64
		server string // a without
		class  string
		says   string
	}{
		"four moves":                             {rows: rows("a b c d e"), to: 45, resets: "b", hold: 600, class: Unexplained, says: "a → b → c → d → e; the newest row names e, d, c, b, a; reset by b"},
		"by whom is not seen":                    {rows: rows("a b"), to: 15, hold: 600, class: Unexplained, says: "who sent the RST was not seen"},
		"timed out":                              {rows: rows("a b"), end: "timeout", to: 30, hold: 600, class: Unexplained, says: "a → b; the newest row names b, a"},
		"the last move comes later":              {rows: rows("a b c"), to: 15, resets: "b", hold: 600, class: Unexplained, says: "a → b; the newest row names b, a"},
		"its server got it again":                {rows: rows("a b c d a e"), to: 55, resets: "d", hold: 600, class: Unexplained, says: "a → e; the newest row names e, a, d, c, b"},
		"no move":                                {rows: rows("a"), to: 5, resets: "a", hold: 600, class: Unexplained, says: "a; the newest row names a; reset by a"},
		"cut from the end of a full list":        {rows: full, to: 45, resets: "c", hold: 600, server: "y", class: "overflow", says: "generation 5 had no room for y"},
		"still on the full list":                 {rows: full, to: 45, resets: "c", hold: 600, server: "a", class: Unexplained},
		"cut only after its end":                 {rows: full, to: 39, resets: "b", hold: 600, server: "y", class: Unexplained},
		"named again once it was reset":          {rows: again, to: 60, reset: 45, resets: "c", hold: 600, server: "y", class: "overflow", says: "generation 5 had no room for y"},
		"named again before it was reset":        {rows: again, to: 60, reset: 55, resets: "c", hold: 600, server: "y", class: Unexplained},
		"a RST before its last answer":           {rows: again, to: 60, reset: 45, resets: "c", answer: 58, hold: 600, server: "y", class: Unexplained},
		"released while there was room":          {rows: room, to: 45, resets: "c", hold: 600, class: Unexplained, says: "the newest row names c, b"},
		"a window after the move":                {rows: rows("a b"), to: 19, resets: "b", class: "window", says: "a lost it 9.0 s before"},
		"a window after the first of two":        {rows: rows("a b c"), to: 26, window: 15, resets: "c", class: "window", says: "16.0 s"},
		"by arrays, and kept":                    {rows: rows("a b"), arrays: 3, to: 19, resets: "b", class: Unexplained},
		"by arrays, and released":                {rows: released, arrays: 3, to: 19, resets: "b", class: Unexplained},
		"within the window":                      {rows: rows("a b"), to: 15, resets: "b", class: Unexplained},
		"released":                               {rows: released, to: 15, resets: "b", hold: 600, class: Unexplained, says: "the newest row names b; reset"},
		"its server was killed":                  {rows: rows("a b c d e"), to: 41, hold: 600, faults: []*check.Fault{kill}, class: "kill of a"},
		"its server was killed, and ended it":    {rows: rows("a b"), to: 41, resets: "a b", hold: 600, faults: []*check.Fault{kill}, class: "kill of a"},
		"its server was killed, another ends it": {rows: rows("a b"), to: 41, resets: "b", hold: 600, faults: []*check.Fault{kill}, class: Unexplained},
		"its server's agent lied":                {rows: rows("a b"), to: 41, resets: "b", hold: 600, faults: []*check.Fault{lie}, class: "lie of a"},
		"of another server":                      {rows: rows("b c"), to: 5, hold: 600, class: Unexplained, says: "a never had its bucket"},
		"its bucket is not known":                {to: 5, hold: 600, class: Unexplained, says: "not known"},
	} {
		if row.server == "" {
			row.server = "a"
		}
		facts := Facts{Buckets: []Bucket{{Rows: row.rows, Arrays: row.arrays, Applied: map[string]int64{"mux1": 0}}}, Faults: row.faults, Window: max(row.window, 8), Hold: row.hold, Behind: 5, Places: 2,
			Connection: check.Connection{ID: 7, Servers: []string{row.server}, End: "reset", From: int64(max(row.from, 1) * 1e9), To: int64(row.to * 1e9), LastAnswer: int64(row.to*1e9) - 1e9}}
		if row.end != "" {
			facts.Connection.End = "timeout"
		}
		for _, server := range strings.Fields(row.resets) {
			facts.Resets = append(facts.Resets, Reset{server, facts.Connection.To - 1e6})
		}
		if row.reset != 0 {
			facts.Resets[0].At, facts.Connection.LastAnswer = int64(row.reset*1e9), int64(max(row.answer, row.reset-1)*1e9)
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

// TestLate: the bucket moved from server1 to server2 and to server3, which took a connection. mux2 has not applied that, and
// sends a packet of it to server2, which resets it, as it has not heard of generation 3: it lost both muxes' notices. That is
// a limit if it could not know; if mux2 is behind for so long that it should have withdrawn, so is that.
func TestLate(t *testing.T) {
	lost := func(fault, node string, from, to float64) *check.Fault {
		each := &check.Fault{Fault: edn.Keyword(fault), Node: node, From: int64(from * 1e9), To: int64(to * 1e9)}
		if fault == "halves" {
			each.Node, each.Left, each.Right = "", node, "mux1,mux3"
		}
		return each
	}
	seen := func(generations ...int64) (samples []Sample) {
		for number, generation := range generations {
			samples = append(samples, Sample{At: int64(20+number) * 1e9, Seen: generation})
		}
		return samples
	}
	earlier := func(f *Facts, at int64) { // server1, which knew, had sent a RST
		f.Resets, f.Samples["server1"] = append([]Reset{{"server1", at}}, f.Resets...), seen(2, 3, 3, 3)
	}
	for name, row := range map[string]struct {
		change func(*Facts)
		class  string
	}{
		"as it was":                         {func(*Facts) {}, "notice"},
		"cut off from all that told it":     {func(f *Facts) { f.Faults[0] = lost("halves", "server2,server1", 18, 30) }, "notice"},
		"cut off from one of them":          {func(f *Facts) { f.Faults[0] = lost("halves", "server2", 18, 30); f.Faults[0].Right = "mux1" }, Unexplained},
		"no notice was lost":                {func(f *Facts) { f.Faults = nil }, Unexplained},
		"they were lost at another server":  {func(f *Facts) { f.Faults[0].Node = "server1" }, Unexplained},
		"it was slow":                       {func(f *Facts) { f.Faults[0].Fault = "slow" }, Unexplained},
		"lost only later":                   {func(f *Facts) { f.Faults[0].From = 19_500e6 }, Unexplained},
		"lost only before":                  {func(f *Facts) { f.Faults[0].To = 20_100e6 }, Unexplained},
		"it had heard of the generation":    {func(f *Facts) { f.Samples["server2"] = seen(2, 2, 3, 3) }, Unexplained},
		"what it had heard of is not known": {func(f *Facts) { delete(f.Samples, "server2") }, Unexplained},
		"it heard of it later":              {func(f *Facts) { f.Samples["server2"] = seen(2, 2, 2, 2, 3) }, "notice"},
		"reset by another, not on its way":  {func(f *Facts) { f.Resets[0].Server = "server4" }, Unexplained},
		"reset at the end, one before knew": {func(f *Facts) { f.Resets[0].Server, f.Samples["server2"] = "server1", seen(2, 3, 3, 3) }, Unexplained},
		"another that knew reset it first":  {func(f *Facts) { earlier(f, 22_500e6) }, Unexplained},
		"another did before its answer":     {func(f *Facts) { earlier(f, 21_500e6) }, "notice"},
		"all RSTs before its last answer":   {func(f *Facts) { f.Resets[0].At, f.Samples["server1"] = 21_500e6, seen(2, 3) }, Unexplained},
		"reset at the end":                  {func(f *Facts) { f.Resets[0].Server = "server1" }, "notice"},
		"by whom is not seen":               {func(f *Facts) { f.Resets = nil }, "notice"},
		"timed out":                         {func(f *Facts) { f.Connection.End = "timeout" }, Unexplained},
		"no mux was late":                   {func(f *Facts) { f.Buckets[0].Rows[2].Applied["mux2"] = 21e9 }, Unexplained},
		"it was late until just before":     {func(f *Facts) { f.Buckets[0].Rows[2].Applied["mux2"] = 22_100e6 }, "notice"},
		"of a server that its row names":    {func(f *Facts) { f.Connection.Servers[0] = "server1" }, Unexplained},
		"behind for long":                   {func(f *Facts) { f.Connection.To, f.Resets[0].At = 35_100e6, 35_090e6 }, "alone"},
		"behind for long, timed out":        {func(f *Facts) { f.Connection.To, f.Connection.End = 35_100e6, "timeout" }, "alone"},
		"not yet for long":                  {func(f *Facts) { f.Connection.To, f.Connection.End = 34_900e6, "timeout" }, Unexplained},
		"opened where it was released": {func(f *Facts) {
			f.Connection.Servers[0], f.Connection.From, f.Connection.To = "server2", 36e9, 40e9
			f.Buckets[0].Rows = append(f.Buckets[0].Rows, Row{Generation: 4, Owner: "server3", Applied: map[string]int64{"mux1": 35e9, "mux3": 35e9}})
		}, "alone"},
		"opened where it was released by no late mux": {func(f *Facts) {
			f.Connection.Servers[0], f.Connection.From, f.Connection.To = "server2", 36e9, 40e9
			f.Buckets[0].Rows[2].Applied["mux2"] = 30e9
			f.Buckets[0].Rows = append(f.Buckets[0].Rows, Row{Generation: 4, Owner: "server3", Applied: map[string]int64{"mux1": 35e9, "mux2": 35e9}})
		}, Unexplained},
	} {
		facts := Facts{Hold: 600, Window: 8, Behind: 5, Faults: []*check.Fault{lost("loss", "server2", 18, 30)}, Resets: []Reset{{"server2", 22_900e6}},
			Connection: check.Connection{Servers: []string{"server3"}, End: "reset", From: 20_500e6, To: 23_000e6, LastAnswer: 22_000e6},
			Buckets: []Bucket{{Number: 5, Rows: []Row{
				{Generation: 1, Owner: "server1", Applied: map[string]int64{"mux1": 0, "mux2": 0, "mux3": 0}},
				{Generation: 2, Owner: "server2", Former: []string{"server1"}, Applied: map[string]int64{"mux1": 10e9, "mux2": 10e9, "mux3": 10e9}},
				{Generation: 3, Owner: "server3", Former: []string{"server2", "server1"}, Applied: map[string]int64{"mux1": 20e9, "mux3": 20_200e6}},
			}}},
			Samples: map[string][]Sample{"server1": seen(2, 2, 2, 2), "server2": seen(2, 2, 2, 2)}}
		facts.Faults = append(facts.Faults, lost("loss", "server1", 18, 30))
		if name == "no notice was lost" || name == "cut off from all that told it" {
			facts.Faults = facts.Faults[:1]
		}
		row.change(&facts)
		class, limit, why := facts.Class()
		if class != row.class || limit != (class != Unexplained) {
			t.Errorf("%s: %s (%v), %s; want %s", name, class, limit, why, row.class)
		}
		if class == "notice" && !strings.Contains(why, "mux2 had not applied generation 3, and no server on its packet's way had heard of it") {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// TestTwoBuckets: a packet that names two buckets names both owners, then the first one's former owners, then the second's.
func TestTwoBuckets(t *testing.T) {
	first, second := rows("a b"), rows("c a d")
	second[1].Generation, second[2].Generation = 3, 4
	got := both(first, second)
	want := []string{"a c", "b c a", "b a c", "b d a c"}
	for number, row := range got {
		if number >= len(want) || strings.Join(row.listed(), " ") != want[number] {
			t.Errorf("generation %d: %v, want %v", row.Generation, row.listed(), want)
		}
	}
	if len(got) != len(want) || both(nil, second) != nil {
		t.Errorf("%+v", got)
	}
	facts := Facts{Hold: 600, Buckets: []Bucket{{Number: 5, Rows: first}, {Number: 9, Second: true, Rows: second}},
		Connection: check.Connection{Servers: []string{"c"}, End: "reset", From: 1e9, To: 40e9}}
	if class, _, why := facts.Class(); class != Unexplained || !strings.Contains(why, "b+c → b+a → b+d; the newest row names b, d, a, c") {
		t.Errorf("%s: %s", class, why)
	}
	if said := facts.String(); !strings.Contains(said, "\n  bucket    9, the second\n") {
		t.Error(said)
	}
}

// TestArrays: the bucket of a connection of a is that of the arrays by which it was opened, until
// newer ones know it.
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
		says    string
	}{
		"no arrays":                               {1, []Bucket{arrays(0, 0, moved)}, "a → b → c → d → e"},
		"opened by those before":                  {1, []Bucket{arrays(4, 11, other), arrays(0, 0, moved)}, "a → b → c → d → e"},
		"opened by those before, which are gone":  {1, []Bucket{arrays(4, 11, moved[1:])}, "not known"},
		"the newest came after its end":           {1, []Bucket{arrays(20, 60, other), arrays(4, 0.5, moved)}, "a → b → c → d → e"},
		"no mux has the newest":                   {1, []Bucket{{Arrays: 20, Rows: other}, arrays(4, 0.5, moved)}, "a → b → c → d → e"},
		"both came after its end":                 {1, []Bucket{arrays(21, 60, other), arrays(20, 50, moved)}, "not known"},
		"opened by the newest":                    {2, []Bucket{arrays(4, 1, moved), arrays(0, 0, other)}, "a → b → c → d → e"},
		"opened by a mux that had not the newest": {2, []Bucket{arrays(4, 1.9, other), arrays(0, 0, moved)}, "a → b → c → d → e"},
		"the newest know it":                      {1, []Bucket{arrays(4, 11, rows("x a b")), arrays(0, 0, moved)}, "a → b; "},
		"neither leads to it":                     {12, []Bucket{arrays(4, 11, other), arrays(0, 0, moved)}, "never had its bucket"},
	} {
		facts := Facts{Buckets: row.buckets, Window: 20, Hold: 600, Resets: []Reset{{"b", 41e9}},
			Connection: check.Connection{ID: 7, Servers: []string{"a"}, End: "reset", From: int64(row.from * 1e9), To: 41e9}}
		if class, _, why := facts.Class(); class != Unexplained || !strings.Contains(why, row.says) {
			t.Errorf("%s: %s, %s; want %s", name, class, why, row.says)
		}
	}
}

// TestUnanswered: a connection that no server answered is that of the bucket's owner at its beginning.
func TestUnanswered(t *testing.T) {
	facts := Facts{Buckets: []Bucket{{Rows: rows("a b c d e f")}}, Window: 8, Hold: 600, Connection: check.Connection{End: "timeout", From: 11e9, To: 59e9}}
	if class, _, why := facts.Class(); class != Unexplained || !strings.Contains(why, "b → c → d → e → f") {
		t.Errorf("%s: %s", class, why)
	}
}

// TestString: the facts up to the connection's end are told, one a line; those of later rows and faults are not.
func TestString(t *testing.T) {
	facts := Facts{Connection: check.Connection{ID: 7, Client: "client1", Kind: "tcp", Servers: []string{"a"}, End: "reset", From: 1e9, To: 21e9, LastAnswer: 20e9, Local: "10.2.0.11:4444"},
		Why: "connection reset by peer", VIP: "10.99.0.1:80", Window: 8, Hold: 600,
		Buckets:  []Bucket{{Number: 9, Arrays: 3, Applied: map[string]int64{"mux1": 20e9, "mux2": 22e9}, Rows: rows("e")}, {Number: 5, Rows: rows("a b c d")}},
		Faults:   []*check.Fault{{Fault: "loss", Node: "mux1", From: 18e9, To: 30e9}, {Fault: "kill", Node: "mux2", From: 22e9, To: 30e9}},
		Resets:   []Reset{{"c", 21e9}},
		Sockets:  []Sockets{{"b", 21e9, []string{"TIME-WAIT 0 0"}}},
		Counters: []string{"b, 19.0 s to 22.0 s: drop_stale +3"}}
	facts.Faults = append(facts.Faults, &check.Fault{Fault: "halves", Left: "mux1", Right: "a,b", From: 19e9, To: 1 << 62})
	want := `NOT EXPLAINED: connection 7 of client1 (tcp, 1.000 s to 21.000 s, answered 0 times by [a]) ended by reset: a → b → c; the newest row names c, b, a; reset by c
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
