package rest

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"marquee/engine/listen"
	"marquee/engine/message"
)

// Each kind of error has a status of its own.
func TestStatuses(t *testing.T) {
	seen := map[int]message.Kind{}
	for kind := message.None + 1; kind <= message.Unavailable; kind++ {
		status := Status(kind)
		if http.StatusText(status) == "" || status < 400 {
			t.Errorf("the kind %d has the status %d", kind, status)
		}
		if other, taken := seen[status]; taken {
			t.Errorf("the kinds %d and %d have the status %d", kind, other, status)
		}
		seen[status] = kind
		if back := Kind(status); back != kind {
			t.Errorf("the status %d of the kind %d is of the kind %d", status, kind, back)
		}
	}
	if len(statuses) != len(seen) {
		t.Errorf("the table has %d kinds, and there are %d: is Unavailable the last?", len(statuses), len(seen))
	}
	for _, status := range []int{http.StatusOK, http.StatusTeapot, http.StatusNotModified} {
		if kind := Kind(status); kind != message.None {
			t.Errorf("the status %d is of the kind %d", status, kind)
		}
	}
}

// Each message of the catalogue that is an error has a status.
func TestEveryErrorHasAStatus(t *testing.T) {
	for _, def := range message.BuiltIn().All() {
		fault := def.Type == message.TypeError || def.Type == message.TypeValidation
		if _, mapped := statuses[def.Kind]; mapped != fault {
			t.Errorf("%s is of type %s and kind %d", def.Code, def.Type, def.Kind)
		}
	}
}

// A connection over a limit is refused with a complete response.
func TestPlainProblem(t *testing.T) {
	plain := (&Server{}).plainProblem(listen.OverLimit(message.RequestsTooMany), "id", false)
	a, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(plain)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "5" || a.Header.Get(requestIDHeader) != "id" || !a.Close || !strings.Contains(string(body), `"error.requests.too.many"`) {
		t.Errorf("%d %v %s, %v", a.StatusCode, a.Header, body, err)
	}
	wantSecure(t, a.Header, false)
}
