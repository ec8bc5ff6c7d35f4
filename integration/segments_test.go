package integration

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
)

// segment is what the tests read of one.
type segment struct {
	ID, Name, State        string
	ExpiryTime, UpdateTime time.Time
}

// segments are those of an answer.
func (a *answer) segments(tb testing.TB) []segment {
	tb.Helper()
	var list struct {
		Results    []segment
		TotalCount int
	}
	if err := json.Unmarshal(a.body, &list); err != nil || list.TotalCount < len(list.Results) {
		tb.Fatalf("%v: %.200s", err, a.body)
	}
	return list.Results
}

// segmentsBody is an upload of segments with these names, whose ids are numbers.
func segmentsBody(from, to int, name string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `,{"segmentId":"%05d","name":"%s","dataSource":"ADOBE"}`, i, name)
	}
	return "[" + strings.TrimPrefix(b.String(), ",") + "]"
}

// TestSegmentsExpire asks in networks of several time zones how long segments
// of each kind live.
func TestSegmentsExpire(t *testing.T) { eachStore(t, testSegmentsExpire) }

func testSegmentsExpire(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
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
			c.send("POST", "/api/v1/networks/"+network, fmt.Sprintf(`{"name": "N", "timeZone": %q}`, name), 201, "")
		}
		path := "/api/v1/segments/upload?context=" + network
		first := c.send("POST", path, "["+body.String()[1:]+"]", 200, "")
		for _, s := range first.segments(t) {
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
		c.send("POST", "/api/v1/networks/"+network, `{"timeZone": "Asia/Tokyo"}`, 200, "")
		if again := c.send("POST", path, "["+body.String()[1:]+"]", 200, ""); string(again.body) != string(first.body) {
			t.Error("the same upload changes something")
		}
	}
	// A network and its segments may be written in one call.
	c.send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "networks", "object": {"id": "main", "timeZone": "Pacific/Kiritimati"}},
		{"type": "segments", "object": {"id": "TODAY", "description": "D"}}]}`, 200, `{"results": [{}, {"expiryTime": "<~ T10:00:00.000Z$>"}]}`)
}

// TestSegmentsPass: what nobody writes is archived when its time has come, and
// what a client writes between that moment and the pass begins a new life.
func TestSegmentsPass(t *testing.T) { eachStore(t, testSegmentsPass) }

func testSegmentsPass(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	list := func() map[string]segment {
		t.Helper()
		all := map[string]segment{}
		for _, s := range c.send("GET", "/api/v1/segments?context=main&pageSize=1000", "", 200, "").segments(t) {
			all[s.ID] = s
		}
		return all
	}
	lives := func(id, state string, minutes int) string {
		return fmt.Sprintf(`{"segmentId": %q, "name": "N", "dataSource": "ADOBE", "state": %q, "ttlSpec": true, "timeToLiveType": "FIXED_DURATION", "ttlNumber": %d, "ttlUnits": "Minutes"}`, id, state, minutes)
	}
	c.send("POST", uploadPath, "["+strings.Join([]string{lives("a", "ACTIVE", 5), lives("b", "INACTIVE", 5), lives("c", "ACTIVE", 5), lives("d", "ACTIVE", 5),
		lives("e", "ACTIVE", 5), lives("late", "ACTIVE", 15)}, ",")+"]", 200, "")
	before := list()
	c.s.clock.advance(6 * time.Minute)
	c.send("POST", uploadPath, `[{"segmentId": "a"}, {"segmentId": "b"}, {"segmentId": "c", "state": "ARCHIVED"}, {"segmentId": "d", "ttlSpec": false}]`, 200, "")
	if err := c.s.pass(); err != nil {
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
	picture := c.s.cameraPicture(t)
	if err := c.s.pass(); err != nil {
		t.Fatal(err)
	}
	if err := c.s.engine.Review(t.Context(), "segments", network, []string{"a", "b", "c", "d", "e", "late"}); err != nil {
		t.Fatal(err)
	}
	if c.s.cameraPicture(t) != picture {
		t.Error("a pass changes what it need not")
	}
}

// TestUploadAtomic: a fault in the last object of many leaves nothing of the
// others, and faults of objects that are far apart are reported together.
func TestUploadAtomic(t *testing.T) { eachStore(t, testUploadAtomic) }

func testUploadAtomic(t *testing.T, fresh newStore) {
	skipSequential(t)
	c := converse(t, fresh)
	c.send("POST", uploadPath, segmentsBody(0, 10, "Stored"), 200, "")
	before := c.s.cameraPicture(t)
	const n = 20_000
	good := strings.TrimSuffix(segmentsBody(0, n-1, "New"), "]")
	refuse := func(body string, status int, pattern string) *answer {
		t.Helper()
		a := c.send("POST", uploadPath, body, status, pattern)
		if c.s.cameraPicture(t) != before {
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
	c.faults(a, 100)
	if !strings.Contains(string(a.body), `"index":1`) || !strings.Contains(string(a.body), fmt.Sprintf(`"index":%d`, 99*25+1)) {
		t.Error("the first 100 faults are not those of the first objects")
	}
	c.send("POST", uploadPath, good+"]", 200, fmt.Sprintf(`{"totalCount": %d}`, n-1))
}

// TestUploadOrder: an upload of several chunks is answered in its order, each
// segment once, as it is stored.
func TestUploadOrder(t *testing.T) { eachStore(t, testUploadOrder) }

func testUploadOrder(t *testing.T, fresh newStore) {
	skipSequential(t)
	c := converse(t, fresh)
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
	a := c.send("POST", uploadPath, "["+body.String()[1:]+"]", 200, "")
	if warned := a.header.Values("Warning"); len(warned) > 0 {
		t.Error(warned)
	}
	var got []string
	for _, s := range a.segments(t) {
		got = append(got, s.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d are answered, not %d, or in another order", len(got), len(want))
	}
	c.send("GET", "/api/v1/segments?context=main&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, len(want)))
	c.send("GET", "/api/v1/audit?context=main&type=segments&pageSize=1", "", 200, fmt.Sprintf(`{"totalCount": %d}`, len(want)))
	c.send("GET", "/api/v1/segments/00003?context=main", "", 200, `{"name": "2300"}`)
	before := c.s.cameraPicture(t)
	if again := c.send("POST", uploadPath, "["+body.String()[1:]+"]", 200, ""); string(again.body) != string(a.body) {
		t.Error("the same upload is answered otherwise")
	}
	if c.s.cameraPicture(t) != before {
		t.Error("the same upload changes something")
	}
}

// TestUploadRefused: an upload that is too large is refused before it has been read,
// or unpacked, to its end.
func TestUploadRefused(t *testing.T) { eachStore(t, testUploadRefused) }

func testUploadRefused(t *testing.T, fresh newStore) {
	skipSequential(t)
	c := converse(t, fresh)
	good := `[{"segmentId":"a","name":"A","dataSource":"ADOBE"},`
	for name, h := range map[string]hostile{
		"endless body":       {body: endless, status: 413, code: "error.body.too.large", params: `{"limit": 134217728}`},
		"endless list":       {body: func() io.Reader { return io.MultiReader(strings.NewReader(good+" "), spaces{}) }, status: 413, code: "error.body.too.large", params: `{"limit": 134217728}`},
		"bomb":               {header: packed, body: bomb(' ', 256<<20), status: 413, code: "error.body.too.large"},
		"nothing but spaces": {header: packed, body: bomb(' ', 64<<20), status: 413, code: "error.object.too.large"},
		"object above 1 MiB": {body: repeated(good+`{"segmentId":"b","description":"`, "x", 1<<20, `"}]`), status: 413, code: "error.object.too.large", params: `{"index": 1}`},
		"a million levels":   {body: repeated("", "[", 1_000_000, ""), status: 400, code: "error.body.too.deep"},
		"levels in a list":   {body: repeated(`[{"segmentId":"a","x":`, "[", 1_000_000, ""), status: 400, code: "error.body.too.deep"},
		"a long text":        {body: repeated(good+`{"segmentId":"b","name":"B","dataSource":"ADOBE","description":"`, "x", 20_000, `"}]`), status: 422, code: "error.value.too.long", params: `{"index": 1}`},
		"gzip cut short":     {header: packed, body: text(string(pack([]byte(segmentsBody(0, 1000, "N")))[:500])), status: 400, code: "error.body.compression"},
		"invalid UTF-8":      {body: text(good + "\n{\"segmentId\":\"b\",\"name\":\"\xff\"}]"), status: 400, code: "error.body.encoding", params: `{"line": 2, "column": 26}`},
	} {
		h.method, h.path = http.MethodPost, uploadPath
		t.Run(name, func(t *testing.T) { h.run(t, c.s, c.token) })
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
func TestUploadsAtOnce(t *testing.T) { eachStore(t, testUploadsAtOnce) }

func testUploadsAtOnce(t *testing.T, fresh newStore) {
	c := converse(t, fresh)
	c.s.uploadsAtOnce(c.token, []*service{c.s})
}

// TestServersUpload is the same through several servers, which meet in the
// database alone.
func TestServersUpload(t *testing.T) {
	t.Parallel()
	servers, token := newServers(t, 2)
	servers[0].uploadsAtOnce(token, servers)
}

func (s *service) uploadsAtOnce(token string, servers []*service) {
	s.tb.Helper()
	const n, uploads = 2500, 6
	s.must(token, "POST", uploadPath, segmentsBody(0, n, "first"), 200)
	var wait sync.WaitGroup
	for i := range uploads {
		wait.Go(func() {
			a := servers[i%len(servers)].ask(token, "POST", uploadPath, segmentsBody(0, n, fmt.Sprintf("upload %d", i)), http.Header{"Accept-Encoding": {"gzip"}})
			if a.status != 200 || len(a.segments(s.tb)) != n {
				s.tb.Errorf("upload %d: %d %.300s", i, a.status, a.body)
			}
		})
	}
	for i := range 5 {
		wait.Go(func() {
			for j := range 5 { // not among those that are uploaded
				a := servers[j%len(servers)].ask(token, "PUT", fmt.Sprintf("/api/v1/segments/other-%d-%d?context=main", i, j), `{"name": "Other", "dataSource": "ADOBE"}`, nil)
				if a.status != 201 {
					s.tb.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
	wait.Wait()
	names := map[string]int{}
	for page := range 3 {
		a := s.ask(token, "GET", fmt.Sprintf("/api/v1/segments?context=main&orderBy=id&fields=name&pageSize=1000&page=%d", page), "", nil)
		for _, one := range a.segments(s.tb) {
			names[one.Name]++
		}
	}
	if len(names) != 2 || names["Other"] != 25 {
		s.tb.Errorf("the segments are of more than one upload: %v", names)
	}
	var history struct{ TotalCount int }
	a := s.ask(token, "GET", "/api/v1/audit?context=main&type=segments&pageSize=1", "", nil)
	if err := json.Unmarshal(a.body, &history); err != nil || history.TotalCount != n*(uploads+1)+25 {
		s.tb.Errorf("%d changes: %v", history.TotalCount, err)
	}
}
