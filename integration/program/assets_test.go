package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// pausing pauses before it gives more.
type pausing struct {
	io.Reader
	pause time.Duration
	err   error
}

func (p *pausing) Read(b []byte) (int, error) {
	<-time.After(p.pause)
	if p.pause = 0; p.err != nil {
		return 0, p.err
	}
	return p.Reader.Read(b)
}

// TestAssetSettings: files are delivered from where the configuration says, as
// large as it says, and are received for as long as a client takes to send
// them; temporary files are removed, also when the client disconnects.
func TestAssetSettings(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testAssetSettings)
}

func testAssetSettings(t *testing.T, fresh service.NewStore) {
	const requestTime = 4 * time.Second
	temporary := t.TempDir()
	p := process.ServeWith(t, fresh(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "TMPDIR=" + temporary, "MARQUEE_MAX_ASSET_SIZE=100000"},
		"--cdn-url", "https://cdn.example.com/ads/", "--request-timeout", requestTime.String())
	p.Creative()
	contentType, body := service.Form("a.html", []byte("<!doctype html>"))
	a, err := p.Post("a", contentType, bytes.NewReader(body))
	if err != nil || a.Status != http.StatusCreated {
		t.Fatal(err, a)
	}
	const place = `^https://cdn.example.com/ads/delivery/[A-Z2-7]{26}/a.html$`
	want, _ := service.Decode([]byte(`{"cdnId": "<~ ` + place + `>", "htmlUrls": {"a.html": "<~ ` + place + `>"}}`))
	for _, wrong := range service.Match(want, a.JSON(), "", nil) {
		t.Error(wrong)
	}
	object, _ := a.JSON().(map[string]any)
	url, _ := object["cdnId"].(string)
	if got := p.Ask(http.StatusOK, http.MethodGet, strings.TrimPrefix(url, "https://cdn.example.com/ads"), ""); string(got.Body) != "<!doctype html>" {
		t.Errorf("%s", got.Body)
	}
	creative := p.Ask(http.StatusOK, http.MethodPost, "/api/v1/creatives/c?context=main", `{"layoutParameters": {"image": {"id": "a"}}}`)
	process.Wants(t, string(creative.Body), strings.TrimPrefix(url, "https:"))

	contentType, body = service.Form("b.png", append(assettest.PNG(1, 1), make([]byte, 100_000)...))
	if a, err := p.Post("b", contentType, bytes.NewReader(body)); err != nil || a.Status != http.StatusRequestEntityTooLarge || !bytes.Contains(a.Body, []byte(`"limit":100000`)) {
		t.Error(err, a)
	}
	contentType, body = service.Form("c.png", assettest.PNG(1, 1))
	slow := io.MultiReader(bytes.NewReader(body[:200]), &pausing{Reader: bytes.NewReader(body[200:]), pause: requestTime + requestTime/10})
	if a, err := p.Post("c", contentType, slow); err != nil || a.Status != http.StatusCreated {
		t.Error("who takes longer to send a file than a request may take:", err, a)
	}
	contentType, body = service.Form("d.png", append(assettest.PNG(1, 1), make([]byte, 95_000)...))
	broken := io.MultiReader(bytes.NewReader(body[:90_000]), &pausing{err: errors.New("broken off")})
	if a, err := p.Post("d", contentType, broken); err == nil {
		t.Error("the client did not break off", a)
	}
	p.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/assets/c/d?context=main", "")
	p.Eventually("the folder of temporary files is not empty", func() bool {
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
	p.Eventually("an uploaded file is still open", func() bool { return len(openUploads(p)) == 0 })
	p.Stop()
}

// openUploads lists the uploaded files that the process has not closed, on systems
// with /proc.
func openUploads(p *process.Process) (open []string) {
	folder := filepath.Join("/proc", strconv.Itoa(p.Cmd.Process.Pid), "fd")
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if target, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && strings.Contains(target, "marquee-spool") {
			open = append(open, target)
		}
	}
	return open
}

// TestAssetSettingsRefused: what assets cannot be served with is said at the
// start.
func TestAssetSettingsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, value, says string }{
		{"--cdn-url", "ftp://cdn.example.com", "http or https"},
		{"--cdn-url", "cdn.example.com", "http or https"},
		{"--cdn-url", "https://", "http or https"},
		{"--cdn-url", "https://u:hunter2secret@cdn.example.com", "without a user"},
		{"--cdn-url", "https://cdn.example.com?x=1", "without a user, parameters"},
		{"--max-asset-size", "0", "at least 1"},
		{"--max-asset-size", "20MB", "--max-asset-size"},
	} {
		out := process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+filepath.Join(t.TempDir(), "x.db"), c.flag, c.value)
		process.Wants(t, out, c.says)
		process.Shuns(t, out, "hunter2secret")
	}
}

// TestUploadMemory uploads more, at once, than the process takes memory for,
// and gets it again by clients who take their time.
func TestUploadMemory(t *testing.T) { service.EachStore(t, testUploadMemory) }

func testUploadMemory(t *testing.T, fresh service.NewStore) {
	process.Measures(t)
	const uploads, size = 12, 20 << 20
	p := process.Serve(t, fresh(t))
	p.Creative()
	before := p.Peak()
	head := assettest.PNG(1, 1)
	var wait sync.WaitGroup
	places := make([]string, uploads)
	for i := range uploads {
		wait.Go(func() {
			contentType, body := service.Form("a.png", append(bytes.Clone(head), byte(i)))
			end := len(body) - len("\r\n--") - 60 - len("--\r\n")
			content := io.LimitReader(repeating{}, size-int64(len(head))-1)
			a, err := p.Post(fmt.Sprint(i), contentType, io.MultiReader(bytes.NewReader(body[:end]), content, bytes.NewReader(body[end:])))
			if err != nil || a.Status != http.StatusCreated {
				t.Errorf("%v %+v", err, a)
				return
			}
			object, _ := a.JSON().(map[string]any)
			places[i], _ = object["cdnId"].(string)
			if fmt.Sprint(object["fileSizeBytes"]) != fmt.Sprint(size) {
				t.Errorf("the file has %v bytes", object["fileSizeBytes"])
			}
		})
	}
	wait.Wait()
	uploaded := p.Peak()
	for _, place := range places {
		response, err := p.Client.Get(p.URL + place)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() // none has been read
	}
	after := p.Peak()
	t.Logf("%d MiB were uploaded at once: the process grew from %d to %d MiB, and to %d by sending them", uploads*size>>20, before>>20, uploaded>>20, after>>20)
	if after-before > uploads*size {
		t.Errorf("the process grew by %d MiB", (after-before)>>20)
	}
}

// repeating gives bytes without end.
type repeating struct{}

func (repeating) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(i)
	}
	return len(b), nil
}
