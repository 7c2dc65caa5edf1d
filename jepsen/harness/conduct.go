// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/jepsen/check"
	"fairlead.dev/jepsen/cluster"
	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/nemesis"
	"fairlead.dev/jepsen/report"
	"fairlead.dev/jepsen/scenario"
	"fairlead.dev/jepsen/workload"
	"olympos.io/encoding/edn"
)

const scenarios = "jepsen/scenarios.edn"

// options of a run, the same for `run` and `conduct`.
type options struct {
	cluster.Cluster
	schedule, breaks, out string
	workloads             string
	minutes               float64
	faults, moves         int // 0: as the schedule says
	seed                  uint64
}

func parse(name string, words []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	flags.StringVar(&o.Bin, "bin", "jepsen/bin", "where nodes, node-ctl and fault-ctl are")
	flags.StringVar(&o.File, "cluster", scenarios, "the scenarios")
	flags.StringVar(&o.Instance, "instance", "", "a cluster that is up and stays up (default: a new one, taken down afterwards)")
	flags.StringVar(&o.schedule, "schedule", "", "a schedule of the scenarios (short; with --minutes long)")
	flags.StringVar(&o.breaks, "switch", "", "break the system on purpose: exactly the verdicts of this switch must be false")
	flags.StringVar(&o.workloads, "workload", "", "comma-separated: config, generations, connections, balance (all)")
	flags.Float64Var(&o.minutes, "minutes", 0, "the length of a schedule that is drawn")
	flags.IntVar(&o.faults, "faults", 0, "how many are drawn (one each :every seconds of the schedule)")
	flags.IntVar(&o.moves, "moves", 0, "how often the weights change, evenly, even if a bucket's list is full;\n"+
		"a connection that breaks by a limit of the protocol is excused then (so seldom that none does)")
	flags.Uint64Var(&o.seed, "seed", 0, "the seed of all random draws (the time)")
	flags.StringVar(&o.out, "out", "", "the report's directory (build/jepsen/<date>-<seed>)")
	_ = flags.Parse(words)
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unknown argument '%s'; allowed: flags", flags.Arg(0))
	}
	if o.minutes < 0 || o.minutes > 0 && o.breaks != "" {
		return nil, fmt.Errorf("--minutes %g; allowed: a number from 0, and not with --switch", o.minutes)
	}
	if o.faults < 0 || o.moves < 0 || (o.faults > 0 || o.moves > 0) && o.breaks != "" {
		return nil, fmt.Errorf("--faults %d, --moves %d; allowed: numbers from 0, and not with --switch", o.faults, o.moves)
	}
	if o.schedule == "" {
		o.schedule = "short"
		if o.minutes > 0 || o.faults > 0 {
			o.schedule = "long"
		}
	}
	if o.minutes == 0 {
		o.minutes = 10
	}
	for _, name := range strings.FieldsFunc(o.workloads, func(r rune) bool { return r == ',' }) {
		if !slices.Contains(check.Workloads, name) {
			return nil, fmt.Errorf("--workload '%s'; allowed: %s", name, strings.Join(check.Workloads, ", "))
		}
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())%1_000_000_000 + 1
	}
	if o.out == "" {
		o.out = filepath.Join("build", "jepsen", fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102-150405"), o.seed))
	}
	return o, nil
}

func (o *options) wanted() scenario.Wanted {
	return scenario.Wanted{Seconds: o.minutes * 60, Seed: o.seed, Faults: o.faults, Moves: o.moves}
}

// again is the command that repeats the run, whose schedule was drawn or not.
func (o *options) again(drawn bool) string {
	words := []string{"jepsen/run", "--seed", fmt.Sprint(o.seed)}
	if o.breaks != "" {
		words = append(words, "--switch", o.breaks)
	} else {
		words = append(words, "--schedule", o.schedule)
	}
	if drawn {
		words = append(words, "--minutes", fmt.Sprint(o.minutes), "--faults", fmt.Sprint(o.faults))
	}
	if o.moves > 0 {
		words = append(words, "--moves", fmt.Sprint(o.moves))
	}
	if o.workloads != "" {
		words = append(words, "--workload", o.workloads)
	}
	if o.File != scenarios {
		words = append(words, "--cluster", o.File)
	}
	return strings.Join(words, " ")
}

// conductor is one run against a cluster that is up.
type conductor struct {
	*options
	scenario    *scenario.Scenario
	schedule    scenario.Schedule
	needs       scenario.Cluster // as the schedule needs it
	lives       [2]float64       // of connections, in seconds
	broken      scenario.Switch  // zero: nothing is broken on purpose
	names       []string         // of the workloads
	listing     cluster.Listing
	recorder    *history.Recorder
	api         *workload.API
	config      *workload.Config
	generations *workload.Generations
	connections *workload.Connections
	witnesses   *workload.Witnesses
	buckets     *workload.Buckets
	limits      map[int64]string // that connections met, by their numbers, where moves are so many, or steps such, that they may
	mover       *workload.Mover
	balance     *workload.Balance
	nemesis     *nemesis.Nemesis
	p4Muxes     []cluster.Node // whose pipelines must have a part in the run
	began       time.Time
}

func (c *conductor) say(format string, args ...any) {
	fmt.Printf("%7.1f s  %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

func (c *conductor) has(workload string) bool { return slices.Contains(c.names, workload) }

// prepare reads the scenario and selects schedule and workloads.
func prepare(o *options) (*conductor, error) {
	c := &conductor{options: o, began: time.Now()}
	var err error
	if c.scenario, err = scenario.Read(o.File); err != nil {
		return nil, err
	}
	if o.breaks != "" {
		if c.broken, err = c.scenario.Switch(o.breaks); err != nil {
			return nil, err
		}
		c.schedule = c.broken.Schedule
	} else if c.schedule, err = c.scenario.Schedule(o.schedule, o.wanted()); err != nil {
		return nil, err
	}
	chosen := c.schedule.Workloads
	var windows []float64
	c.needs, windows = c.scenario.Needs(c.schedule)
	c.lives = [2]float64{windows[0] * c.needs.WindowSeconds, windows[1] * c.needs.WindowSeconds}
	for _, name := range check.Workloads {
		if o.workloads != "" && slices.Contains(strings.Split(o.workloads, ","), name) || o.workloads == "" && (len(chosen) == 0 || chosen[edn.Keyword(name)]) {
			c.names = append(c.names, name)
		}
	}
	return c, c.judgesRed()
}

// judgesRed refuses workloads that lack a verdict which the switch must turn red: nothing would be seen to fail.
func (c *conductor) judgesRed() error {
	judged := map[edn.Keyword]bool{}
	for _, name := range c.names {
		for verdict := range check.Checkers[name] {
			judged[edn.Keyword(verdict)] = true
		}
	}
	for verdict := range c.broken.Red {
		if !judged[verdict] {
			return fmt.Errorf("switch '%s' must turn :%s red, which no workload of '%s' judges; allowed: workloads that judge it", c.breaks, string(verdict), strings.Join(c.names, ","))
		}
	}
	return nil
}

func conduct(words []string) (int, error) {
	o, err := parse("conduct", words)
	if err != nil {
		return 2, err
	}
	c, err := prepare(o)
	if err != nil {
		return 1, err
	}
	fmt.Printf("seed %d, workloads %s, %g s of\n%s\n", o.seed, strings.Join(c.names, ", "), c.schedule.Seconds, nemesis.Describe(c.schedule))
	if c.listing, err = c.Cluster.List(); err != nil {
		return 1, err
	}
	if err := c.make(); err != nil {
		return 1, err
	}
	return c.run()
}

// make creates recorder, workloads and nemesis.
func (c *conductor) make() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.recorder = history.NewRecorder(c.names)
	var controllers []string
	for _, node := range c.listing.With("controller") {
		controllers = append(controllers, node.REST)
	}
	if len(controllers) == 0 {
		return errors.New("the cluster has no node with the role controller")
	}
	numbers := c.scenario.Workloads
	c.api = workload.NewAPI(controllers)
	if c.api.Token, err = c.listing.Bearer(); err != nil {
		return fmt.Errorf("the controllers' token: %w", err)
	}
	c.api.Run = strconv.FormatInt(time.Now().UnixMilli(), 36) + "-"
	c.config = &workload.Config{API: c.api, Numbers: numbers.Config, Recorder: c.recorder, Seed: c.seed}
	c.generations = &workload.Generations{Numbers: numbers.Generations, Recorder: c.recorder, Listing: c.listing, Say: c.say}
	c.connections = &workload.Connections{Cluster: c.Cluster, Listing: c.listing, Numbers: numbers.Connections,
		Lives: c.lives, Recorder: c.recorder, Seed: c.seed, Self: self, Remote: "/run/fairlead-faults/harness"}
	c.witnesses = &workload.Witnesses{Connections: c.connections, Say: c.say}
	c.buckets = &workload.Buckets{API: c.api, Listing: c.listing}
	c.connections.Broke = c.broke
	c.mover = &workload.Mover{API: c.api, Service: c.listing.Service, Life: c.lives[1], Moves: c.schedule.Moves, Seed: c.seed, Say: c.say,
		Patience: reportedTime, Force: c.options.moves > 0 || c.breaks != ""}
	c.balance = &workload.Balance{API: c.api, Numbers: numbers.Balance, Connections: c.connections, Recorder: c.recorder, Seed: c.seed}
	c.nemesis = &nemesis.Nemesis{Cluster: c.Cluster, Faults: c.scenario.Faults, Programs: c.scenario.Programs, Recorder: c.recorder, Say: c.say}
	return nil
}

// openSeconds is how long opening all connections may take, on a slow machine.
const openSeconds = 120

// reportedTime is for how long agents' reports, or pipelines, may come to nothing after the faults, on a slow machine, and a
// move be refused.
const reportedTime = time.Minute

// healthyTime is for how long health may lag behind: a backend that flaps stays out for up to two minutes here.
const healthyTime = 3 * time.Minute

// run is the whole run: workloads, faults, healing, final reads, verdicts, report.
func (c *conductor) run() (int, error) {
	weights, err := workload.Weights(c.api, c.listing.Service)
	if err != nil {
		return 1, err
	}
	if c.witnesses.Service, err = workload.CheckService(c.api, c.listing.Service, c.needs.Steering, c.needs.WindowSeconds, c.needs.HoldSeconds); err != nil {
		return 1, err
	}
	if c.p4Muxes, err = workload.P4Muxes(c.api, c.listing, c.needs.P4Muxes, time.Minute); err != nil {
		return 1, err
	}
	if c.needs.HoldSeconds > 0 || c.needs.Steering == "othello" || c.needs.Steering == "hunt" {
		if err := workload.AwaitAgents(c.api, c.listing.Service, time.Minute); err != nil {
			return 1, err
		}
	}
	if c.needs.Probes {
		if err := workload.AwaitHealthy(c.api, c.listing.Service, healthyTime); err != nil {
			return 1, err
		}
	}
	if err := c.config.Create(); err != nil {
		return 1, err
	}
	c.generations.Start()
	if c.has("connections") {
		if err := c.witnesses.Start(); err != nil {
			return 1, err
		}
		if err := c.connections.Start(); err != nil {
			return 1, err
		}
		if err := c.connections.Await(openSeconds * time.Second); err != nil {
			return 1, err
		}
		c.mover.Start()
	}
	if c.writes() {
		c.config.Start()
	}
	c.say("workloads run, the schedule begins")
	failure := c.nemesis.Run(c.schedule, c.seed)
	c.say("heal")
	failure = errors.Join(failure, c.nemesis.Heal())
	if c.writes() {
		c.config.Stop()
	}
	failure = errors.Join(failure, c.reported(), c.piped(reportedTime), c.healthy())
	if c.has("connections") {
		failure = errors.Join(failure, c.mover.Stop())
		c.say("connections end, each with its last answer")
		failure = errors.Join(failure, c.connections.Stop())
		for _, tell := range []func() (string, error){c.connections.Joined, c.connections.Woken} {
			told, err := tell()
			if failure = errors.Join(failure, err); err == nil {
				c.say("%s", told)
			}
		}
	}
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return 1, err
	}
	if c.has("connections") {
		c.witnesses.Stop()
		limits, err := c.causes()
		failure = errors.Join(failure, err)
		c.limits = excused(limits, c.schedule.Limits, c.options.moves > 0)
	}
	if c.has("balance") {
		failure = errors.Join(failure, c.balance.Set())
	}
	c.say("final reads")
	if c.writes() {
		c.config.Final()
	}
	last, err := c.last()
	failure = errors.Join(failure, err)
	c.generations.Converge(last)
	c.generations.Stop()
	if c.has("balance") {
		failure = errors.Join(failure, c.balance.Count())
	}
	if err := c.tidy(weights); err != nil && c.breaks != "" {
		c.say("the cluster, broken on purpose, is left as it is: %v", err)
	} else {
		failure = errors.Join(failure, err)
	}
	if failure != nil {
		fmt.Printf("the run itself failed: %v\n", failure)
	}
	code, err := c.judge(failure)
	return code, err
}

// writes says whether services of the run's own are changed all the time; otherwise they only exist.
func (c *conductor) writes() bool { return c.has("config") || c.has("generations") }

// reported says what came of the agents' reports: held buckets that were released, arrays, or connections that servers
// passed on since they were busy. None within reportedTime is an error where the cluster has a hold, arrays, or steering
// hunt, as agents then had no part in the run.
func (c *conductor) reported() error {
	of := fmt.Sprintf("service=%q", c.listing.Service)
	for _, each := range []struct {
		needed        bool
		counter, what string
		labels        [][]string // of the series that are added up
	}{
		{c.needs.HoldSeconds > 0, "fairlead_controller_released_buckets_total", "held buckets released", [][]string{{of, `reason="report"`}}},
		// whole ones may be of a leader that was killed, and its counts with it
		{c.needs.Steering == "othello", "fairlead_othello_commits_total", "arrays", [][]string{{of, `kind="whole"`}, {of, `kind="patch"`}}},
		{c.needs.Steering == "hunt", "fairlead_controller_agent_passed_connections_total", "connections passed on", [][]string{{of}}},
	} {
		if !each.needed {
			continue
		}
		deadline := time.Now().Add(reportedTime)
		count, err := c.counted(each.counter, each.labels)
		for err == nil && count == 0 && time.Now().Before(deadline) {
			time.Sleep(time.Second)
			count, err = c.counted(each.counter, each.labels)
		}
		if err == nil && count == 0 {
			err = fmt.Errorf("agents' reports led to no %s of service %s", each.what, c.listing.Service)
		}
		if err != nil {
			return err
		}
		c.say("agents' reports led to %d %s", count, each.what)
	}
	return nil
}

// counted adds up the series of a counter that have one of these sets of labels.
func (c *conductor) counted(counter string, labels [][]string) (int64, error) {
	total := int64(0)
	for _, each := range labels {
		count, err := workload.Counted(c.api, counter, each...)
		if err != nil {
			return 0, err
		}
		total += count
	}
	return total, nil
}

// healthy says how often health has changed what serves, and is an error if it has not, or if it does not find all
// backends healthy within healthyTime, now that they are.
func (c *conductor) healthy() error {
	if !c.needs.Probes {
		return nil
	}
	count, err := workload.HealthChanges(c.api, c.listing.Service)
	if err == nil && count == 0 {
		err = fmt.Errorf("health has taken no backend of service %s out of service", c.listing.Service)
	}
	if err != nil {
		return err
	}
	c.say("health has changed what serves %d times", count)
	if err := workload.AwaitHealthy(c.api, c.listing.Service, healthyTime); err != nil {
		return err
	}
	c.say("all backends are healthy")
	return nil
}

// piped says how many packets the pipelines of P4 muxes have steered since each was last started, and is an error if one
// of them has steered none of the connections, which still run, within so long.
func (c *conductor) piped(within time.Duration) error {
	if !c.has("connections") {
		return nil
	}
	for _, mux := range c.p4Muxes {
		deadline := time.Now().Add(within)
		count, err := workload.Piped(mux)
		for (err != nil || count == 0) && time.Now().Before(deadline) {
			time.Sleep(time.Second)
			count, err = workload.Piped(mux)
		}
		if err == nil && count == 0 {
			err = fmt.Errorf("the pipeline of %s has steered no packet", mux.Node)
		}
		if err != nil {
			return err
		}
		c.say("the pipeline of %s has steered %d packets since it was last started", mux.Node, count)
	}
	return nil
}

// tidy restores the services and the weights that the cluster had.
func (c *conductor) tidy(weights map[int64]int64) error {
	var set error
	if len(weights) > 0 {
		set = workload.SetWeights(c.api, c.listing.Service, "as-before", func(_ int, each workload.Backend) int64 { return weights[each.ID] })
	}
	return errors.Join(set, c.config.Remove())
}

// last returns the generation of each service, from a controller.
func (c *conductor) last() (map[string]int64, error) {
	answer, err := c.api.Await("/v1/services", time.Minute)
	if err != nil {
		return nil, err
	}
	var services []struct {
		Name       string `json:"name"`
		Generation int64  `json:"generation"`
	}
	if err := json.Unmarshal(answer.Body, &services); err != nil {
		return nil, err
	}
	last := map[string]int64{}
	for _, each := range services {
		last[each.Name] = each.Generation
	}
	return last, nil
}

// judge writes the histories, the verdicts and the page. It returns 0 if exactly the expected verdicts are false.
func (c *conductor) judge(failure error) (int, error) {
	numbers := c.scenario.Workloads
	settings := check.Settings{Tolerance: numbers.Balance.Tolerance}
	page := report.Run{Title: "jepsen/run, schedule " + c.options.schedule, Command: c.again(c.schedule.Every > 0), Seed: c.seed, Date: time.Now().UTC().Format(time.RFC3339),
		Schedule: nemesis.Describe(c.schedule), Traffic: c.connections.Seconds(), Lags: c.generations.Lags(), Green: failure == nil,
		Method: c.needs.Steering,
		Wanted: "All verdicts must be true."}
	if c.breaks != "" {
		var red []string
		for name := range c.broken.Red {
			red = append(red, name.String())
		}
		slices.Sort(red)
		page.Title = "jepsen/run, switch " + c.breaks
		page.Wanted = fmt.Sprintf("The system was broken on purpose: exactly %s must be false.", strings.Join(red, " "))
	}
	verdicts := map[edn.Keyword]any{}
	for _, name := range c.names {
		ops := c.recorder.History(name)
		if name == "connections" {
			ops = met(ops, c.limits)
		}
		if err := c.save(name+".edn", func(file *os.File) error { return history.Write(file, ops) }); err != nil {
			return 1, err
		}
		page.Files = append(page.Files, name+".edn")
		judged, err := check.All(name, ops, settings)
		if err != nil {
			return 1, err
		}
		for _, verdict := range judged {
			wanted := check.True
			if c.broken.Red[edn.Keyword(verdict.Name)] || c.broken.Entailed[edn.Keyword(verdict.Name)] && verdict.Valid == check.False {
				wanted = check.False
			}
			page.Green = page.Green && verdict.Valid == wanted
			note := ""
			if verdict.Valid != wanted {
				note = fmt.Sprintf("  << must be %s", wanted)
			}
			fmt.Printf("%-14s %-8s %s%s\n", ":"+verdict.Name, verdict.Valid, verdict.Why, note)
			if verdict.Valid != wanted {
				for _, example := range verdict.Examples {
					fmt.Printf("%25s%s\n", "", example)
				}
			}
			verdicts[edn.Keyword(verdict.Name)] = verdict.EDN()
		}
		page.Verdicts = append(page.Verdicts, judged...)
		if err := page.Note(name, ops); err != nil {
			return 1, err
		}
		if name == "connections" {
			fmt.Printf("steering %s:\n", page.Method)
			for _, bound := range page.Bounds {
				fmt.Println(bound)
			}
		}
	}
	if err := c.save("verdicts.edn", func(file *os.File) error { return edn.NewEncoder(file).Encode(verdicts) }); err != nil {
		return 1, err
	}
	if err := c.save("index.html", func(file *os.File) error { return report.Write(file, page) }); err != nil {
		return 1, err
	}
	fmt.Printf("report: %s/index.html\nagain:  %s\n", c.out, c.again(c.schedule.Every > 0))
	if !page.Green {
		return 1, nil
	}
	return 0, nil
}

func (c *conductor) save(name string, write func(*os.File) error) error {
	file, err := os.Create(filepath.Join(c.out, name))
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("%s: %w", name, err)
	}
	return file.Close()
}
