package advertising

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSegmentsUploadLimits sends as much as one upload takes, and a little
// more, of which nothing is stored.
func TestSegmentsUploadLimits(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSegmentsUploadLimits)
}

func testSegmentsUploadLimits(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	c.Patiently()
	const segments, size = 100_000, 128 << 20
	// Spaces within the objects make the body as long as it may be.
	body := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			object := fmt.Sprintf(`,{"segmentId":"s%d","name":"S","dataSource":"ADOBE"`, i)
			end := (size-1)*(i+1)/n - 1
			b.WriteString(object + strings.Repeat(" ", max(0, end-b.Len()-len(object))) + "}")
		}
		return "[" + b.String()[1:] + "]"
	}
	refuse := func(body, code string, limit int) {
		t.Helper()
		before := c.Service.CameraPicture(t)
		c.Send("POST", service.UploadPath, body, http.StatusRequestEntityTooLarge, fmt.Sprintf(`{"messages": [{"code": "%s", "params": {"limit": %d}}]}`, code, limit))
		if c.Service.CameraPicture(t) != before {
			t.Errorf("the store has changed by what was refused with %s", code)
		}
	}
	refuse(body(segments+1, 0), "error.too.many.objects", segments)
	whole := body(segments, size)
	if len(whole) != size {
		t.Fatalf("the body has %d bytes", len(whole))
	}
	refuse(whole+" ", "error.body.too.large", size)
	stored := segments
	if testing.Short() { // so many take a minute
		stored, whole = 1000, body(1000, size)
	}
	a := c.Send("POST", service.UploadPath, whole, 200, "")
	if answered := fmt.Sprintf(`"totalCount":%d`, stored); !strings.Contains(string(a.Body[len(a.Body)-100:]), answered) && !strings.Contains(string(a.Body[:100]), answered) {
		t.Errorf("the answer does not end with %s", answered)
	}
	c.Send("GET", "/api/v1/segments?context=main&pageSize=1&orderBy=id&orderByDirection=DESCENDING", "", 200,
		fmt.Sprintf(`{"totalCount": %d, "results": [{"id": "s%d", "name": "S"}]}`, stored, stored-1))
}
