// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// AwaitHealthy returns once health finds all backends of the service healthy, and acts on what it finds.
func AwaitHealthy(api *API, service string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		answer, err := api.Await("/v1/health", within)
		if err != nil {
			return err
		}
		var views []struct {
			Service  string
			Acting   bool
			Backends []struct {
				Backend int64
				State   string
			}
		}
		if err := json.Unmarshal(answer.Body, &views); err != nil {
			return fmt.Errorf("GET /v1/health: %w: %.200s", err, answer.Body)
		}
		why := []string{"no leader shows it"}
		for _, view := range views {
			if view.Service != service {
				continue
			}
			why = nil
			if !view.Acting {
				why = append(why, "the leader only looks")
			}
			for _, each := range view.Backends {
				if each.State != "healthy" {
					why = append(why, fmt.Sprintf("backend %d is %s", each.Backend, each.State))
				}
			}
		}
		if len(why) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the health of service %s is not fine within %s: %s", service, within, strings.Join(why, ", "))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// HealthChanges counts the commits of the service that health made, of the latest thousand of all.
func HealthChanges(api *API, service string) (int, error) {
	answer, err := api.Await("/v1/audit?limit=1000", time.Minute)
	if err != nil {
		return 0, err
	}
	var records []struct{ Who, Service string }
	if err := json.Unmarshal(answer.Body, &records); err != nil {
		return 0, fmt.Errorf("GET /v1/audit: %w: %.200s", err, answer.Body)
	}
	count := 0
	for _, each := range records {
		if each.Who == "health" && each.Service == service {
			count++
		}
	}
	return count, nil
}
