package advertising

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSegmentsExpire asks in networks of several time zones how long segments
// of each kind live.
func TestSegmentsExpire(t *testing.T) { service.EachStore(t, testSegmentsExpire) }

func testSegmentsExpire(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	var body strings.Builder
	kinds := []string{"TODAY", "THIS_WEEK", "THIS_MONTH"}
	for day := range 7 {
		kinds = append(kinds, "UNTIL_"+strings.ToUpper(time.Weekday(day).String()))
	}
	for _, kind := range kinds {
		fmt.Fprintf(&body, `,{"segmentId": "%s", "name": "N", "dataSource": "ADOBE", "ttlSpec": true, "timeToLiveType": "%[1]s"}`, kind)
	}
	for unit, n := range map[string]string{"Minutes": "90", "Hours": "1.5", "Days": "0.0625"} {
		fmt.Fprintf(&body, `,{"segmentId": "%s", "name": "N", "dataSource": "ADOBE", "ttlSpec": true, "timeToLiveType": "FIXED_DURATION", "ttlNumber": %s, "ttlUnit": "%[1]s"}`, unit, n)
	}
	for _, name := range []string{"", "America/Los_Angeles", "Asia/Kathmandu", "Pacific/Kiritimati", "Europe/Oslo"} {
		zone := time.UTC
		network := "main"
		if name != "" {
			var err error
			if zone, err = time.LoadLocation(name); err != nil {
				t.Fatal(err)
			}
			network = strings.ReplaceAll(name, "/", "-")
			c.Send("POST", "/api/v1/networks/"+network, fmt.Sprintf(`{"name": "N", "timeZone": %q}`, name), 201, "")
		}
		path := "/api/v1/segments/upload?context=" + network
		first := c.Send("POST", path, "["+body.String()[1:]+"]", 200, "")
		for _, s := range first.Segments(t) {
			now, end := s.UpdateTime.In(zone), s.ExpiryTime.In(zone)
			last := end.Add(-time.Millisecond)
			midnight := last.Day() != end.Day() && end.Equal(end.Truncate(time.Minute))
			holds := false
			switch day, until := strings.CutPrefix(s.ID, "UNTIL_"); {
			case until:
				holds = midnight && strings.ToUpper(end.Weekday().String()) == day && end.After(now) && end.Sub(now) <= 7*24*time.Hour+time.Hour
			case s.ID == "TODAY":
				holds = midnight && last.YearDay() == now.YearDay() && last.Year() == now.Year()
			case s.ID == "THIS_WEEK":
				y, w := now.ISOWeek()
				lastYear, lastWeek := last.ISOWeek()
				_, next := end.ISOWeek()
				holds = midnight && y == lastYear && w == lastWeek && w != next
			case s.ID == "THIS_MONTH":
				holds = midnight && last.Month() == now.Month() && last.Year() == now.Year() && end.Day() == 1
			default:
				holds = end.Sub(now) == 90*time.Minute
			}
			if !holds {
				t.Errorf("%s at %s is to %s", s.ID, now, end)
			}
		}
		// The network's zone at the write counts.
		c.Send("POST", "/api/v1/networks/"+network, `{"timeZone": "Asia/Tokyo"}`, 200, "")
		if again := c.Send("POST", path, "["+body.String()[1:]+"]", 200, ""); string(again.Body) != string(first.Body) {
			t.Error("the same upload changes something")
		}
	}
	// A network and its segments may be written in one call.
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "networks", "object": {"id": "main", "timeZone": "Pacific/Kiritimati"}},
		{"type": "segments", "object": {"id": "TODAY", "description": "D"}}]}`, 200, `{"results": [{}, {"expiryTime": "<~ T10:00:00.000Z$>"}]}`)
}

// TestSegmentsPass: what nobody writes is archived when its time has come, and
// what a client writes between that moment and the pass begins a new life.
func TestSegmentsPass(t *testing.T) { service.EachStore(t, testSegmentsPass) }

func testSegmentsPass(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	list := func() map[string]service.Segment {
		t.Helper()
		all := map[string]service.Segment{}
		for _, s := range c.Send("GET", "/api/v1/segments?context=main&pageSize=1000", "", 200, "").Segments(t) {
			all[s.ID] = s
		}
		return all
	}
	lives := func(id, state string, minutes int) string {
		return fmt.Sprintf(`{"segmentId": %q, "name": "N", "dataSource": "ADOBE", "state": %q, "ttlSpec": true, "timeToLiveType": "FIXED_DURATION", "ttlNumber": %d, "ttlUnits": "Minutes"}`, id, state, minutes)
	}
	c.Send("POST", service.UploadPath, "["+strings.Join([]string{lives("a", "ACTIVE", 5), lives("b", "INACTIVE", 5), lives("c", "ACTIVE", 5), lives("d", "ACTIVE", 5),
		lives("e", "ACTIVE", 5), lives("late", "ACTIVE", 15)}, ",")+"]", 200, "")
	before := list()
	c.Service.Clock.Advance(6 * time.Minute)
	c.Send("POST", service.UploadPath, `[{"segmentId": "a"}, {"segmentId": "b"}, {"segmentId": "c", "state": "ARCHIVED"}, {"segmentId": "d", "ttlSpec": false}]`, 200, "")
	if err := c.Service.Pass(); err != nil {
		t.Fatal(err)
	}
	after := list()
	for id, state := range map[string]string{"a": "ACTIVE", "b": "INACTIVE", "c": "ARCHIVED", "d": "ACTIVE", "e": "ARCHIVED", "late": "ACTIVE"} {
		was, is := before[id], after[id]
		again := is.ExpiryTime.Equal(is.UpdateTime.Add(5 * time.Minute))
		kept := is.ExpiryTime.Equal(was.ExpiryTime)
		holds := kept
		switch id {
		case "a", "b":
			holds = again
		case "d":
			holds = is.ExpiryTime.IsZero()
		}
		if is.State != state || !holds {
			t.Errorf("%s was %+v and is %+v", id, was, is)
		}
	}
	// Another pass changes nothing, and a life that has not ended is left alone.
	picture := c.Service.CameraPicture(t)
	if err := c.Service.Pass(); err != nil {
		t.Fatal(err)
	}
	if err := c.Service.Engine.Review(t.Context(), "segments", service.Network, []string{"a", "b", "c", "d", "e", "late"}); err != nil {
		t.Fatal(err)
	}
	if c.Service.CameraPicture(t) != picture {
		t.Error("a pass changes what it need not")
	}
}

// TestUploadAtomic: a fault in the last object of many leaves nothing of the
// others, and faults of objects that are far apart are reported together.
func TestUploadAtomic(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testUploadAtomic)
}

func testUploadAtomic(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	c.Send("POST", service.UploadPath, service.SegmentsBody(0, 10, "Stored"), 200, "")
	before := c.Service.CameraPicture(t)
	const n = 20_000
	good := strings.TrimSuffix(service.SegmentsBody(0, n-1, "New"), "]")
	refuse := func(body string, status int, pattern string) *service.Answer {
		t.Helper()
		a := c.Send("POST", service.UploadPath, body, status, pattern)
		if c.Service.CameraPicture(t) != before {
			t.Errorf("the store has changed, with %d", status)
		}
		return a
	}
	refuse(good+`,{"segmentId": "bad", "name": "Bad", "dataSource": "NOBODY"}]`, 422,
		fmt.Sprintf(`{"messages": [{"code": "error.value.enum", "params": {"field": "/dataSource", "index": %d, "objectId": "bad"}}]}`, n-1))
	refuse(good+`,{"segmentId": "bad", "name": "Bad", "dataSource": "ADOBE", "team": "nowhere"}]`, 422,
		fmt.Sprintf(`{"messages": [{"code": "error.referenced.object.not.found", "params": {"field": "/team", "index": %d}}]}`, n-1))
	refuse(good+`,{"segmentId": "bad", "name": "Bad", "dataSource": "ADOBE"`, 400, `{"messages": [{"code": "error.body.syntax", "params": {"line": 1}}]}`)
	refuse(good+`,{"segmentId": "b/d", "id": "a"}]`, 400, fmt.Sprintf(`{"messages": [{"code": "error.id.mismatch", "params": {"index": %d}}]}`, n-1))
	refuse(good+`,{"name": "Without id"}]`, 422, fmt.Sprintf(`{"messages": [{"code": "error.property.required", "params": {"index": %d}}, {"code": "error.id.required"}]}`, n-1))
	// In three chunks; what is right between them does not matter.
	middle := `{"segmentId": "x%d", "name": "", "dataSource": "ADOBE"}`
	refuse("["+fmt.Sprintf(middle, 1)+","+good[1:]+","+fmt.Sprintf(middle, 2)+"]", 422,
		fmt.Sprintf(`{"messages": [{"params": {"index": 0, "objectId": "x1"}}, {"params": {"index": %d, "objectId": "x2"}}]}`, n))
	var faulty strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&faulty, `,{"segmentId": "%d", "name": "%s", "dataSource": "ADOBE"}`, i, strings.Repeat("N", (i+24)%25))
	}
	a := refuse("["+faulty.String()[1:]+"]", 422, "")
	c.Faults(a, 100)
	if !strings.Contains(string(a.Body), `"index":1`) || !strings.Contains(string(a.Body), fmt.Sprintf(`"index":%d`, 99*25+1)) {
		t.Error("the first 100 faults are not those of the first objects")
	}
	c.Send("POST", service.UploadPath, good+"]", 200, fmt.Sprintf(`{"totalCount": %d}`, n-1))
}

// TestUploadOrder: an upload of several chunks is answered in its order, each
// segment once, as it is stored.
func TestUploadOrder(t *testing.T) { service.EachStore(t, testUploadOrder) }

func testUploadOrder(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	const n = 2500
	// Each tenth of the first chunk is repeated in the last one, and one in
	// three chunks.
	var body strings.Builder
	var want []string
	for i := range n {
		id := fmt.Sprintf("%05d", i)
		switch {
		case i >= 2100 && i < 2200:
			id = fmt.Sprintf("%05d", (i-2100)*10)
		case i == 1500 || i == 2300:
			id = "00003"
		}
		if i == 1500 || i < 1000 && (i%10 == 0 || i == 3) {
			fmt.Fprintf(&body, `,{"segmentId":%q,"name":"%d","dataSource":"ADOBE","unknown":1}`, id, i)
			continue
		}
		want = append(want, id)
		fmt.Fprintf(&body, `,{"segmentId":%q,"name":"%d","dataSource":"ADOBE","description":"%s"}`, id, i, strings.Repeat("long ", i%300))
	}
	a := c.Send("POST", service.UploadPath, "["+body.String()[1:]+"]", 200, "")
	if warned := a.Header.Values("Warning"); len(warned) > 0 {
		t.Error(warned)
	}
	var got []string
	for _, s := range a.Segments(t) {
		got = append(got, s.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d are answered, not %d, or in another order", len(got), len(want))
	}
	c.Send("GET", "/api/v1/segments?context=main&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, len(want)))
	c.Send("GET", "/api/v1/audit?context=main&type=segments&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, len(want)))
	c.Send("GET", "/api/v1/segments/00003?context=main", "", 200, `{"name": "2300"}`)
	before := c.Service.CameraPicture(t)
	if again := c.Send("POST", service.UploadPath, "["+body.String()[1:]+"]", 200, ""); string(again.Body) != string(a.Body) {
		t.Error("the same upload is answered otherwise")
	}
	if c.Service.CameraPicture(t) != before {
		t.Error("the same upload changes something")
	}
}

// TestUploadRefused: an upload that is too large is refused before it has been read,
// or unpacked, to its end.
func TestUploadRefused(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testUploadRefused)
}

func testUploadRefused(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	good := `[{"segmentId":"a","name":"A","dataSource":"ADOBE"},`
	for name, h := range map[string]service.Hostile{
		"endless body":       {Body: service.Endless, Status: 413, Code: "error.body.too.large", Params: `{"limit": 134217728}`},
		"endless list":       {Body: func() io.Reader { return io.MultiReader(strings.NewReader(good+" "), spaces{}) }, Status: 413, Code: "error.body.too.large", Params: `{"limit": 134217728}`},
		"bomb":               {Header: service.Packed, Body: service.Bomb(' ', 256<<20), Status: 413, Code: "error.body.too.large"},
		"nothing but spaces": {Header: service.Packed, Body: service.Bomb(' ', 64<<20), Status: 413, Code: "error.object.too.large"},
		"object above 1 MiB": {Body: service.Repeated(good+`{"segmentId":"b","description":"`, "x", 1<<20, `"}]`), Status: 413, Code: "error.object.too.large", Params: `{"index": 1}`},
		"a million levels":   {Body: service.Repeated("", "[", 1_000_000, ""), Status: 400, Code: "error.body.too.deep"},
		"levels in a list":   {Body: service.Repeated(`[{"segmentId":"a","x":`, "[", 1_000_000, ""), Status: 400, Code: "error.body.too.deep"},
		"a long text":        {Body: service.Repeated(good+`{"segmentId":"b","name":"B","dataSource":"ADOBE","description":"`, "x", 20_000, `"}]`), Status: 422, Code: "error.value.too.long", Params: `{"index": 1}`},
		"gzip cut short":     {Header: service.Packed, Body: service.Text(string(service.Pack([]byte(service.SegmentsBody(0, 1000, "N")))[:500])), Status: 400, Code: "error.body.compression"},
		"invalid UTF-8":      {Body: service.Text(good + "\n{\"segmentId\":\"b\",\"name\":\"\xff\"}]"), Status: 400, Code: "error.body.encoding", Params: `{"line": 2, "column": 26}`},
	} {
		h.Method, h.Path = http.MethodPost, service.UploadPath
		t.Run(name, func(t *testing.T) { h.Run(t, c.Service, c.Token) })
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestUploadsAtOnce: of uploads of the same segments at once, each takes effect
// as a whole, whatever else is written meanwhile.
func TestUploadsAtOnce(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testUploadsAtOnce)
}

func testUploadsAtOnce(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	uploadsAtOnce(c.Service, c.Token, []*service.Service{c.Service})
}

// TestServersUpload is the same through several servers, which meet in the
// database alone.
func TestServersUpload(t *testing.T) {
	t.Parallel()
	servers, token := service.NewServers(t, 2)
	uploadsAtOnce(servers[0], token, servers)
}

func uploadsAtOnce(s *service.Service, token string, servers []*service.Service) {
	s.TB.Helper()
	n, uploads := 2500, 6
	if testing.Short() {
		n = 1100 // more than a page
	}
	s.Must(token, "POST", service.UploadPath, service.SegmentsBody(0, n, "first"), 200)
	var wait sync.WaitGroup
	for i := range uploads {
		wait.Go(func() {
			a := servers[i%len(servers)].Ask(token, "POST", service.UploadPath, service.SegmentsBody(0, n, fmt.Sprintf("upload %d", i)), http.Header{"Accept-Encoding": {"gzip"}})
			if a.Status != 200 || len(a.Segments(s.TB)) != n {
				s.TB.Errorf("upload %d: %d %.300s", i, a.Status, a.Body)
			}
		})
	}
	for i := range 5 {
		wait.Go(func() {
			for j := range 5 { // not among those that are uploaded
				a := servers[j%len(servers)].Ask(token, "PUT", fmt.Sprintf("/api/v1/segments/other-%d-%d?context=main", i, j), `{"name": "Other", "dataSource": "ADOBE"}`, nil)
				if a.Status != 201 {
					s.TB.Errorf("%d %s", a.Status, a.Body)
				}
			}
		})
	}
	wait.Wait()
	names := map[string]int{}
	for page := range 3 {
		a := s.Ask(token, "GET", fmt.Sprintf("/api/v1/segments?context=main&orderBy=id&fields=name&pageSize=1000&page=%d", page), "", nil)
		for _, one := range a.Segments(s.TB) {
			names[one.Name]++
		}
	}
	if len(names) != 2 || names["Other"] != 25 {
		s.TB.Errorf("the segments are of more than one upload: %v", names)
	}
	var history struct{ TotalCount int }
	a := s.Ask(token, "GET", "/api/v1/audit?context=main&type=segments&pageSize=1", "", nil)
	if err := json.Unmarshal(a.Body, &history); err != nil || history.TotalCount != n*(uploads+1)+25 {
		s.TB.Errorf("%d changes: %v", history.TotalCount, err)
	}
}
