// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/scenario"
	"fairlead.dev/jepsen/traffic"
	"olympos.io/encoding/edn"
)

// movesMost is how often weights change in the longest life of a connection (see Mover): as often as a bucket's list has
// places. Without a hold, a connection that is older than its bucket's move plus the window breaks as documented.
const movesMost = 6

// Connections is the clients' traffic: many live connections from each client's node.
type Connections struct {
	Cluster  cluster.Cluster
	Listing  cluster.Listing
	Numbers  scenario.Connections
	Lives    [2]float64 // the shortest and the longest, in seconds
	Recorder *history.Recorder
	Seed     uint64
	Self     string                 // this program's path
	Remote   string                 // its path on nodes of other machines
	Broke    func(check.Connection) // is told at once of each connection that broke; nil for none

	clients []*client
	next    int64 // number of a connection among those of all clients
	lock    sync.Mutex
	seconds []traffic.Second // of all clients, in the recorder's time
	mptcp   int              // connections by MPTCP that were answered
	joined  int              // those of them that had a further subflow
	woken   int              // idle connections that were answered after their silence
}

// client is the program on one node.
type client struct {
	name    string
	command *exec.Cmd
	stop    io.Closer
	offset  int64 // the recorder's clock minus its own
	numbers map[int64]int64
	open    int
	done    bool
	ended   chan error
	said    strings.Builder
}

func (c *Connections) address() string { return fmt.Sprintf("%s:%d", c.Listing.VIP, c.Listing.Port) }

// begin starts a client on a node, and a reader of its lines.
func (c *Connections) begin(node string, hear func(*client, traffic.Line), words ...string) (*client, error) {
	each := &client{name: node, numbers: map[int64]int64{}, ended: make(chan error, 1)}
	program, err := c.program(node)
	if err != nil {
		return nil, err
	}
	words = append([]string{program, "client", "--address", c.address(), "--answer-seconds", fmt.Sprint(c.Numbers.AnswerSeconds)}, words...)
	each.command = c.Cluster.Exec(node, words...)
	stop, err := each.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	each.stop = stop
	out, err := each.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	each.command.Stderr = &each.said
	if err := each.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		decoder := json.NewDecoder(bufio.NewReaderSize(out, 1<<16))
		for {
			var line traffic.Line
			if err := decoder.Decode(&line); err != nil {
				break
			}
			if line.Clock != nil {
				each.offset = dated(c.Recorder.Now(), c.Recorder.Since(time.Unix(0, line.Unix))) - *line.Clock
			}
			each.done = each.done || line.Done
			hear(each, line)
		}
		err := each.command.Wait()
		if err == nil && !each.done {
			err = fmt.Errorf("it ended too early")
		}
		if err != nil {
			err = fmt.Errorf("the client on %s: %w: %s", node, err, strings.TrimSpace(each.said.String()))
		}
		each.ended <- err
	}()
	return each, nil
}

// dated returns the recorder's time of a client's first line: what the client's clock says, unless that is not the runner's
// clock. Then it is when the line arrived, which may be late.
func dated(arrived, said int64) int64 {
	if late := arrived - said; late < 0 || late > int64(firstLineSeconds*time.Second) {
		return arrived
	}
	return said
}

// firstLineSeconds is how long a client's first line takes at most, on a slow machine.
const firstLineSeconds = 5

// program returns this program's path on a client's node. The lab's nodes share the machine's files; to others it is copied.
func (c *Connections) program(node string) (string, error) {
	if c.Listing.Over != "ssh" {
		return c.Self, nil
	}
	self, err := os.Open(c.Self)
	if err != nil {
		return "", err
	}
	defer self.Close()
	send := c.Cluster.Exec(node, "sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1.new" && chmod 755 "$1.new" && mv "$1.new" "$1"`, "sh", c.Remote)
	send.Stdin = self
	if said, err := send.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot be copied to %s: %w: %s", c.Remote, node, err, strings.TrimSpace(string(said)))
	}
	return c.Remote, nil
}

// Start opens the connections, distributed over the clients' nodes.
func (c *Connections) Start() error {
	nodes := c.Listing.With("client")
	if len(nodes) == 0 {
		return fmt.Errorf("the cluster has no node with the role client")
	}
	for number, node := range nodes {
		part := func(of int) string {
			count := of / len(nodes)
			if number < of%len(nodes) {
				count++
			}
			return strconv.Itoa(count)
		}
		each, err := c.begin(node.Node, c.hear,
			"--connections", part(c.Numbers.Connections), "--mptcp", part(c.asked()), "--idle", part(c.idle()),
			"--interval", fmt.Sprint(1/c.Numbers.RequestsPerSecond),
			"--short-rate", fmt.Sprint(c.Numbers.ShortPerSecond/float64(len(nodes))),
			"--life-least", fmt.Sprint(c.Lives[0]), "--life-most", fmt.Sprint(c.Lives[1]), "--seed", fmt.Sprint(c.Seed+uint64(number)))
		if err != nil {
			return err
		}
		c.clients = append(c.clients, each)
	}
	return nil
}

// asked is how many of the long-lived connections ask for MPTCP.
func (c *Connections) asked() int {
	return int(math.Round(c.Numbers.MPTCP * float64(c.Numbers.Connections)))
}

// idle is how many of the long-lived connections are idle.
func (c *Connections) idle() int {
	return int(math.Floor(c.Numbers.Idle * float64(c.Numbers.Connections)))
}

// Woken reports how many idle connections were answered again after their silence; an error if none was.
func (c *Connections) Woken() (string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.idle() > 0 && c.woken == 0 {
		return "", errors.New("no idle connection was answered after its silence")
	}
	return fmt.Sprintf("%d idle connections were answered after their silence", c.woken), nil
}

// Joined reports how many connections by MPTCP there were and how many had a further subflow; an error if none had, as
// they then tested nothing.
func (c *Connections) Joined() (string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.asked() > 0 && c.joined == 0 {
		return "", fmt.Errorf("none of %d connections by MPTCP had a second subflow: clients need a second address, servers and service as docs/mptcp.md says; "+
			"or :mptcp 0", c.mptcp)
	}
	return fmt.Sprintf("%d of %d connections by MPTCP had a second subflow", c.joined, c.mptcp), nil
}

// connectionOp is the value of an operation before the connection's end is known.
type connectionOp struct {
	ID     int64       `edn:"id"`
	Client string      `edn:"client"`
	Kind   edn.Keyword `edn:"kind"`
}

func (c *Connections) hear(from *client, line traffic.Line) {
	c.lock.Lock()
	defer c.lock.Unlock()
	switch {
	case line.Opened != nil:
		c.next++
		from.numbers[line.Opened.ID] = c.next
		c.Recorder.AddAt("connections", history.Op{Process: c.next, Time: line.Opened.At + from.offset, Type: history.Invoke, F: "connection",
			Value: history.Value(connectionOp{c.next, from.name, edn.Keyword(line.Opened.Kind)})})
	case line.Ended != nil:
		each := line.Ended
		number := from.numbers[each.ID]
		delete(from.numbers, each.ID)
		value := check.Connection{ID: number, Client: from.name, Kind: edn.Keyword(each.Kind), Requests: each.Requests, Servers: each.Servers,
			Subflows: int64(each.Subflows), End: edn.Keyword(each.End), From: each.From + from.offset, To: each.To + from.offset}
		if each.Kind == traffic.MPTCP && each.Requests > 0 {
			c.mptcp++
			c.joined += min(each.Subflows, 1)
		}
		if each.Kind == traffic.Idle && each.Requests > 1 {
			c.woken++
		}
		value.Local = each.Local
		for _, stall := range each.Stalls {
			value.Stalls = append(value.Stalls, [2]int64{stall[0] + from.offset, stall[1] + from.offset})
		}
		if each.Requests > 0 {
			value.LastAnswer = each.LastAnswer + from.offset
		}
		if value.Broke() && c.Broke != nil {
			c.Broke(value)
		}
		c.Recorder.AddAt("connections", history.Op{Process: number, Time: value.To, Type: history.OK, F: "connection", Value: history.Value(value), Error: each.Why})
	case line.Second != nil:
		second := *line.Second
		second.At += from.offset
		from.open = second.Open
		c.seconds = append(c.seconds, second)
	}
}

// Seconds returns those of all clients so far.
func (c *Connections) Seconds() []traffic.Second {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.seconds
}

// Await waits until nearly all long-lived connections are open and answered; at any moment some are being replaced.
func (c *Connections) Await(within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		c.lock.Lock()
		open := 0
		for _, each := range c.clients {
			open += each.open
		}
		c.lock.Unlock()
		if open*10 >= c.Numbers.Connections*9 {
			return nil
		}
		for _, each := range c.clients {
			select {
			case err := <-each.ended:
				return fmt.Errorf("%s ended early: %w", each.name, err)
			default:
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d connections are open after %s", open, c.Numbers.Connections, within)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Stop closes all connections in order, each after the answer that it waits for.
func (c *Connections) Stop() error {
	var failure error
	for _, each := range c.clients {
		_ = each.stop.Close()
	}
	for _, each := range c.clients {
		if err := <-each.ended; err != nil && failure == nil {
			failure = err
		}
	}
	return failure
}

// Probe opens so many connections from all clients' nodes, and counts them by the server that answered.
func (c *Connections) Probe(count int) (map[string]int64, error) {
	servers := map[string]int64{}
	var lock sync.Mutex
	broken := ""
	nodes := c.Listing.With("client")
	var clients []*client
	for _, node := range nodes {
		each, err := c.begin(node.Node, func(_ *client, line traffic.Line) {
			lock.Lock()
			defer lock.Unlock()
			if line.Ended != nil {
				for _, server := range line.Ended.Servers {
					servers[server]++
				}
				if line.Ended.End != "closed" {
					broken = fmt.Sprintf("%s: %s, %s", line.Ended.Local, line.Ended.End, line.Ended.Why)
				}
			}
		}, "--count", strconv.Itoa(count/len(nodes)))
		if err != nil {
			return nil, err
		}
		clients = append(clients, each)
	}
	for _, each := range clients {
		if err := <-each.ended; err != nil {
			return nil, err
		}
	}
	if broken != "" {
		return nil, fmt.Errorf("a connection for counting shares broke: %s", broken)
	}
	return servers, nil
}

// Mover changes weights of the connections' service, so that their buckets move.
type Mover struct {
	API      *API
	Service  string
	Life     float64   // the longest of a connection, in seconds
	Moves    []float64 // when, in seconds from the beginning; nil: from time to time, none: never
	Seed     uint64
	Force    bool          // moves that controllers refuse, as a list is full; else each waits until it is not
	Patience time.Duration // for how long a move that waits is tried once the mover is stopped
	Say      func(format string, args ...any)
	stop     chan struct{}
	wait     sync.WaitGroup
	moved    int
}

// Start moves buckets at the times given; without any, movesMost times in the longest life of a connection.
func (m *Mover) Start() {
	m.stop = make(chan struct{})
	m.wait.Add(1)
	go func() {
		defer m.wait.Done()
		draw := rand.New(rand.NewPCG(m.Seed, 99))
		pause := time.Duration(m.Life / movesMost * 1.05 * float64(time.Second))
		began, next := time.Now(), time.Duration(0)
		for number := 0; m.Moves == nil || number < len(m.Moves); number++ {
			if m.Moves != nil {
				next = time.Duration(m.Moves[number] * float64(time.Second))
			}
			select {
			case <-m.stop:
				return
			case <-time.After(time.Until(began.Add(next))):
			}
			if err := m.move(number, draw); err != nil {
				m.Say("weights were not changed: %v", err)
			} else {
				m.moved++
				m.Say("weights were changed (%d)", m.moved)
			}
			next = time.Since(began) + pause
		}
	}()
}

// Stop stops the moves; an error if none was made, so that connections had nothing to survive, unless none is wanted.
func (m *Mover) Stop() error {
	close(m.stop)
	m.wait.Wait()
	if m.moved == 0 && (m.Moves == nil || len(m.Moves) > 0) {
		return fmt.Errorf("weights of %s were never changed: no bucket moved", m.Service)
	}
	return nil
}

// rolling returns the weights after a move: each of so many servers is drained in turn, when it has got the most by the
// move before. So many buckets move twice in a row.
func rolling(number, count int, draw *rand.Rand) []int64 {
	others := []int64{50, 100, 150}
	draw.Shuffle(len(others), func(a, b int) { others[a], others[b] = others[b], others[a] })
	weights := make([]int64, count)
	for at := range weights {
		weights[at] = others[at%len(others)]
	}
	weights[number%count] = 0
	weights[(number+1)%count] = 200
	return weights
}

// move drains one server and shifts load between the others.
func (m *Mover) move(number int, draw *rand.Rand) error {
	all, err := backends(m.API, m.Service)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("service %s has no backends; allowed: one or more", m.Service)
	}
	weights := rolling(number, len(all), draw)
	var deadline <-chan time.Time
	stop := m.stop
	for attempt := 0; ; attempt++ {
		err := setWeights(m.API, m.Service, m.Force, fmt.Sprintf("move-%d-%d-%d", m.Seed, number, attempt), func(at int, _ Backend) int64 { return weights[at] })
		if m.Force || !errors.Is(err, ErrRefused) {
			return err
		}
		if attempt == 0 {
			m.Say("weights wait: %v", err)
		}
		select {
		case <-stop:
			stop, deadline = nil, time.After(m.Patience)
		case <-deadline:
			return err
		case <-time.After(refusedPause):
		}
	}
}

// refusedPause is between two attempts at a move that controllers refuse.
const refusedPause = time.Second

func backends(api *API, service string) ([]Backend, error) {
	answer, err := api.Await("/v1/services/"+service+"/backends", 30*time.Second)
	if err != nil {
		return nil, err
	}
	return answer.Backends()
}

// Weights returns those of a service's backends, by id.
func Weights(api *API, service string) (map[int64]int64, error) {
	all, err := backends(api, service)
	weights := map[int64]int64{}
	for _, each := range all {
		weights[each.ID] = each.Weight
	}
	return weights, err
}

// SetWeights gives each backend of a service a weight, in one generation, even if connections break.
func SetWeights(api *API, service, key string, weight func(at int, backend Backend) int64) error {
	return setWeights(api, service, true, key, weight)
}

func setWeights(api *API, service string, force bool, key string, weight func(at int, backend Backend) int64) error {
	path := "/v1/services/" + service
	all, err := backends(api, service)
	if err != nil {
		return err
	}
	var changes []any
	for at, each := range all {
		changes = append(changes, map[string]any{"op": "weight", "id": each.ID, "weight": weight(at, each)})
	}
	_, err = api.Write(Request{Method: "POST", Path: fmt.Sprintf("%s/changes?force=%t", path, force), Body: map[string]any{"changes": changes}}, key, 0, 30*time.Second)
	return err
}
