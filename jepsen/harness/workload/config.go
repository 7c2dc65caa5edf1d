// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/jepsen/history"
	"fairlead.dev/jepsen/scenario"
	"olympos.io/encoding/edn"
)

// configWindow is short, so that the id of a removed backend can soon be added again; these services have no traffic.
const configWindow = 1

// Config is many writers and readers of a few services, through all controllers.
type Config struct {
	API      *API
	Numbers  scenario.Config
	Recorder *history.Recorder
	Seed     uint64

	processes atomic.Int64
	etags     sync.Map // by service, the last one seen: {revision, etag}
	stop      chan struct{}
	wait      sync.WaitGroup
}

// servicePrefix distinguishes the services of these runs from all others.
const servicePrefix = "faults-"

// service returns a name that no earlier run had: otherwise what muxes and audit report of that run's service would be
// taken for this one's.
func (c *Config) service(number int) string {
	return fmt.Sprintf("%s%s%d", servicePrefix, c.API.Run, number+1)
}

// Services returns all names.
func (c *Config) Services() (names []string) {
	for number := range c.Numbers.Services {
		names = append(names, c.service(number))
	}
	return names
}

func (c *Config) vip(number int) string { return fmt.Sprintf("10.99.1.%d", number+1) }

func address(backend int64) string { return fmt.Sprintf("10.1.0.%d", 20+backend) }

// Create creates the services, each at generation 1 without backends, and deletes those of an interrupted run.
func (c *Config) Create() error {
	if err := c.Remove(); err != nil {
		return err
	}
	for number := range c.Numbers.Services {
		// Without a hold the leader would set one by itself, once agents report.
		body := map[string]any{
			"name": c.service(number), "vips": []string{c.vip(number)}, "buckets": 1024, "windowSeconds": configWindow, "holdSeconds": 0,
			"ports": []any{map[string]any{"protocol": "tcp", "port": 80}},
		}
		if _, err := c.API.Write(Request{Method: "POST", Path: "/v1/services", Body: body}, c.key("create", number), number, time.Minute); err != nil {
			return fmt.Errorf("service %s cannot be created: %w", c.service(number), err)
		}
	}
	return nil
}

// Remove deletes the services of these runs.
func (c *Config) Remove() error {
	answer, err := c.API.Await("/v1/services", time.Minute)
	if err != nil {
		return err
	}
	var services []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(answer.Body, &services); err != nil {
		return fmt.Errorf("GET /v1/services: %w: %.200s", err, answer.Body)
	}
	for _, each := range services {
		if !strings.HasPrefix(each.Name, servicePrefix) {
			continue
		}
		if _, err := c.API.Write(Request{Method: "DELETE", Path: "/v1/services/" + each.Name}, "delete-"+each.Name, 0, time.Minute); err != nil {
			return fmt.Errorf("service %s cannot be deleted: %w", each.Name, err)
		}
	}
	return nil
}

func (c *Config) key(what string, number int) string {
	return fmt.Sprintf("%s-%d-%d", what, c.Seed, number)
}

// Start starts the writers.
func (c *Config) Start() {
	c.stop = make(chan struct{})
	pause := time.Duration(float64(c.Numbers.Writers) / c.Numbers.Rate * float64(time.Second))
	for writer := range c.Numbers.Writers {
		c.wait.Add(1)
		go func() {
			defer c.wait.Done()
			draw := rand.New(rand.NewPCG(c.Seed, uint64(writer)))
			process := c.processes.Add(1)
			next := time.Now().Add(time.Duration(draw.Float64() * float64(pause)))
			for number := 0; ; number++ {
				select {
				case <-c.stop:
					return
				case <-time.After(time.Until(next)):
				}
				next = time.Now().Add(time.Duration((0.5 + draw.Float64()) * float64(pause)))
				if !c.operate(process, writer, number, draw) {
					process = c.processes.Add(1) // a process invokes nothing after an unknown outcome
				}
			}
		}()
	}
}

// Stop stops the writers, each after its operation.
func (c *Config) Stop() {
	close(c.stop)
	c.wait.Wait()
}

type version struct {
	revision int64
	etag     string
}

// operate performs one operation of a writer; it returns false if the outcome is unknown.
func (c *Config) operate(process int64, writer, number int, draw *rand.Rand) bool {
	service := draw.IntN(c.Numbers.Services)
	name := c.service(service)
	backend := 1 + draw.Int64N(int64(c.Numbers.Backends))
	weight := 1 + draw.Int64N(200)
	path := "/v1/services/" + name
	one := fmt.Sprintf("%s/backends/%d", path, backend)
	var f edn.Keyword
	var payload any
	var request Request
	switch draw.IntN(10) {
	case 0, 1, 2:
		return c.read(process, name, writer+number, false)
	case 3, 4:
		f, payload = "add", map[edn.Keyword]int64{"backend": backend, "weight": weight}
		request = Request{Method: "PUT", Path: one, Body: map[string]any{"address": address(backend), "weight": weight}}
	case 5, 6:
		f, payload = "weight", map[edn.Keyword]int64{"backend": backend, "weight": weight}
		request = Request{Method: "PATCH", Path: one, Body: map[string]any{"weight": weight}}
	case 7:
		f, payload = "remove", map[edn.Keyword]int64{"backend": backend}
		request = Request{Method: "DELETE", Path: one}
	case 8:
		wanted := map[int64]int64{}
		pool := []any{}
		for id := int64(1); id <= int64(c.Numbers.Backends); id++ {
			if draw.IntN(4) > 0 {
				wanted[id] = 1 + draw.Int64N(200)
				pool = append(pool, map[string]any{"id": id, "address": address(id), "weight": wanted[id]})
			}
		}
		f, payload = "apply", wanted
		request = Request{Method: "PUT", Path: path, Body: map[string]any{
			"vips": []string{c.vip(service)}, "ports": []any{map[string]any{"protocol": "tcp", "port": 80}}, "windowSeconds": configWindow, "holdSeconds": 0, "pool": pool,
		}}
	default:
		seen, known := c.etags.Load(name)
		if !known {
			return c.read(process, name, writer+number, false)
		}
		f, payload = "conditional", map[edn.Keyword]int64{"if": seen.(version).revision, "backend": backend, "weight": weight}
		request = Request{Method: "PATCH", Path: one, Body: map[string]any{"weight": weight}, Headers: map[string]string{"If-Match": seen.(version).etag}}
	}
	op := history.Op{Process: process, Type: history.Invoke, F: f, Value: history.Pair(name, payload)}
	request.Path += "?force=true" // there are no connections to break
	c.Recorder.Add("config", op)
	within := time.Duration(c.Numbers.TimeoutSeconds * float64(time.Second))
	answer, err := c.API.Write(request, c.key(fmt.Sprintf("w%d", writer), number), writer, within)
	op.Type = history.OK
	if err == nil {
		op.Revision, err = answer.Generation()
	}
	switch {
	case errors.Is(err, ErrRefused):
		op.Type, op.Error = history.Fail, err.Error()
	case err != nil:
		op.Type, op.Error, op.Revision = history.Info, err.Error(), 0
	}
	c.Recorder.Add("config", op)
	return op.Type != history.Info
}

// read asks one controller once: without an answer a read fails, as it changed nothing. A final read then tries all.
func (c *Config) read(process int64, name string, controller int, final bool) bool {
	op := history.Op{Process: process, Type: history.Invoke, F: "read", Value: history.Pair(name, nil), Final: final}
	c.Recorder.Add("config", op)
	path := "/v1/services/" + name + "/backends"
	answer, err := c.API.Read(path, controller)
	if final && err != nil {
		answer, err = c.API.Await(path, time.Minute)
	}
	var revision int64
	var backends []Backend
	if err == nil {
		revision, err = answer.Generation()
	}
	if err == nil {
		backends, err = answer.Backends()
	}
	if err != nil {
		op.Type, op.Error = history.Fail, err.Error()
		c.Recorder.Add("config", op)
		return true
	}
	weights := map[int64]int64{}
	for _, each := range backends {
		weights[each.ID] = each.Weight
	}
	c.etags.Store(name, version{revision, answer.ETag})
	op.Type, op.Value = history.OK, history.Pair(name, map[edn.Keyword]any{"revision": revision, "weights": weights})
	c.Recorder.Add("config", op)
	return true
}

// Final reads each service at each controller.
func (c *Config) Final() {
	process := c.processes.Add(1)
	for _, name := range c.Services() {
		for controller := range c.API.Controllers {
			c.read(process, name, controller, true)
		}
	}
}
