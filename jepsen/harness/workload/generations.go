// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/ring"
	"fairlead.dev/jepsen/scenario"
	"github.com/go-zookeeper/zk"
)

// auditEvery: only one in so many polls lists the audit records, as there are thousands.
const auditEvery = 5

// sessionSeconds of the readers of ZooKeeper: short, so that a reader soon leaves a server that hangs.
const sessionSeconds = 3

// Generations records what is committed and what muxes apply.
type Generations struct {
	Numbers  scenario.Generations
	Recorder *history.Recorder
	Listing  cluster.Listing
	Say      func(format string, args ...any)

	lock      sync.Mutex
	committed map[string]*committed // by service
	epochs    map[string]check.Commit
	records   map[string]bool // audit records that were read
	lags      map[string][]Lag
	rows      map[int][]change // of the connections' service, by bucket
	applied   []application    // of the same, by muxes
	asked     map[string]int64 // by mux, the number from which to ask next
	stop      chan struct{}
	wait      sync.WaitGroup
}

// Lag is by how many generations a mux was behind, summed over all services; -1 if it did not answer.
type Lag struct {
	At          int64
	Generations int64
}

// committed is what is known of a service: its newest image, and the sums of its generations.
type committed struct {
	image *ring.Image
	sums  map[int64]string
}

// Start starts a reader for each ZooKeeper server, so that at least one is not affected by a fault.
func (g *Generations) Start() {
	g.rows = map[int][]change{}
	g.committed, g.epochs, g.records = map[string]*committed{}, map[string]check.Commit{}, map[string]bool{}
	g.lags, g.asked = map[string][]Lag{}, map[string]int64{}
	g.stop = make(chan struct{})
	for _, server := range strings.Split(g.Listing.ZooKeeper.Connect, ",") {
		g.wait.Add(1)
		go func() { defer g.wait.Done(); g.follow(server) }()
	}
	for number, mux := range g.Listing.With("mux") {
		since, boot := logEnd(mux)
		g.wait.Add(1)
		go func() { defer g.wait.Done(); g.watch(int64(number+1), mux, since, boot) }()
	}
}

// logEnd returns the number of the next entry of a mux's log, and the process that has it. ZooKeeper may have deleted the
// generations of earlier entries. The log of a mux that does not answer is read from the beginning.
func logEnd(mux cluster.Node) (since int64, boot string) {
	said, err := ask(mux, 0)
	if err != nil {
		return 0, ""
	}
	return said.Next, said.Boot
}

// Stop stops the readers, and records the commits whose epoch was never read.
func (g *Generations) Stop() {
	close(g.stop)
	g.wait.Wait()
	for service, known := range g.committed {
		for generation, sum := range known.sums {
			if sum != "" {
				g.record(check.Commit{Service: service, Generation: generation, Sum: sum})
			}
		}
	}
}

func (g *Generations) poll() <-chan time.Time {
	return time.After(time.Duration(g.Numbers.PollMilliseconds * float64(time.Millisecond)))
}

func (g *Generations) connect(server string) (*zk.Conn, error) {
	connection, _, err := zk.Connect([]string{server}, sessionSeconds*time.Second, zk.WithLogInfo(false), zk.WithLogger(quiet{}))
	if err != nil {
		return nil, err
	}
	if g.Listing.ZooKeeper.Login != "" {
		login, err := os.ReadFile(g.Listing.ZooKeeper.Login)
		if err == nil {
			first, _, _ := strings.Cut(string(login), "\n")
			err = connection.AddAuth(g.Listing.ZooKeeper.Scheme, []byte(first))
		}
		if err != nil {
			connection.Close()
			return nil, err
		}
	}
	return connection, nil
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// follow polls one server. After an error it connects again, since servers are killed and paused all the time.
func (g *Generations) follow(server string) {
	for {
		connection, err := g.connect(server)
		over := make(chan struct{})
		if err == nil {
			go func() { // a request blocks as long as the server is away
				select {
				case <-g.stop:
				case <-over:
				}
				connection.Close()
			}()
		}
		for round := 0; err == nil && !g.stopped(); round++ {
			err = g.look(connection, round%auditEvery == 0)
			<-g.poll()
		}
		close(over)
		select {
		case <-g.stop:
			return
		case <-g.poll():
		}
	}
}

func (g *Generations) stopped() bool {
	select {
	case <-g.stop:
		return true
	default:
		return false
	}
}

// look reads what is new: the generations of each service, and the audit records with their epochs.
func (g *Generations) look(connection *zk.Conn, audit bool) error {
	names, _, err := connection.Children("/fairlead/services")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := g.service(connection, name); err != nil && err != zk.ErrNoNode {
			return err
		}
	}
	if !audit {
		return nil
	}
	records, _, err := connection.Children("/fairlead/audit")
	if err != nil {
		return err
	}
	for _, name := range records {
		if err := g.audit(connection, name); err != nil && err != zk.ErrNoNode {
			return err
		}
	}
	return nil
}

func number(connection *zk.Conn, path string) (int64, error) {
	text, _, err := connection.Get(path)
	if err != nil {
		return 0, err
	}
	var value int64
	_, err = fmt.Sscanf(string(text), "%d", &value)
	return value, err
}

func chunks(connection *zk.Conn, path string) ([]byte, error) {
	names, _, err := connection.Children(path)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []byte
	for _, name := range names {
		chunk, _, err := connection.Get(path + "/" + name)
		if err != nil {
			return nil, err
		}
		all = append(all, chunk...)
	}
	return all, nil
}

// service reads the generations that are not known yet; if one was deleted, it continues from the newest snapshot.
func (g *Generations) service(connection *zk.Conn, name string) error {
	base := "/fairlead/services/" + name
	latest, err := number(connection, base+"/ring/latest_gen")
	if err != nil {
		return err
	}
	g.lock.Lock()
	known := g.committed[name]
	if known == nil {
		known = &committed{sums: map[int64]string{}}
		g.committed[name] = known
	}
	image := known.image
	g.lock.Unlock()
	if image != nil && int64(image.Generation) >= latest {
		return nil
	}
	for image == nil || int64(image.Generation) < latest {
		next, err := g.next(connection, base, image)
		if err == zk.ErrNoNode && image != nil {
			image = nil // from the newest snapshot
			continue
		}
		if err != nil {
			return err
		}
		image = next
		g.commit(name, image)
	}
	return nil
}

// next returns the generation after the image or, without one, the newest snapshot.
func (g *Generations) next(connection *zk.Conn, base string, image *ring.Image) (*ring.Image, error) {
	if image != nil {
		delta, err := chunks(connection, fmt.Sprintf("%s/ring/gen/%010d/delta", base, image.Generation+1))
		if err != nil {
			return nil, err
		}
		next, err := image.Apply(delta)
		if err != nil {
			g.Say("%s: %v", base, err)
		}
		return next, err
	}
	config, _, err := connection.Get(base + "/config")
	if err != nil {
		return nil, err
	}
	var about struct {
		ID      uint32 `json:"id"`
		Buckets int    `json:"buckets"`
	}
	if err := json.Unmarshal(config, &about); err != nil {
		return nil, fmt.Errorf("%s/config: %w", base, err)
	}
	generation, err := number(connection, base+"/ring/latest_snapshot")
	if err != nil {
		return nil, err
	}
	data, err := chunks(connection, fmt.Sprintf("%s/ring/gen/%010d/snapshot", base, generation))
	if err != nil {
		return nil, err
	}
	snapshot, err := ring.Snapshot(data, about.ID, uint32(generation), about.Buckets)
	if err != nil {
		g.Say("%s: %v", base, err)
	}
	return snapshot, err
}

// commit keeps a generation; it is recorded once its epoch is known.
func (g *Generations) commit(service string, image *ring.Image) {
	sum := image.Sum()
	g.lock.Lock()
	defer g.lock.Unlock()
	known := g.committed[service]
	generation := int64(image.Generation)
	if known.image == nil || known.image.Generation < image.Generation {
		if service == g.Listing.Service {
			g.change(known.image, image)
		}
		known.image = image
	}
	if _, seen := known.sums[generation]; !seen {
		known.sums[generation] = sum
		g.settle(service, generation)
	}
}

// audit reads a record once, from any server.
func (g *Generations) audit(connection *zk.Conn, name string) error {
	g.lock.Lock()
	seen := g.records[name]
	g.lock.Unlock()
	if seen {
		return nil
	}
	text, stat, err := connection.Get("/fairlead/audit/" + name)
	if err != nil {
		return err
	}
	var record check.Commit
	if err := json.Unmarshal(text, &record); err != nil {
		return fmt.Errorf("/fairlead/audit/%s: %w", name, err)
	}
	record.Zxid = stat.Czxid
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.records[name] {
		return nil
	}
	g.records[name] = true
	place := fmt.Sprintf("%s/%d", record.Service, record.Generation)
	if _, known := g.epochs[place]; !known { // a change of settings alone has the same generation
		g.epochs[place] = record
	}
	g.settle(record.Service, record.Generation)
	return nil
}

// settle records a commit once both its sum and its epoch are known. The caller holds the lock.
func (g *Generations) settle(service string, generation int64) {
	known := g.committed[service]
	record, told := g.epochs[fmt.Sprintf("%s/%d", service, generation)]
	if known == nil || known.sums[generation] == "" || !told {
		return
	}
	commit := check.Commit{Service: service, Generation: generation, Sum: known.sums[generation], Epoch: record.Epoch, Zxid: record.Zxid}
	known.sums[generation] = "" // recorded
	g.record(commit)
}

func (g *Generations) record(commit check.Commit) {
	g.Recorder.Add("generations", history.Op{Process: int64(0), Type: history.OK, F: "commit", Value: history.Value(commit)})
}

// rings is a mux's answer (jepsen/README.md).
type rings struct {
	Mux   string `json:"mux"`
	Boot  string `json:"boot"`
	Next  int64  `json:"next"`
	First int64  `json:"first"`
	Rings []struct {
		Service    string `json:"service"`
		Generation int64  `json:"generation"`
		Sum        string `json:"sum"`
	} `json:"rings"`
	Applied []struct {
		Service    string `json:"service"`
		Generation int64  `json:"generation"`
		Sum        string `json:"sum"`
		How        string `json:"how"`
		At         int64  `json:"at"` // in Unix milliseconds
	} `json:"applied"`
}

var muxClient = &http.Client{Timeout: 2 * time.Second}

func ask(mux cluster.Node, since int64) (rings, error) {
	var said rings
	answer, err := muxClient.Get(fmt.Sprintf("%s/rings?since=%d", mux.HTTP, since))
	if err != nil {
		return said, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		return said, fmt.Errorf("%s/rings was answered with %s", mux.HTTP, answer.Status)
	}
	return said, json.NewDecoder(answer.Body).Decode(&said)
}

// ask returns what a mux serves now.
func (g *Generations) ask(mux cluster.Node) (rings, error) {
	g.lock.Lock()
	since := g.asked[mux.Node]
	g.lock.Unlock()
	return ask(mux, since)
}

// watch polls a mux for the changes that it has applied, from a number on in the log of one process.
func (g *Generations) watch(process int64, mux cluster.Node, since int64, boot string) {
	for {
		said, err := ask(mux, since)
		if err == nil && said.Boot != boot {
			boot = said.Boot
			if since != 0 {
				since = 0
				continue
			}
		}
		g.see(mux.Node, said, err)
		if err == nil {
			if said.First > max(since, 1) {
				g.Recorder.Add("generations", history.Op{Process: process, Type: history.OK, F: "gap", Value: history.Value(gap{mux.Node})})
			}
			since = said.Next
			g.lock.Lock()
			g.asked[mux.Node] = since
			g.lock.Unlock()
			g.apply(mux.Node, said)
			for _, each := range said.Applied {
				g.Recorder.Add("generations", history.Op{Process: process, Type: history.OK, F: "applied", Value: history.Value(check.Applied{
					Mux: mux.Node, Service: each.Service, Generation: each.Generation, Sum: each.Sum, How: each.How, Boot: said.Boot})})
			}
		}
		select {
		case <-g.stop:
			return
		case <-g.poll():
		}
	}
}

// gap names a mux whose log was not seen completely.
type gap struct {
	Mux string `edn:"mux"`
}

// see records by how many generations the mux is behind.
func (g *Generations) see(mux string, said rings, err error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	lag := Lag{At: g.Recorder.Now(), Generations: -1}
	if err == nil {
		has := map[string]int64{}
		for _, each := range said.Rings {
			has[each.Service] = each.Generation
		}
		lag.Generations = 0
		for name, known := range g.committed {
			if known.image != nil {
				lag.Generations += max(0, int64(known.image.Generation)-has[name])
			}
		}
	}
	g.lags[mux] = append(g.lags[mux], lag)
}

// Lags returns those of each mux.
func (g *Generations) Lags() map[string][]Lag {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.lags
}

// Converge waits until every commit has been read, at least up to `last` of each service, and all muxes serve it. Then,
// or when time is up, it records what they serve.
func (g *Generations) Converge(last map[string]int64) {
	deadline := time.Now().Add(time.Duration(g.Numbers.ConvergeSeconds * float64(time.Second)))
	for !(g.read(last) && g.converged()) && time.Now().Before(deadline) {
		time.Sleep(200 * time.Millisecond)
	}
	for number, mux := range g.Listing.With("mux") {
		op := history.Op{Process: int64(number + 1), F: "applied", Final: true}
		said, err := g.ask(mux)
		if err == nil && len(said.Rings) == 0 {
			err = errors.New("it serves nothing")
		}
		if err != nil {
			op.Type, op.Error, op.Value = history.Info, err.Error(), history.Value(check.Applied{Mux: mux.Node})
			g.Recorder.Add("generations", op)
			continue
		}
		for _, each := range said.Rings {
			op.Type, op.Value = history.OK, history.Value(check.Applied{Mux: mux.Node, Service: each.Service, Generation: each.Generation, Sum: each.Sum})
			g.Recorder.Add("generations", op)
		}
	}
}

// read reports whether each service's generations were read up to the last, with all their records.
func (g *Generations) read(last map[string]int64) bool {
	g.lock.Lock()
	defer g.lock.Unlock()
	for name, generation := range last {
		known := g.committed[name]
		if known == nil || known.image == nil || int64(known.image.Generation) < generation {
			return false
		}
		for _, sum := range known.sums {
			if sum != "" {
				return false
			}
		}
	}
	return true
}

// converged reports whether every mux serves the last generation of every service.
func (g *Generations) converged() bool {
	for _, mux := range g.Listing.With("mux") {
		said, err := g.ask(mux)
		if err != nil {
			return false
		}
		has := map[string]int64{}
		for _, each := range said.Rings {
			has[each.Service] = each.Generation
		}
		g.lock.Lock()
		for name, known := range g.committed {
			if known.image == nil || has[name] != int64(known.image.Generation) {
				g.lock.Unlock()
				return false
			}
		}
		g.lock.Unlock()
	}
	return true
}
