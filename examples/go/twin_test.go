// Tests with a twin in Go, with only the standard library: go test
//
// It needs the program `leverframe` on the path.

package twin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Twin is a controller in virtual time, with a data folder of its own.
type Twin struct {
	t     *testing.T
	URL   string         `json:"url"`
	Ports map[string]int `json:"ports"`
	Event string         `json:"event"`
}

// start runs a twin until the test ends.
func start(t *testing.T, options ...string) *Twin {
	t.Helper()
	fixed := []string{"run", "--json", "--port", "0", "--virtual-time", "--data", t.TempDir()}
	command := exec.Command("leverframe", append(fixed, options...)...)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		command.Wait()
	})
	// The program prints its address and all ports when it is ready.
	twin := &Twin{t: t}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if err := json.Unmarshal(lines.Bytes(), twin); err != nil {
			t.Fatal(err)
		}
		if twin.Event == "ready" {
			twin.URL = strings.TrimSuffix(twin.URL, "/")
			return twin
		}
	}
	t.Fatal("The twin failed to start.")
	return nil
}

// request sends a request and returns its status and body.
func (twin *Twin) request(target string, patience time.Duration) (int, string, error) {
	client := http.Client{Timeout: patience}
	answer, err := client.Get(twin.URL + target)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// get sends a request that must succeed.
func (twin *Twin) get(target string) string {
	twin.t.Helper()
	status, body, err := twin.request(target, 30*time.Second)
	if err != nil || status != 200 {
		twin.t.Fatal(target, status, body, err)
	}
	return body
}

// state returns every value by its label, in real units.
func (twin *Twin) state() map[string]any {
	twin.t.Helper()
	var state map[string]any
	if err := json.Unmarshal([]byte(twin.get("/api/state")), &state); err != nil {
		twin.t.Fatal(err)
	}
	return state
}

func TestPumpSwitchesOffAfterItsReturnTime(t *testing.T) {
	twin := start(t)
	twin.get("/outs.cgi?ortime=0600")
	twin.get("/outs.cgi?out0=1")
	for _, step := range []struct{ seconds, pump int }{{599, 1}, {1, 0}} {
		twin.get(fmt.Sprintf("/sim.cgi?advance=%d", step.seconds))
		if pump := twin.state()["OUT0"]; pump != float64(step.pump) {
			t.Errorf("the pump is %v after %d s, want %d", pump, step.seconds, step.pump)
		}
	}
}

func TestSlowUnitIsGivenUpAndAnswersAfterwards(t *testing.T) {
	twin := start(t)
	twin.get("/sim.cgi?fault=slow*delay:2s*path:/json/all.json*times:1")
	if _, _, err := twin.request("/json/all.json", 200*time.Millisecond); err == nil {
		t.Error("the slow answer arrived in time")
	}
	twin.get("/json/all.json")
	if requests := strings.Count(twin.get("/api/sim/requests"), `"path":"/json/all.json"`); requests != 2 {
		t.Errorf("the unit got %d requests, want 2", requests)
	}
}

func TestOlderUnitRefusesNewerCommands(t *testing.T) {
	twin := start(t, "--hw", "3.0", "--sw", "1.58a")
	if status, _, _ := twin.request("/stm.cgi?modbuson=1", time.Second*30); status != 404 {
		t.Errorf("the status is %d, want 404", status)
	}
}
