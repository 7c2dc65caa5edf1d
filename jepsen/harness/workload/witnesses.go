// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/trace"
)

// Witnesses keep what servers and muxes do, to trace connections that break: a program on each server's node, and the
// counters of muxes.
type Witnesses struct {
	Connections *Connections
	Service     int // its id
	Say         func(format string, args ...any)

	lock     sync.Mutex
	lines    map[string][]trace.Line   // by server
	counters map[string][]trace.Sample // by node
	asks     map[string]io.WriteCloser
	commands []*exec.Cmd
	stop     chan struct{}
	wait     sync.WaitGroup
}

// telling is in the name of each counter that is kept of a mux.
var telling = []string{"drop", "told", "acknowledg", "error", "fragment"}

// Start starts a witness on each server's node, and reads the counters of muxes.
func (w *Witnesses) Start() error {
	w.lines, w.counters, w.asks, w.stop = map[string][]trace.Line{}, map[string][]trace.Sample{}, map[string]io.WriteCloser{}, make(chan struct{})
	listing := w.Connections.Listing
	for _, node := range listing.With("server") {
		program, err := w.Connections.program(node.Node)
		if err != nil {
			return err
		}
		command := w.Connections.Cluster.Exec(node.Node, program, "witness", "--vip", listing.VIP, "--port", strconv.Itoa(listing.Port), "--service", strconv.Itoa(w.Service), "--show", node.Show)
		in, err := command.StdinPipe()
		if err != nil {
			return err
		}
		out, err := command.StdoutPipe()
		if err != nil {
			return err
		}
		if err := command.Start(); err != nil {
			return err
		}
		w.asks[node.Node] = in
		w.commands = append(w.commands, command)
		w.wait.Add(1)
		go func() { defer w.wait.Done(); w.hear(node.Node, out) }()
	}
	for _, mux := range listing.With("mux") {
		w.wait.Add(1)
		go func() { defer w.wait.Done(); w.read(mux) }()
	}
	return nil
}

func (w *Witnesses) hear(server string, out io.Reader) {
	decoder := json.NewDecoder(bufio.NewReader(out))
	told := map[string]bool{}
	for {
		var line trace.Line
		if err := decoder.Decode(&line); err != nil {
			return
		}
		line.At = w.Connections.Recorder.Since(time.Unix(0, line.At))
		w.lock.Lock()
		if line.Counters != nil {
			w.counters[server] = append(w.counters[server], trace.Sample{At: line.At, Counters: line.Counters, Seen: line.Seen})
		} else {
			w.lines[server] = append(w.lines[server], line)
		}
		w.lock.Unlock()
		if line.Error != "" && !told[line.Error] {
			told[line.Error] = true
			w.Say("the witness on %s: %s", server, line.Error)
		}
	}
}

// read keeps the counters of a mux, from time to time; those of a mux that does not answer are left out.
func (w *Witnesses) read(mux cluster.Node) {
	for {
		at := w.Connections.Recorder.Now()
		if counters, err := scrape(mux); err == nil {
			w.lock.Lock()
			w.counters[mux.Node] = append(w.counters[mux.Node], trace.Sample{At: at, Counters: counters})
			w.lock.Unlock()
		}
		select {
		case <-w.stop:
			return
		case <-time.After(time.Second):
		}
	}
}

func scrape(mux cluster.Node) (map[string]int64, error) {
	answer, err := muxClient.Get(mux.HTTP + "/metrics")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/metrics was answered with %s", mux.HTTP, answer.Status)
	}
	counters := map[string]int64{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, found := strings.Cut(lines.Text(), " ")
		if found && slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(name, part) }) {
			if number, err := strconv.ParseInt(value, 10, 64); err == nil {
				counters[name] = number
			}
		}
	}
	return counters, lines.Err()
}

// Ask asks all servers for the sockets that they have with a client's address and port now.
func (w *Witnesses) Ask(peer string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, ask := range w.asks {
		_, _ = io.WriteString(ask, peer+"\n") // a witness that has ended said so
	}
}

// Stop ends the witnesses, once they have answered.
func (w *Witnesses) Stop() {
	close(w.stop)
	w.lock.Lock()
	for _, ask := range w.asks {
		_ = ask.Close()
	}
	w.lock.Unlock()
	w.wait.Wait()
	for _, command := range w.commands {
		_ = command.Wait()
	}
}

// around is how long before and after a connection's end counters are compared, at least.
const around = int64(time.Second)

// Facts adds what was seen of a connection: RSTs to its client, sockets, what changed of the counters, and the counters
// themselves. It is called once the witnesses have been stopped.
func (w *Witnesses) Facts(facts *trace.Facts) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for server, lines := range w.lines {
		for _, line := range lines {
			switch {
			case line.At < facts.Connection.From || line.At > facts.Connection.To+10*around:
			case line.Reset == facts.Connection.Local && line.At <= facts.Connection.To:
				facts.Resets = append(facts.Resets, trace.Reset{Server: server, At: line.At})
			case line.Peer == facts.Connection.Local && len(line.Sockets) > 0:
				facts.Sockets = append(facts.Sockets, trace.Sockets{Server: server, At: line.At, Sockets: line.Sockets})
			}
		}
	}
	slices.SortFunc(facts.Resets, func(a, b trace.Reset) int { return int(a.At - b.At) })
	slices.SortFunc(facts.Sockets, func(a, b trace.Sockets) int { return strings.Compare(a.Server, b.Server) })
	for node, samples := range w.counters {
		facts.Counters = append(facts.Counters, changed(node, samples, facts.Connection.To-around, facts.Connection.To+around)...)
	}
	slices.Sort(facts.Counters)
	facts.Samples = w.counters
}

// changed says which counters of a node changed between the last sample before a time and the first after another; those
// that went down belong to a program that was started again.
func changed(node string, samples []trace.Sample, from, to int64) []string {
	first, last := trace.Around(samples, from, to)
	if first == nil || last.At <= first.At {
		return nil
	}
	var names []string
	for name, value := range last.Counters {
		if more := value - first.Counters[name]; more != 0 {
			names = append(names, fmt.Sprintf("%s %+d", name, more))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("%s, %.1f s to %.1f s: %s", node, float64(first.At)/1e9, float64(last.At)/1e9, strings.Join(names, ", "))}
}
