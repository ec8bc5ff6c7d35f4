package rest

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"marquee/engine/message"
)

// A large body that finds no place until the deadline is no fault of the
// service.
func TestLargeBodiesWaitUntilTheDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(strings.Repeat(" ", smallBody+1)))
	r := &Call{s: &Server{large: make(chan struct{})}, c: c}
	if _, err := r.Body(MaxBodyBytes); !message.DeadlineExceeded.Is(err) {
		t.Error(err)
	}
}
