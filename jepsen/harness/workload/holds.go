// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// CheckSeconds refuses a service with another window or another hold than the schedule needs: connections that live too
// long would break as documented, and ones that live too short would show nothing.
func CheckSeconds(api *API, service string, window, hold float64) error {
	answer, err := api.Await("/v1/services/"+service, 30*time.Second)
	if err != nil {
		return err
	}
	var has struct {
		Window float64 `json:"windowSeconds"`
		Hold   float64 `json:"holdSeconds"`
	}
	if err := json.Unmarshal(answer.Body, &has); err != nil {
		return fmt.Errorf("service %s: %w: %.200s", service, err, answer.Body)
	}
	if has.Window != window || has.Hold != hold {
		return fmt.Errorf("service %s has windowSeconds %g and holdSeconds %g; allowed: %g and %g, which :cluster or the schedule says "+
			"(nodes up --schedule)", service, has.Window, has.Hold, window, hold)
	}
	return nil
}

// Released returns how many held buckets of the service the controllers that run now have released because agents reported
// no connection in them. What a controller counted is lost when it ends.
func Released(api *API, service string) (int64, error) {
	total := int64(0)
	for _, controller := range api.Controllers {
		answer, err := api.send(controller, Request{Method: "GET", Path: "/metrics"})
		if err == nil && answer.Status != 200 {
			err = answer.problem()
		}
		if err != nil {
			return 0, fmt.Errorf("%s/metrics: %w", controller, err)
		}
		count, err := released(string(answer.Body), service)
		if err != nil {
			return 0, fmt.Errorf("%s/metrics: %w", controller, err)
		}
		total += count
	}
	return total, nil
}

// released reads the number from metrics in the text format; 0 if it is not among them.
func released(metrics, service string) (int64, error) {
	total := 0.0
	for _, line := range strings.Split(metrics, "\n") {
		if !strings.HasPrefix(line, "fairlead_controller_released_buckets_total{") || !strings.Contains(line, `reason="report"`) ||
			!strings.Contains(line, `service="`+service+`"`) {
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
