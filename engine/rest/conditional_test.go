package rest

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/gin-gonic/gin"

	"marquee/engine"
)

// holds reports whether the conditions of a write hold for a version.
func holds(header http.Header, one bool, version int64) (bool, error) {
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest(http.MethodPut, "/", nil)
	c.Request.Header = header
	var op engine.Operation
	err := conditions(c.Request.Header, &op, one)
	stored := ""
	if version > 0 {
		stored = strconv.FormatInt(version, 10)
	}
	return err == nil && (op.IfVersion == nil || op.IfVersion(stored)) && !(op.OnlyNew && version > 0), err
}

// A write compares only the version in a tag.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name    string
		lines   []string
		version int64
		want    bool
	}{
		{"If-Match", []string{`"3-abc"`}, 3, true}, {"If-Match", []string{`"3-other"`}, 3, true}, {"If-Match", []string{`"3-abc"`}, 4, false},
		{"If-Match", []string{`"30-abc"`}, 3, false}, {"If-Match", []string{`"03-abc"`}, 3, false}, {"If-Match", []string{`"3"`}, 3, false},
		{"If-Match", []string{`"2-a", "3-b"`}, 3, true}, {"If-Match", []string{`*`}, 3, true}, {"If-Match", []string{` * `}, 0, false},
		{"If-Match", []string{`"0-a"`}, 0, false}, {"If-Match", []string{`W/"3-abc"`}, 3, false}, {"If-Match", []string{`W/"3-abc", "3-b"`}, 3, true},
		{"If-Match", []string{`"2-a"`, `"3-b"`}, 3, true}, {"If-Match", []string{`"2-a"`, `"3-b"`}, 4, false}, {"If-Match", []string{``, `"3-b"`}, 3, true},
		{"If-Match", []string{``}, 3, false}, {"If-Match", []string{` , `}, 3, false}, {"If-Match", nil, 3, true},
		{"If-None-Match", []string{`*`}, 3, false}, {"If-None-Match", []string{`*`}, 0, true}, {"If-None-Match", []string{``}, 3, true},
		{"If-None-Match", []string{`"3-abc"`}, 3, false}, {"If-None-Match", []string{`W/"3-abc"`}, 3, false}, {"If-None-Match", []string{`"3-abc"`}, 4, true},
		{"If-None-Match", []string{`"3-abc"`}, 0, true}, {"If-None-Match", []string{`"2-a"`, `"3-b"`}, 3, false}, {"If-None-Match", nil, 3, true},
	} {
		if got, err := holds(http.Header{c.name: c.lines}, true, c.version); err != nil || got != c.want {
			t.Errorf("%s %q and version %d: %t, %v", c.name, c.lines, c.version, got, err)
		}
	}
	for _, lines := range [][]string{{`3-abc`}, {`"3-abc`}, {`*`, `"3-abc"`}, {`*`, `*`}, {`"zz zz"`}} {
		for _, name := range []string{"If-Match", "If-None-Match"} {
			if _, err := holds(http.Header{name: lines}, true, 3); err == nil {
				t.Errorf("%s %q is accepted", name, lines)
			}
		}
	}
	if _, err := holds(http.Header{"If-Match": {`"3-abc"`}}, false, 3); err == nil {
		t.Error("a tag of one object is accepted for many")
	}
}
