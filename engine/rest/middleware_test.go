package rest

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A panic is an internal error; after the first bytes of a response it aborts the
// connection.
func TestPanics(t *testing.T) {
	get := []string{http.MethodGet}
	s, err := New(Config{Log: slog.New(slog.DiscardHandler), Routes: []Route{
		{Path: "/before", Methods: get, Public: true, Serve: func(*Call) error { panic("before") }},
		{Path: "/behind", Methods: get, Public: true, Serve: func(r *Call) error { r.Answer(http.StatusOK, []byte("{}")); panic("behind") }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/before", nil))
	if answer.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	defer func() {
		if p, _ := recover().(error); !errors.Is(p, http.ErrAbortHandler) {
			t.Errorf("%v", p)
		}
	}()
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/behind", nil))
}
