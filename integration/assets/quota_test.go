package assets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"marquee/engine/store"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// padded is a PNG of so many bytes, unlike those of other numbers.
func padded(number, size int) []byte {
	content := append(assettest.PNG(1, 1), fmt.Sprintf("%08d", number)...)
	return append(content, make([]byte, size-len(content))...)
}

// usage is what the store says that the files of a network have; -1 when it says
// nothing.
func usage(c *service.Conversation, network string) (used int64) {
	c.Helper()
	err := c.Service.Store.Read(c.Context(), func(s store.Snapshot) error {
		used = -1
		return s.Get(c.Context(), "asset_usage", []store.Key{{Network: network, ID: "files"}}, func(r *store.Record) error {
			var stored struct {
				Bytes   int64
				Counted bool
			}
			err := json.Unmarshal(r.Document, &stored)
			if used = stored.Bytes; !stored.Counted {
				used = -1
			}
			return err
		})
	})
	if err != nil {
		c.Fatal(err)
	}
	return used
}

// forgetSizes stores deliveries as they were before they had sizes.
func forgetSizes(c *service.Conversation) {
	c.Helper()
	err := c.Service.Store.Write(c.Context(), func(tx store.Tx) error {
		var writes []store.Write
		err := tx.Scan(c.Context(), "asset_deliveries", store.Key{}, 100, func(r *store.Record) error {
			var d struct {
				Network string              `json:"network"`
				Asset   string              `json:"asset"`
				Files   []map[string]string `json:"files"`
			}
			var raw map[string]any
			if err := json.Unmarshal(r.Document, &raw); err != nil {
				return err
			}
			for _, file := range raw["files"].([]any) {
				delete(file.(map[string]any), "size")
			}
			plain, err := json.Marshal(raw)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(plain, &d); err != nil {
				return err
			}
			w := store.Write{Record: *r, Expected: r.Revision}
			w.Document = plain
			writes = append(writes, w)
			return nil
		})
		if err != nil {
			return err
		}
		return tx.Put(c.Context(), "asset_deliveries", writes)
	})
	if err != nil {
		c.Fatal(err)
	}
}

// TestNetworkQuota counts what there is already, what is replaced, and what a
// bundle unpacks to.
func TestNetworkQuota(t *testing.T) { service.EachStore(t, testNetworkQuota) }

func testNetworkQuota(t *testing.T, fresh service.NewStore) {
	c := withCreative(t, fresh)
	// Without a quota, nothing is counted.
	c.Upload("a", "a.png", padded(1, 1000), 201, "")
	c.Upload("b", "b.png", padded(1, 1000), 201, "") // the same content counts for each
	c.Upload("b", "b.png", padded(2, 600), 200, "")
	pages := assettest.ZIP(assettest.Entry{Name: "index.html", Content: strings.Repeat("<p>", 100)}, assettest.Entry{Name: "copy.html", Content: strings.Repeat("<p>", 100)},
		assettest.Entry{Name: "a.css", Content: strings.Repeat(" ", 100)}, assettest.Entry{Name: "empty.txt"})
	c.Upload("z", "z.zip", pages, 201, "") // 400 bytes of different contents
	if used := usage(c, "main"); used != -1 {
		t.Errorf("%d bytes are counted without a quota", used)
	}
	forgetSizes(c)
	c.Service.Types.Assets.NetworkQuota = 2500
	refused := func(used, size int) string {
		return fmt.Sprintf(`{"messages": [{"type": "ErrorMessage", "code": "error.network.quota", "params": {"context": "main", "limit": 2500, "used": %d, "size": %d, "field": "/file", "type": "assets", "objectId": "d"}}]}`, used, size)
	}
	blobs := len(blobsOf(c))
	c.Upload("d", "d.png", padded(4, 501), 422, refused(2000, 501))
	if used := usage(c, "main"); used != 2000 {
		t.Errorf("%d bytes are counted", used)
	}
	if n := len(blobsOf(c)); n != blobs {
		t.Errorf("a refused upload has left %d files", n-blobs)
	}
	c.Upload("d", "d.png", padded(4, 500), 201, "")
	c.Upload("d", "d.png", padded(4, 500), 200, "") // the same again
	c.Upload("e", "e.png", padded(5, 100), 422, `{"messages": [{"code": "error.network.quota", "params": {"used": 2500, "size": 100}}]}`)
	// A name changes the place, and not what there is.
	c.Upload("d", "other.png", padded(4, 500), 200, "")
	// What replaces a file counts in its place, here one that was stored before it had a size.
	c.Upload("a", "a.png", padded(6, 900), 200, "")
	c.Upload("e", "e.png", padded(5, 100), 201, "")
	c.Upload("z", "z.zip", assettest.ZIP(assettest.Entry{Name: "index.html", Content: "<p>"}), 200, "")
	if used := usage(c, "main"); used != 900+600+3+500+100 {
		t.Errorf("%d bytes are counted", used)
	}
	// Hidden files are kept, and count.
	c.Send("POST", "/api/v1/assets/c/e?context=main", `{"objectState": "HIDDEN"}`, 200, "")
	c.Upload("f", "f.png", padded(7, 500), 422, `{"messages": [{"code": "error.network.quota", "params": {"used": 2103}}]}`)
	// A quota that is less than what there is keeps nothing from being made smaller.
	c.Service.Types.Assets.NetworkQuota = 100
	c.Upload("a", "a.png", padded(8, 800), 200, "")
	// A server without a quota goes on counting for those that have one.
	c.Service.Types.Assets.NetworkQuota = 0
	c.Upload("f", "f.png", padded(7, 1000), 201, "")
	if used := usage(c, "main"); used != 800+600+3+500+100+1000 {
		t.Errorf("%d bytes are counted", used)
	}
}

// TestNetworkQuotaIsExact sends uploads at once, of which only some fit.
func TestNetworkQuotaIsExact(t *testing.T) { service.EachStore(t, testNetworkQuotaIsExact) }

func testNetworkQuotaIsExact(t *testing.T, fresh service.NewStore) {
	c := withCreative(t, fresh)
	c.Service.Types.Assets.NetworkQuota = 4500
	uploadsWithinQuota(c, 10, 4, func(int) *service.Service { return c.Service })
}

// uploadsWithinQuota sends n files of 1000 bytes at once, of which as many are
// stored as fit.
func uploadsWithinQuota(c *service.Conversation, n, fit int, to func(int) *service.Service) {
	c.Helper()
	statuses := make([]int, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			contentType, body := service.Form("a.png", padded(i, 1000))
			a, err := to(i).Send(http.MethodPost, fmt.Sprintf("/api/v1/assets/c/%d?context=main", i), c.Header("Content-Type", contentType), bytes.NewReader(body))
			if err != nil {
				c.Error(err)
				return
			}
			if statuses[i] = a.Status; a.Status != 201 && (a.Status != 422 || !bytes.Contains(a.Body, []byte("error.network.quota"))) {
				c.Errorf("%d: %s", a.Status, a.Body)
			}
		})
	}
	all.Wait()
	stored := 0
	for _, status := range statuses {
		if status == 201 {
			stored++
		}
	}
	if used := usage(c, "main"); stored != fit || used != int64(fit)*1000 {
		c.Errorf("%d files were stored, and %d bytes are counted", stored, used)
	}
}

// TestNetworkQuotaOfServers: the quota holds for all servers of a database
// together, also while it is counted for the first time.
func TestNetworkQuotaOfServers(t *testing.T) {
	c, servers := withServers(t)
	for _, s := range servers {
		s.Types.Assets.NetworkQuota = 5500
	}
	uploadsWithinQuota(c, 12, 5, func(i int) *service.Service { return servers[i%len(servers)] })
}

// TestNetworkQuotaOfOneServer: what servers without a quota store while another
// counts for the first time is counted, too.
func TestNetworkQuotaOfOneServer(t *testing.T) {
	c, servers := withServers(t)
	servers[0].Types.Assets.NetworkQuota = 100_000
	uploadsWithinQuota(c, 12, 12, func(i int) *service.Service { return servers[i%len(servers)] })
}

// withServers is a conversation with the first of several services, on a database
// that has the creative c.
func withServers(t *testing.T) (*service.Conversation, []*service.Service) {
	servers, token := service.NewServers(t, 3)
	c := &service.Conversation{T: t, Service: servers[0], Token: token}
	c.Send("POST", "/api/v1/layouts/l?context=main", `{"name": "L", "html": "<p>"}`, 201, "")
	c.Send("POST", "/api/v1/creatives/c?context=main", `{"name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}`, 201, "")
	return c, servers
}
