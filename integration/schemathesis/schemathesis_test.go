// Package schemathesis sends requests that schemathesis generates from the OpenAPI document
// of a server to each of its operations, and compares the answers with the document. It may
// import everything that the program does, marqueetest, mongodb and installed. Begin with
// TestAdvertising; folder_test.go makes random types.
package schemathesis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"marquee"
	"marquee/auth"
	"marquee/auth/seal"
	"marquee/engine"
	"marquee/engine/store/mongo"
	"marquee/integration/installed"
	"marquee/integration/marqueetest"
	"marquee/integration/mongodb"
	"marquee/resources"
)

const suite = installed.Suite("schemathesis")

// fuzzing is a run of schemathesis.
type fuzzing struct {
	*marqueetest.Server
	tools, folder string
	own           []string // the caller's own objects
	token         string
}

// begin starts a server on an empty store, for a caller with all rights.
func begin(t *testing.T, tools string, options marquee.Options) *fuzzing {
	t.Helper()
	// One access token is used throughout, however long that is.
	options.Lifetimes = auth.DefaultLifetimes
	options.Lifetimes.Access = 24 * time.Hour
	f := &fuzzing{Server: marqueetest.StartWith(t, options), tools: tools, folder: t.TempDir(), own: []string{marqueetest.Network}}
	for _, list := range []string{"users", "roles"} {
		page := f.Do("GET", "/api/v1/"+list+"?context="+marqueetest.Network, "", 200)
		for _, item := range page["results"].([]any) {
			f.own = append(f.own, item.(map[string]any)["id"].(string))
		}
	}
	f.token = f.Do("POST", "/api/authenticate", jsonText(map[string]any{
		"grant_type": "password", "username": marqueetest.Username, "password": marqueetest.Password}), 200)["access_token"].(string)
	return f
}

func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// writeDemo writes the demonstration data, so that objects have something to refer to.
func (f *fuzzing) writeDemo(t *testing.T) {
	t.Helper()
	first := marquee.First{Network: marqueetest.Network, UserID: f.own[1], RoleID: f.own[2]}
	steps, err := resources.Demo(marquee.DemoOptions{Types: f.Marquee.Engine().Registry(), First: first, Password: marqueetest.Password, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		_, err := f.Marquee.Engine().Write(t.Context(), &engine.Caller{System: true, User: cmp.Or(step.User, first.UserID)},
			engine.Batch{Network: cmp.Or(step.Network, first.Network), Time: step.Time, Operations: step.Operations})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// example is the id that the document gives as an example, and so that of many requests.
const example = "k3v9p0q2r8s1t7u4"

// writeExamples writes an object with the id example of each type that others refer to.
func (f *fuzzing) writeExamples() {
	var operations []any
	for _, of := range []struct{ name, object string }{
		{"teams", `{"name": "Example"}`},
		{"notes", `{"text": "Example"}`},
		{"roles", `{"name": "Example"}`},
		{"users", `{"username": "example"}`},
		{"earningsaccounts", `{"name": "Example"}`},
		{"sitegroups", `{"name": "Example"}`},
		{"rulesets", `{"name": "Example", "type": "TARGETING"}`},
		{"sites", `{"name": "Example"}`},
		{"adunits", `{"name": "Example"}`},
		{"tiers", `{"name": "Example"}`},
		{"products", `{"name": "Example"}`},
		{"segments", `{"name": "Example", "dataSource": "ADNUNTIUS"}`},
		{"layouts", `{"name": "Example", "html": "<p>Example</p>"}`},
		{"advertisers", `{"name": "Example"}`},
		{"orders", `{"name": "Example"}`},
		{"lineitems", `{"name": "Example"}`},
		{"librarycreatives", `{"name": "Example", "layout": "` + example + `", "layoutParameters": {}, "width": 300, "height": 250, "verifiedSafe": true}`},
		{"creatives", `{"name": "Example", "layout": "` + example + `", "lineItem": "` + example + `", "width": 300, "height": 250, "verifiedSafe": true}`},
		{"rulesets", `{"id": "layout", "name": "Layouts", "type": "LAYOUT"}`},
		{"rulesets", `{"id": "size", "name": "Sizes", "type": "SIZE"}`},
		{"rulesets", `{"id": "inventory", "name": "Inventory", "type": "INVENTORY"}`},
	} {
		var object map[string]any
		if err := json.Unmarshal([]byte(of.object), &object); err != nil {
			panic(err)
		}
		if object["id"] == nil {
			object["id"] = example
		}
		operations = append(operations, map[string]any{"type": of.name, "object": object})
	}
	f.Do("POST", "/api/v1/batch?context="+marqueetest.Network, jsonText(map[string]any{"operations": operations}), 200)
}

// setting is a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// run sends requests to all operations, and fails the test unless the service and its
// document agree.
func (f *fuzzing) run(t *testing.T, seed uint64) {
	t.Helper()
	for _, name := range []string{"schemathesis.toml", "hooks.py"} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(f.folder, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The coverage phase tries each keyword of each schema, which takes many minutes.
	phases, examples := "examples,fuzzing,stateful", setting(t, "MARQUEE_SCHEMATHESIS", fewExamples)
	if examples > fewExamples {
		phases += ",coverage"
	}
	answers := filepath.Join(f.folder, "answers.json")
	args := append([]string{"run", f.URL + "/api/openapi.json?all=true", "--no-color", "--phases", phases,
		"--seed", fmt.Sprint(seed), "--max-examples", fmt.Sprint(examples)}, strings.Fields(os.Getenv("MARQUEE_SCHEMATHESIS_FLAGS"))...)
	began := time.Now()
	out, failed := installed.Run(t.Context(), f.folder, []string{"MARQUEE_OWN=" + jsonText(f.own), "MARQUEE_ANSWERS=" + answers, "MARQUEE_TOKEN=" + f.token},
		filepath.Join(f.tools, "st"), args...)
	if failed != nil {
		if _, failures, found := strings.Cut(out, "= FAILURES ="); found {
			t.Log(failures[:min(len(failures), maxShown)])
		}
		t.Errorf("MARQUEE_SEED=%d repeats this: %v", seed, failed)
	}
	// A thread of schemathesis that ends early leaves out the operations that follow.
	if _, trace, found := strings.Cut(out, "Traceback"); found {
		t.Errorf("schemathesis failed: %s", trace[:min(len(trace), maxShown)])
	}
	text, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	var statuses map[string]map[string]int
	if err := json.Unmarshal(text, &statuses); err != nil {
		t.Fatal(err)
	}
	requests, never := 0, []string{}
	for operation, of := range statuses {
		succeeded := false
		for status, n := range of {
			requests += n
			succeeded = succeeded || status[0] == '2'
		}
		if !succeeded {
			never = append(never, operation)
		}
	}
	slices.Sort(never)
	t.Logf("%d operations, %d requests in %.0f s, MARQUEE_SEED=%d; %d have never succeeded: %s",
		len(statuses), requests, time.Since(began).Seconds(), seed, len(never), strings.Join(never, ", "))
	if len(statuses) == 0 || len(never)*100 > len(statuses)*mostRefused {
		t.Errorf("more than %d %% of the operations have never succeeded", mostRefused)
	}
	// The fuzzing has not taken its own rights.
	f.Do("GET", "/api/v1/users/"+f.own[1]+"?context="+marqueetest.Network, "", 200)
}

const (
	// fewExamples is the number of requests generated for an operation, unless
	// MARQUEE_SCHEMATHESIS names a number. An operation that has more from the examples
	// of its schemas gets no others.
	fewExamples = 3
	// maxShown is the maximum number of bytes of failures that are shown.
	maxShown = 50_000
	// mostRefused is the maximum percentage of the operations that may have refused all requests,
	// because too few of them were right.
	mostRefused = 20
)

// TestAdvertising serves the demonstration data.
func TestAdvertising(t *testing.T) {
	t.Parallel()
	needTime(t)
	tools := suite.Python(t, "python")
	eachStore(t, func(t *testing.T, options marquee.Options) {
		options.Application = resources.New().Application()
		f := begin(t, tools, options)
		f.writeDemo(t)
		f.writeExamples()
		f.run(t, setting(t, "MARQUEE_SEED", 1))
	})
}

func needTime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("generated requests take minutes")
	}
}

// eachStore runs a test on every kind of store.
func eachStore(t *testing.T, test func(*testing.T, marquee.Options)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		needStore(t, "sqlite")
		test(t, marquee.Options{})
	})
	t.Run("mongodb", func(t *testing.T) {
		t.Parallel()
		needStore(t, "mongodb")
		mongodb.Need(t)
		s, err := mongo.Open(t.Context(), mongo.Options{URI: mongodb.URI(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		sealer, err := seal.New(make([]byte, seal.KeyBytes))
		if err != nil {
			t.Fatal(err)
		}
		test(t, marquee.Options{Store: s, Sealer: sealer})
	})
}

// needStore skips a test where MARQUEE_STORES leaves out a kind of store.
func needStore(t *testing.T, name string) {
	t.Helper()
	if only := os.Getenv("MARQUEE_STORES"); only != "" && !slices.Contains(strings.Split(only, ","), name) {
		t.Skipf("MARQUEE_STORES leaves out %s", name)
	}
}
