// SPDX-License-Identifier: Apache-2.0

// Package traffic is the client: a separate process on a client's node that keeps a number of connections alive. Each
// answer names the server that sent it. The process reports on standard output, one JSON object a line, and ends in
// order when its standard input does.
package traffic

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options of a client.
type Options struct {
	Address       string  // of the service, with the port
	Connections   int     // long-lived ones, each replaced by another when its life is over
	MPTCP         int     // of these, how many ask for MPTCP
	Idle          int     // of these, how many others send only at the beginning and the end of their lives
	Interval      float64 // seconds between requests of a long-lived one
	LifeLeast     float64 // seconds
	LifeMost      float64
	ShortRate     float64 // connections with one request, a second
	AnswerSeconds float64 // without an answer a connection is broken
	Count         int     // if not 0: open only so many connections with one request, at once, then end
	Seed          uint64
}

// Line is a line of standard output: exactly one of its parts is set.
type Line struct {
	Clock  *int64  `json:"clock,omitempty"` // the first line: the clock of all other times, in nanoseconds
	Unix   int64   `json:"unix,omitempty"`  // what the machine's clock says then
	Opened *Opened `json:"opened,omitempty"`
	Ended  *Ended  `json:"ended,omitempty"`
	Second *Second `json:"second,omitempty"`
	Done   bool    `json:"done,omitempty"`
}

// Kind is what a connection asked for, and whether it is idle. If the other side answers MPTCP with TCP, the connection
// continues with TCP.
type Kind string

// The kinds. Idle is by TCP.
const (
	TCP   Kind = "tcp"
	MPTCP Kind = "mptcp"
	Idle  Kind = "idle"
)

// Opened is a connection that is about to send its SYN.
type Opened struct {
	ID   int64 `json:"id"`
	At   int64 `json:"at"`
	Kind Kind  `json:"kind"`
}

// Ended is a connection's whole life.
type Ended struct {
	ID         int64      `json:"id"`
	From       int64      `json:"from"`
	To         int64      `json:"to"`
	LastAnswer int64      `json:"last_answer"`
	Requests   int64      `json:"requests"`
	Servers    []string   `json:"servers"`
	Stalls     [][2]int64 `json:"stalls,omitempty"` // waits of stallLeast and more, each from a request, or from the beginning, to its answer or the end
	Kind       Kind       `json:"kind"`
	Subflows   int        `json:"subflows"` // the most further ones that it had at once; 0 for TCP
	End        string     `json:"end"`
	Why        string     `json:"why,omitempty"`
	Local      string     `json:"local"`
}

// Second sums up one second; latencies are in milliseconds.
type Second struct {
	At       int64   `json:"at"`
	Open     int     `json:"open"` // long-lived connections that have been answered
	Requests int     `json:"requests"`
	Median   float64 `json:"median"`
	Most     float64 `json:"most"`
}

// dialsAtOnce bounds how many connections open at once at the beginning, so that no backlog overflows.
const dialsAtOnce = 64

// stallLeast is the shortest wait that is reported: TCP sends again after so long, at the earliest.
const stallLeast = 200 * time.Millisecond

// stopSeconds is how long a silent connection may take to notice that the client stops.
const stopSeconds = 1

type client struct {
	options Options
	origin  time.Time
	stop    chan struct{}
	lock    sync.Mutex
	out     *json.Encoder
	id      int64
	open    int
	took    []float64
	dials   chan struct{}
}

// Run is the whole client.
func Run(options Options, in io.Reader, out io.Writer) error {
	c := &client{options: options, origin: time.Now(), stop: make(chan struct{}), out: json.NewEncoder(out), dials: make(chan struct{}, dialsAtOnce)}
	zero := int64(0)
	c.say(Line{Clock: &zero, Unix: c.origin.UnixNano()})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(c.stop)
	}()
	var wait sync.WaitGroup
	if options.Count > 0 {
		for range options.Count {
			wait.Add(1)
			go func() { defer wait.Done(); c.connection(0, TCP) }()
		}
		wait.Wait()
		c.say(Line{Done: true})
		return nil
	}
	draw := rand.New(rand.NewPCG(options.Seed, 0))
	for number := range options.Connections {
		kind := TCP
		switch {
		case number < options.MPTCP:
			kind = MPTCP
		case number < options.MPTCP+options.Idle:
			kind = Idle
		}
		// The first lives are shortened at random, so that not all end at once.
		first := options.LifeLeast + draw.Float64()*(options.LifeMost-options.LifeLeast)
		seed := draw.Uint64()
		wait.Add(1)
		go func() { defer wait.Done(); c.slot(first*draw01(seed), seed, kind) }()
	}
	wait.Add(2)
	go func() { defer wait.Done(); c.seconds() }()
	go func() { defer wait.Done(); c.shorts(&wait) }()
	wait.Wait()
	c.say(Line{Done: true})
	return nil
}

func draw01(seed uint64) float64 { return float64(seed>>11) / (1 << 53) }

func (c *client) now() int64 { return int64(time.Since(c.origin)) }

func (c *client) say(line Line) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if err := c.out.Encode(line); err != nil {
		fmt.Fprintln(os.Stderr, "client: cannot write:", err)
		os.Exit(1) // the reader has gone
	}
}

func (c *client) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// slot holds one connection at a time.
func (c *client) slot(life float64, seed uint64, kind Kind) {
	draw := rand.New(rand.NewPCG(seed, 1))
	for !c.stopped() {
		if !c.connection(max(life, 1), kind) {
			c.pause(1) // after a refusal it does not connect again at once
		}
		life = c.options.LifeLeast + draw.Float64()*(c.options.LifeMost-c.options.LifeLeast)
	}
}

func (c *client) pause(seconds float64) {
	select {
	case <-c.stop:
	case <-time.After(time.Duration(seconds * float64(time.Second))):
	}
}

func (c *client) shorts(wait *sync.WaitGroup) {
	if c.options.ShortRate <= 0 {
		return
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / c.options.ShortRate))
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			wait.Add(1)
			go func() { defer wait.Done(); c.connection(0, TCP) }()
		}
	}
}

func (c *client) seconds() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		c.lock.Lock()
		took := c.took
		second := Second{At: c.now(), Open: c.open, Requests: len(took)}
		c.took = nil
		c.lock.Unlock()
		if len(took) > 0 {
			slices.Sort(took)
			second.Median, second.Most = took[len(took)/2], took[len(took)-1]
		}
		c.say(Line{Second: &second})
	}
}

// connection lives for so many seconds, or for one request if that is 0; it reports whether it was closed in order.
func (c *client) connection(life float64, kind Kind) bool {
	c.dials <- struct{}{}
	c.lock.Lock()
	c.id++
	each := Ended{ID: c.id, Kind: kind, Servers: []string{}}
	c.lock.Unlock()
	each.From = c.now()
	c.say(Line{Opened: &Opened{each.ID, each.From, kind}})
	answer := time.Duration(c.options.AnswerSeconds * float64(time.Second))
	dialer := net.Dialer{Timeout: answer}
	dialer.SetMultipathTCP(kind == MPTCP)
	var local func() string
	local, dialer.Control = localAddress()
	conn, err := dialer.Dial("tcp4", c.options.Address)
	each.Local = local()
	open := err == nil
	if open {
		each.Local = conn.LocalAddr().String()
		err = c.talk(conn, &each, life, answer, func() { <-c.dials })
		_ = conn.Close()
	} else {
		<-c.dials
	}
	each.To = c.now()
	if err != nil && !open {
		each.waited(each.From, each.To)
	}
	each.End = end(err, open)
	if err != nil {
		each.Why = err.Error()
	}
	if each.Requests > 0 && life > 0 {
		c.lock.Lock()
		c.open--
		c.lock.Unlock()
	}
	c.say(Line{Ended: &each})
	return err == nil
}

// waited adds a wait to the stalls if it was long.
func (e *Ended) waited(from, to int64) {
	if to-from >= int64(stallLeast) {
		e.Stalls = append(e.Stalls, [2]int64{from, to})
	}
}

// localAddress returns a function for a dialer to call, and one that says afterwards, once, from which address and port it
// tried, also if no connection came of it; "" if it had none.
func localAddress() (func() string, func(network, address string, raw syscall.RawConn) error) {
	kept := -1
	drop := func() {
		if kept >= 0 {
			_ = syscall.Close(kept)
		}
		kept = -1
	}
	keep := func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(descriptor uintptr) {
			drop()
			if copied, err := syscall.Dup(int(descriptor)); err == nil {
				kept = copied
			}
		})
	}
	return func() string {
		defer drop()
		if name, err := syscall.Getsockname(kept); err == nil {
			if inet, is := name.(*syscall.SockaddrInet4); is && inet.Port != 0 {
				return netip.AddrPortFrom(netip.AddrFrom4(inet.Addr), uint16(inet.Port)).String()
			}
		}
		return ""
	}, keep
}

// end is the word for how a connection ended; `open` says whether it was ever open.
func end(err error, open bool) string {
	var network net.Error
	switch {
	case err == nil:
		return "closed"
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, syscall.ETIMEDOUT):
		return "timeout"
	case !open:
		return "refused"
	}
	return "reset"
}

// talk sends requests until the life is over; an idle connection sends the last one then, and none between. Between
// requests it reads, so that an end is noticed at once.
func (c *client) talk(conn net.Conn, each *Ended, life float64, answer time.Duration, first func()) error {
	begin := time.Now()
	over := begin.Add(time.Duration(life * float64(time.Second)))
	interval := time.Duration(c.options.Interval * float64(time.Second))
	reader := bufio.NewReaderSize(conn, 512)
	for {
		asked := time.Now()
		_ = conn.SetDeadline(asked.Add(answer))
		server, err := ask(conn, reader)
		if from := int64(asked.Sub(c.origin)); each.Requests > 0 {
			each.waited(from, c.now())
		} else {
			each.waited(each.From, c.now())
		}
		if each.Requests == 0 {
			first()
		}
		if err != nil {
			return err
		}
		c.answered(conn, each, server, time.Since(asked), life > 0)
		next := asked.Add(interval)
		if each.Kind == Idle {
			if each.Requests > 1 {
				return nil
			}
			next = over
		} else if next.After(over) || c.stopped() {
			return nil
		}
		if err := c.listen(conn, reader, next); err != nil {
			return err
		}
		if c.stopped() && each.Kind != Idle {
			return nil
		}
	}
}

func (c *client) answered(conn net.Conn, each *Ended, server string, took time.Duration, long bool) {
	if each.Requests++; each.Requests == 1 && long {
		c.lock.Lock()
		c.open++
		c.lock.Unlock()
	}
	if !slices.Contains(each.Servers, server) {
		each.Servers = append(each.Servers, server)
	}
	each.LastAnswer = c.now()
	if each.Kind == MPTCP {
		each.Subflows = max(each.Subflows, subflows(conn))
	}
	c.lock.Lock()
	c.took = append(c.took, float64(took.Microseconds())/1000)
	c.lock.Unlock()
}

// From linux/mptcp.h: the first byte of this option is the number of further subflows.
const (
	solMPTCP  = 284
	infoMPTCP = 1
)

// subflows returns how many further subflows a connection has now; 0 for TCP, asked for or not.
func subflows(conn net.Conn) int {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0
	}
	count := 0
	_ = raw.Control(func(descriptor uintptr) {
		var told [4]byte
		value, err := syscall.GetsockoptInt(int(descriptor), solMPTCP, infoMPTCP)
		if err == nil {
			binary.NativeEndian.PutUint32(told[:], uint32(value))
			count = int(told[0])
		}
	})
	return count
}

// listen waits for the time of the next request, or until the client stops; data or an end before that is an error.
func (c *client) listen(conn net.Conn, reader *bufio.Reader, until time.Time) error {
	for {
		part := time.Now().Add(stopSeconds * time.Second)
		if part.After(until) {
			part = until
		}
		_ = conn.SetReadDeadline(part)
		_, err := reader.ReadByte()
		switch {
		case err == nil:
			return errors.New("unexpected bytes arrived")
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case part == until || c.stopped():
			return nil
		}
	}
}

var request = []byte("GET / HTTP/1.1\r\nHost: fairlead\r\n\r\n")

// ask sends a request and reads its answer: a 200 with the server's name.
func ask(conn net.Conn, reader *bufio.Reader) (string, error) {
	if _, err := conn.Write(request); err != nil {
		return "", err
	}
	status, err := reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	length := -1
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return "", err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "content-length") {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	if !strings.HasPrefix(status, "HTTP/1.1 200 ") || length < 0 || length > 255 {
		return "", fmt.Errorf("the answer is %q with %d bytes", strings.TrimSpace(status), length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(reader, body); err != nil {
		return "", err
	}
	return strings.TrimSpace(string(body)), nil
}
