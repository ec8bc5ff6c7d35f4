package assets

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"marquee/integration/service"
	"marquee/resources/asset"
	"marquee/resources/asset/assettest"
	"marquee/resources/location"
)

// later is a time before which every blob was put.
func later() time.Time { return time.Now().Add(time.Hour) }

func collect(c *service.Conversation, before time.Time, want int) {
	c.Helper()
	n, err := asset.Collect(c.Context(), c.Service.Store, before)
	if err != nil || n != want {
		c.Errorf("%d blobs were dropped, not %d: %v", n, want, err)
	}
}

// TestAssetCollect drops the blobs that no asset is delivered from, and no others.
func TestAssetCollect(t *testing.T) { service.EachStore(t, testAssetCollect) }

func testAssetCollect(t *testing.T, fresh service.NewStore) {
	c := withCreative(t, fresh)
	one, two := assettest.PNG(1, 1), assettest.PNG(2, 2)
	began := time.Now()
	c.Upload("a", "a.png", one, 201, "")
	c.Upload("b", "b.png", one, 201, "")
	collect(c, later(), 0)
	c.Upload("a", "a.png", two, 200, "")
	collect(c, later(), 0) // b has it
	c.Upload("b", "b.png", two, 200, "")
	collect(c, began.Add(-time.Minute), 0) // it is too new
	collect(c, later(), 1)
	collect(c, later(), 0)
	if n := blobsOf(c); len(n) != 1 {
		t.Errorf("%d blobs are left", len(n))
	}
	// A hidden asset can be shown again, with its file.
	c.Send("POST", "/api/v1/assets/c/a?context=main", `{"objectState": "HIDDEN"}`, 200, "")
	c.Send("POST", "/api/v1/assets/c/b?context=main", `{"objectState": "HIDDEN"}`, 200, "")
	collect(c, later(), 0)
	place := c.CDNID(c.Send("POST", "/api/v1/assets/c/a?context=main", `{"objectState": "ACTIVE"}`, 200, ""))
	if got := fetch(c, "GET", place); !bytes.Equal(got.Body, two) {
		t.Errorf("%d: %d bytes", got.Status, len(got.Body))
	}
	// What is dropped can be uploaded again.
	c.Upload("a", "a.png", one, 200, "")
	place = c.CDNID(c.Send("GET", "/api/v1/assets/c/a?context=main", "", 200, ""))
	if got := fetch(c, "GET", place); !bytes.Equal(got.Body, one) {
		t.Errorf("%d: %d bytes", got.Status, len(got.Body))
	}
	// More than are looked at in one go, and dropped in one go.
	for half := range 2 {
		var entries []assettest.Entry
		for i := range 600 {
			entries = append(entries, assettest.Entry{Name: fmt.Sprintf("%d.css", i), Content: fmt.Sprintf("%d %d", half, i)})
		}
		entries[0].Name = "index.html"
		c.Upload("z", "z.zip", assettest.ZIP(entries...), 201-half, "")
	}
	collect(c, later(), 600)
	if n := blobsOf(c); len(n) != 602 {
		t.Errorf("%d blobs are left", len(n))
	}
}

// TestAssetCollectRaces uploads a few contents to a few assets again and again,
// while what is unused is dropped: no asset is ever without its bytes.
func TestAssetCollectRaces(t *testing.T) { service.EachStore(t, testAssetCollectRaces) }

func testAssetCollectRaces(t *testing.T, fresh service.NewStore) {
	const uploaders, collectors, readers, rounds = 4, 2, 2, 25
	c := withCreative(t, fresh)
	var contents [][]byte
	for i := range 7 {
		contents = append(contents, append(assettest.PNG(i+1, 1), pattern(300<<10)...))
	}
	for i := range uploaders {
		c.Upload(fmt.Sprint(i), "a.png", contents[0], 201, "")
	}
	var running, dropped, checked atomic.Int64
	running.Store(uploaders)
	var wait sync.WaitGroup
	for i := range uploaders {
		wait.Go(func() {
			defer running.Add(-1)
			for n := range rounds {
				contentType, body := service.Form("a.png", contents[(i+n)%len(contents)])
				a, err := c.Service.Send("PUT", fmt.Sprintf("/api/v1/assets/c/%d?context=main", i), c.Header("Content-Type", contentType), bytes.NewReader(body))
				if err != nil || a.Status != 200 {
					t.Errorf("an upload fails: %v %+v", err, a)
					return
				}
			}
		})
	}
	for range collectors {
		wait.Go(func() {
			for running.Load() > 0 {
				n, err := asset.Collect(t.Context(), c.Service.Store, later())
				if err != nil {
					t.Error(err)
					return
				}
				dropped.Add(int64(n))
			}
		})
	}
	for i := range readers {
		wait.Go(func() {
			for n := i; running.Load() > 0; n++ {
				if err := checkAsset(c, fmt.Sprint(n%uploaders), contents); err != nil {
					t.Error(err)
					return
				}
				checked.Add(1)
			}
		})
	}
	wait.Wait()
	for i := range uploaders {
		if err := checkAsset(c, fmt.Sprint(i), contents); err != nil {
			t.Error(err)
		}
	}
	if dropped.Load() == 0 || checked.Load() == 0 {
		t.Errorf("the test tests nothing: %d blobs were dropped, %d assets looked at", dropped.Load(), checked.Load())
	}
	t.Logf("%d blobs were dropped, %d assets looked at", dropped.Load(), checked.Load())
	// In the end, only the delivered files exist.
	if _, err := asset.Collect(t.Context(), c.Service.Store, later()); err != nil {
		t.Error(err)
	}
	used := map[string]bool{}
	for i := range uploaders {
		object, _ := c.Send("GET", fmt.Sprintf("/api/v1/assets/c/%d?context=main", i), "", 200, "").JSON().(map[string]any)
		used[fmt.Sprint("main ", object["sha256"])] = true
	}
	stored := blobsOf(c)
	for key := range used {
		if _, there := stored[key]; !there || len(stored) != len(used) {
			t.Errorf("stored are %v, not %v", stored, used)
		}
	}
}

// checkAsset reads an asset and its file. A place that is of no use any more
// has been replaced meanwhile, as the asset shows.
func checkAsset(c *service.Conversation, id string, contents [][]byte) error {
	for {
		a, err := c.Service.Send("GET", "/api/v1/assets/c/"+id+"?context=main", c.Header(), nil)
		if err != nil || a.Status != 200 {
			return fmt.Errorf("the asset %s cannot be read: %w %+v", id, err, a)
		}
		object, _ := a.JSON().(map[string]any)
		place, _ := object["cdnId"].(string)
		file, err := c.Service.Send("GET", place, http.Header{}, nil)
		switch {
		case err == nil && file.Status == 200:
			for _, content := range contents {
				if bytes.Equal(content, file.Body) && file.Header.Get("ETag") == fmt.Sprintf("%q", object["sha256"]) {
					return nil
				}
			}
			return errors.New("an asset is delivered with other bytes than its own")
		case err == nil && file.Status != 404:
			return fmt.Errorf("a file cannot be read: %d %s", file.Status, file.Body)
		}
		again, wrong := c.Service.Send("GET", "/api/v1/assets/c/"+id+"?context=main", c.Header(), nil)
		if wrong != nil {
			return wrong
		}
		if now, _ := again.JSON().(map[string]any); now["cdnId"] == place {
			return fmt.Errorf("the asset %s has no bytes: %w %+v", id, err, file)
		}
	}
}

// TestCollectLeavesLocations: an imported gazetteer is a blob that no asset is
// delivered from.
func TestCollectLeavesLocations(t *testing.T) { service.EachStore(t, testCollectLeavesLocations) }

func testCollectLeavesLocations(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	line := strings.NewReader(`{"id": 1, "type": "CITY", "name": "Atlantis"}`)
	if _, err := location.Import(t.Context(), c.Service.Store, line, time.Now().UTC().Truncate(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	collect(c, later(), 0)
	var locations location.Lookup
	if err := locations.Refresh(t.Context(), c.Service.Store); err != nil {
		t.Fatal(err)
	}
	if _, found := locations.Find(1); !found {
		t.Error("the imported location is gone")
	}
}
