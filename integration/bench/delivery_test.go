package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"marquee/resources/asset/assettest"
)

// BenchmarkDelivery compares the latency of files of a bundle of 1,000 with that of files
// that were uploaded alone. More files take turns than have their bytes in memory.
func BenchmarkDelivery(b *testing.B) {
	const files = 100
	s := fresh(b)
	s.write(b, "layouts", []map[string]any{{"id": "l", "name": "L", "html": "<p>"}})
	s.write(b, "creatives", []map[string]any{{"id": "c", "name": "C", "layout": "l", "verifiedSafe": true, "dimensionType": "FLEXIBLE"}})
	content := func(i int) string { return fmt.Sprintf("<p>%d%s", i, strings.Repeat(" text", 1000)) }
	entries, single := []assettest.Entry{{Name: "index.html"}}, make([]string, files)
	for i := range 999 {
		entries = append(entries, assettest.Entry{Name: fmt.Sprintf("%d.html", i), Content: content(i)})
	}
	base := strings.TrimSuffix(s.upload(b, "bundle", "bundle.zip", assettest.ZIP(entries...)), "index.html")
	for i := range single {
		single[i] = s.upload(b, fmt.Sprintf("single%d", i), "single.html", []byte(content(-1-i)))
	}
	n := 0
	bundled := func() time.Duration { n++; return s.page(b, fmt.Sprintf("%s%d.html", base, n%files)) }
	alone := func() time.Duration { return s.page(b, single[n%files]) }
	b.ResetTimer()
	for range b.N {
		ours, baseline := typical(1000, bundled, alone)
		b.ReportMetric(float64(ours)/float64(baseline), "bundle/single")
		b.ReportMetric(milliseconds(ours), "ms/file")
	}
}

// upload creates an asset of the creative c, and returns the path of its file.
func (s *service) upload(tb testing.TB, id, name string, content []byte) string {
	tb.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		tb.Fatal(err)
	}
	part.Write(content)
	form.Close()
	r, err := http.NewRequest(http.MethodPost, s.server.URL+"/api/v1/assets/c/"+id+"?context="+network, &body)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", form.FormDataContentType())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	var asset struct {
		CDNID string `json:"cdnId"`
	}
	if err != nil || answer.StatusCode != http.StatusCreated || json.Unmarshal(text, &asset) != nil {
		tb.Fatalf("%d %.500s %v", answer.StatusCode, text, err)
	}
	return asset.CDNID
}
