package main

import (
	"strings"
	"testing"
)

// TestReport shows of a run what go test shows, and why tests were skipped.
func TestReport(t *testing.T) {
	for name, c := range map[string]struct{ events, want string }{
		"a package that passes": {
			`{"Action":"output","Package":"a","Test":"TestX","Output":"=== RUN   TestX\n"}
			{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:3: a log line\n"}
			{"Action":"pass","Package":"a","Test":"TestX"}
			{"Action":"output","Package":"a","Output":"PASS\n"}
			{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
			{"Action":"pass","Package":"a"}`,
			"ok  \ta\t0.1s\n",
		},
		"one that fails, with others between": {
			`{"Action":"output","Package":"a","Test":"TestX","Output":"=== RUN   TestX\n"}
			{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:3: wrong\n"}
			{"Action":"output","Package":"a","Test":"TestY","Output":"    x_test.go:9: right\n"}
			{"Action":"pass","Package":"a","Test":"TestY"}
			{"Action":"output","Package":"a","Test":"TestX","Output":"--- FAIL: TestX\n"}
			{"Action":"fail","Package":"a","Test":"TestX"}
			{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
			{"Action":"fail","Package":"a"}`,
			"    x_test.go:3: wrong\n--- FAIL: TestX\nFAIL\ta\t0.1s\n",
		},
		"a test that never ends": {
			`{"Action":"output","Package":"a","Test":"TestX","Output":"panic: runtime error\n"}
			{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
			{"Action":"fail","Package":"a"}`,
			"panic: runtime error\nFAIL\ta\t0.1s\n",
		},
		"a package that does not build": {
			`{"ImportPath":"a","Action":"build-output","Output":"./a.go:1: undefined: x\n"}
			{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
			{"Action":"fail","Package":"a"}`,
			"./a.go:1: undefined: x\nFAIL\ta [build failed]\n",
		},
		"skipped tests, by their reasons": {
			`{"Action":"output","Package":"a","Test":"TestX","Output":"=== RUN   TestX\n"}
			{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:3: no curl\n"}
			{"Action":"output","Package":"a","Test":"TestX","Output":"--- SKIP: TestX (0.00s)\n"}
			{"Action":"skip","Package":"a","Test":"TestX"}
			{"Action":"output","Package":"a","Test":"TestY/on_it","Output":"    y_test.go:30: no database: run it\n"}
			{"Action":"skip","Package":"a","Test":"TestY/on_it"}
			{"Action":"output","Package":"b","Test":"TestZ","Output":"    z_test.go:1: seed 17\n"}
			{"Action":"output","Package":"b","Test":"TestZ","Output":"    z_test.go:2: no database:\n"}
			{"Action":"output","Package":"b","Test":"TestZ","Output":"        run it\n"}
			{"Action":"skip","Package":"b","Test":"TestZ"}`,
			"SKIPPED TestX: no curl\nSKIPPED 2 tests: no database: run it\n",
		},
		"slow tests, the slowest first": {
			`{"Action":"pass","Package":"a","Test":"TestX","Elapsed":29.9}
			{"Action":"pass","Package":"a","Test":"TestY/part","Elapsed":31}
			{"Action":"pass","Package":"a","Test":"TestY","Elapsed":31}
			{"Action":"fail","Package":"b","Test":"TestZ","Elapsed":64.2}`,
			"SLOW TestZ: 64 s\nSLOW TestY: 31 s\n",
		},
		"what is not JSON": {"go: cannot find main module\n", "go: cannot find main module\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			if err := report(strings.NewReader(c.events), &got); err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), c.want)
			}
		})
	}
}
