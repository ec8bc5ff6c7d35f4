package rest

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

// A panic is an internal error; behind the first bytes of an answer it breaks
// the connection off.
func TestPanics(t *testing.T) {
	s, err := New(Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.Router().GET("/before", func(*gin.Context) { panic("before") })
	s.Router().GET("/behind", func(c *gin.Context) { c.Status(http.StatusOK); c.Writer.WriteHeaderNow(); panic("behind") })
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
