package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/resources/asset/assettest"
)

// creative makes the creative c.
func (p *proc) creative() {
	p.tb.Helper()
	p.signIn("admin", procPassword)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/layouts/l?context=main",
		`{"name": "L", "html": "<img src=\"{{image}}\">", "assetConstraints": [{"tag": "image"}]}`)
	p.ask(http.StatusCreated, http.MethodPost, "/api/v1/creatives/c?context=main",
		`{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`)
}

// post sends a form as a stream of unknown length.
func (p *proc) post(id, contentType string, body io.Reader) (*answer, error) {
	request, err := http.NewRequest(http.MethodPost, p.url+"/api/v1/assets/c/"+id+"?context=main", body)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {contentType}, "Authorization": {"Bearer " + p.token}}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{method: http.MethodPost, status: response.StatusCode, header: response.Header}
	a.body, err = io.ReadAll(response.Body)
	return a, err
}

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
func TestAssetSettings(t *testing.T) { eachStore(t, testAssetSettings) }

func testAssetSettings(t *testing.T, fresh newStore) {
	const requestTime = 2 * time.Second
	temporary := t.TempDir()
	p := procServeWith(t, fresh(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword, "TMPDIR=" + temporary, "MARQUEE_MAX_ASSET_SIZE=100000"},
		"--cdn-url", "https://cdn.example.com/ads/", "--request-timeout", requestTime.String())
	p.creative()
	contentType, body := form("a.html", []byte("<!doctype html>"))
	a, err := p.post("a", contentType, bytes.NewReader(body))
	if err != nil || a.status != http.StatusCreated {
		t.Fatal(err, a)
	}
	const place = `^https://cdn.example.com/ads/delivery/[A-Z2-7]{26}/a.html$`
	want, _ := decode([]byte(`{"cdnId": "<~ ` + place + `>", "htmlUrls": {"a.html": "<~ ` + place + `>"}}`))
	for _, wrong := range match(want, a.json(), "", nil) {
		t.Error(wrong)
	}
	object, _ := a.json().(map[string]any)
	url, _ := object["cdnId"].(string)
	if got := p.ask(http.StatusOK, http.MethodGet, strings.TrimPrefix(url, "https://cdn.example.com/ads"), ""); string(got.body) != "<!doctype html>" {
		t.Errorf("%s", got.body)
	}
	creative := p.ask(http.StatusOK, http.MethodPost, "/api/v1/creatives/c?context=main", `{"layoutParameters": {"image": {"id": "a"}}}`)
	procWants(t, string(creative.body), strings.TrimPrefix(url, "https:"))

	contentType, body = form("b.png", append(assettest.PNG(1, 1), make([]byte, 100_000)...))
	if a, err := p.post("b", contentType, bytes.NewReader(body)); err != nil || a.status != http.StatusRequestEntityTooLarge || !bytes.Contains(a.body, []byte(`"limit":100000`)) {
		t.Error(err, a)
	}
	contentType, body = form("c.png", assettest.PNG(1, 1))
	slow := io.MultiReader(bytes.NewReader(body[:200]), &pausing{Reader: bytes.NewReader(body[200:]), pause: requestTime + requestTime/10})
	if a, err := p.post("c", contentType, slow); err != nil || a.status != http.StatusCreated {
		t.Error("who takes longer to send a file than a request may take:", err, a)
	}
	contentType, body = form("d.png", append(assettest.PNG(1, 1), make([]byte, 95_000)...))
	broken := io.MultiReader(bytes.NewReader(body[:90_000]), &pausing{err: errors.New("broken off")})
	if a, err := p.post("d", contentType, broken); err == nil {
		t.Error("the client did not break off", a)
	}
	p.ask(http.StatusNotFound, http.MethodGet, "/api/v1/assets/c/d?context=main", "")
	p.eventually("the folder of temporary files is not empty", func() bool {
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
	p.eventually("an uploaded file is still open", func() bool { return len(p.openUploads()) == 0 })
	p.stop()
}

// openUploads lists the uploaded files that the process has not closed, on systems
// with /proc.
func (p *proc) openUploads() (open []string) {
	folder := filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "fd")
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if target, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && strings.Contains(target, "marquee-spool") {
			open = append(open, target)
		}
	}
	return open
}

// eventually waits until something holds, which has no event to wait for.
func (p *proc) eventually(not string, holds func() bool) {
	p.tb.Helper()
	for deadline := time.Now().Add(procPatience); !holds(); {
		if time.Now().After(deadline) {
			p.tb.Fatal(not)
		}
		runtime.Gosched()
	}
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
		out := procFails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+filepath.Join(t.TempDir(), "x.db"), c.flag, c.value)
		procWants(t, out, c.says)
		procShuns(t, out, "hunter2secret")
	}
}

// TestUploadMemory uploads more, at once, than the process takes memory for,
// and gets it again by clients who take their time.
func TestUploadMemory(t *testing.T) { eachStore(t, testUploadMemory) }

func testUploadMemory(t *testing.T, fresh newStore) {
	measures(t)
	const uploads, size = 12, 20 << 20
	p := procServe(t, fresh(t))
	p.creative()
	before := p.peak()
	head := assettest.PNG(1, 1)
	var wait sync.WaitGroup
	places := make([]string, uploads)
	for i := range uploads {
		wait.Go(func() {
			contentType, body := form("a.png", append(bytes.Clone(head), byte(i)))
			end := len(body) - len("\r\n--") - 60 - len("--\r\n")
			content := io.LimitReader(repeating{}, size-int64(len(head))-1)
			a, err := p.post(fmt.Sprint(i), contentType, io.MultiReader(bytes.NewReader(body[:end]), content, bytes.NewReader(body[end:])))
			if err != nil || a.status != http.StatusCreated {
				t.Errorf("%v %+v", err, a)
				return
			}
			object, _ := a.json().(map[string]any)
			places[i], _ = object["cdnId"].(string)
			if fmt.Sprint(object["fileSizeBytes"]) != fmt.Sprint(size) {
				t.Errorf("the file has %v bytes", object["fileSizeBytes"])
			}
		})
	}
	wait.Wait()
	uploaded := p.peak()
	for _, place := range places {
		response, err := p.client.Get(p.url + place)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() // none has been read
	}
	after := p.peak()
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

// peak is the most memory that the process has taken.
func (p *proc) peak() int64 {
	p.tb.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "status"))
	if err != nil {
		p.tb.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(line, &kib); err != nil {
		p.tb.Fatal(err)
	}
	return kib << 10
}
