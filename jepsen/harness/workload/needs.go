// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CheckService returns the service's id, and refuses one with another steering, window or hold than the schedule needs: connections that live too
// long would break as documented, and ones that live too short would show nothing.
func CheckService(api *API, service, steering string, window, hold float64) (id int, err error) {
	answer, err := api.Await("/v1/services/"+service, 30*time.Second)
	if err != nil {
		return 0, err
	}
	var has struct {
		ID       int     `json:"id"`
		Steering string  `json:"steering"`
		Window   float64 `json:"windowSeconds"`
		Hold     float64 `json:"holdSeconds"`
	}
	if err := json.Unmarshal(answer.Body, &has); err != nil {
		return 0, fmt.Errorf("service %s: %w: %.200s", service, err, answer.Body)
	}
	if has.Steering != steering || has.Window != window || has.Hold != hold {
		return 0, fmt.Errorf("service %s has steering %s, windowSeconds %g and holdSeconds %g; allowed: %s, %g and %g, which :cluster or the "+
			"schedule says (nodes up --schedule)", service, has.Steering, has.Window, has.Hold, steering, window, hold)
	}
	return has.ID, nil
}

// AwaitAgents returns once the leader hears the agents of all backends of the service, and has their counts.
func AwaitAgents(api *API, service string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		answer, err := api.Await("/v1/agents?limit=1000", within)
		if err != nil {
			return err
		}
		var agents []struct{ Service, Address, State string }
		if err := json.Unmarshal(answer.Body, &agents); err != nil {
			return fmt.Errorf("GET /v1/agents: %w: %.200s", err, answer.Body)
		}
		var away []string
		for _, each := range agents {
			if each.Service == service && each.State != "reporting" {
				away = append(away, fmt.Sprintf("%s %s", each.Address, each.State))
			}
		}
		if len(away) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not all agents of service %s report within %s: %s", service, within, strings.Join(away, ", "))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Counted returns a counter of the controllers that run now, of the samples that have all labels (as `reason="report"`). What
// a controller counted is lost when it ends.
func Counted(api *API, counter string, labels ...string) (int64, error) {
	total := int64(0)
	for _, controller := range api.Controllers {
		answer, err := api.send(controller, Request{Method: "GET", Path: "/metrics"})
		if err == nil && answer.Status != 200 {
			err = answer.problem()
		}
		if err != nil {
			return 0, fmt.Errorf("%s/metrics: %w", controller, err)
		}
		count, err := counted(string(answer.Body), counter, labels)
		if err != nil {
			return 0, fmt.Errorf("%s/metrics: %w", controller, err)
		}
		total += count
	}
	return total, nil
}

// counted reads the number from metrics in the text format; 0 if it is not among them.
func counted(metrics, counter string, labels []string) (int64, error) {
	total := 0.0
	for _, line := range strings.Split(metrics, "\n") {
		if !strings.HasPrefix(line, counter+"{") || slices.ContainsFunc(labels, func(each string) bool { return !strings.Contains(line, each) }) {
			continue
		}
		words := strings.Fields(line)
		count, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", line, err)
		}
		total += count
	}
	return int64(total), nil
}
