package program

import (
	"bufio"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestShutdownEndsStreams checks that streams, and requests that wait for changes, end at once
// when the process is asked to end, with a position.
func TestShutdownEndsStreams(t *testing.T) { service.EachStore(t, testShutdownEndsStreams) }

func testShutdownEndsStreams(t *testing.T, fresh service.NewStore) {
	p := process.Serve(t, fresh(t))
	p.SignIn("admin", process.Password)
	ask := func(accept string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+"/api/v1/changes?context=main&type=segments&after=begin&wait=25", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+p.Token)
		request.Header.Set("Accept", accept)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			return &http.Response{Body: http.NoBody}
		}
		return answer
	}
	waits := make(chan *http.Response, 1)
	go func() { waits <- ask("application/json") }()
	stream := ask("text/event-stream")
	defer stream.Body.Close()
	began := time.Now()
	lines := bufio.NewScanner(stream.Body)
	read := func(until string) (last string) {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "id: ") {
				last = lines.Text()
			}
			if lines.Text() == until {
				break
			}
		}
		return last
	}
	read("event: bookmark")
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if last := read("the end"); last == "" || lines.Err() != nil {
		t.Errorf("the stream ends without a position (%v)", lines.Err())
	}
	answer := <-waits
	defer answer.Body.Close()
	if took := time.Since(began); took > 15*time.Second || answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the request that waits is answered with %d, after %v", answer.StatusCode, took)
	}
	p.Ends(0)
}

// TestMaxStreams checks that a stream beyond --max-streams is refused.
func TestMaxStreams(t *testing.T) {
	p := process.Serve(t, service.NewSQLite(t), "--max-streams", "1")
	p.SignIn("admin", process.Password)
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		o, err := service.OpenStream(t.Context(), p.Client, p.Token, p.URL+"/api/v1/changes?context=main", "")
		if err != nil {
			t.Fatal(err)
		}
		defer o.Answer.Body.Close()
		if o.Answer.StatusCode != want {
			t.Errorf("the status is %d, not %d", o.Answer.StatusCode, want)
		}
	}
}
