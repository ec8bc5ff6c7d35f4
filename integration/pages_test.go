package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/integration/process"
	"marquee/integration/service"
)

const (
	// maxPage is how large a page is promised to be at most.
	maxPage = 8 << 20
	// pageEndsEarly is what a header of such a page says.
	pageEndsEarly = `299 marquee "the page ends early, as its answer would be larger than 8 MiB"`
)

// papers is a type whose objects may be as large as an object may be.
var papers = fstest.MapFS{"papers.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Paper",
	"x-resource": {"path": "papers", "sort": ["rank"]}, "type": "object", "properties": {"text": {"type": "string"}, "rank": {"type": "integer"},
	"of": {"type": "array", "items": {"$ref": "common/reference.json", "x-ref": "teams"}}}}`)}}

// putPapers stores papers p00, p01, …, each with a text of so many bytes.
func putPapers(s *service.Service, token string, n, size int) {
	s.TB.Helper()
	text := strings.Repeat("lorem ip", size/8)
	for i := range n {
		s.Must(token, http.MethodPut, fmt.Sprintf("/api/v1/papers/p%02d?context=main", i), fmt.Sprintf(`{"rank": %d, "text": %q}`, i/2, text), http.StatusCreated)
	}
}

// walk follows nextCursor from the first page of a list to its end, and gives
// what names an item of each result, and how many pages ended early. It checks
// what every page promises.
func walk(s *service.Service, token, path string, total int, name func(result map[string]any) string) (names []string, early int) {
	s.TB.Helper()
	for cursor, page := "", 0; ; page++ {
		at := path
		if cursor != "" {
			at += "&cursor=" + cursor
		}
		a := s.Ask(token, http.MethodGet, at, "", nil)
		object, _ := a.JSON().(map[string]any)
		if a.Status != http.StatusOK || fmt.Sprint(object["totalCount"]) != fmt.Sprint(total) || fmt.Sprint(object["page"]) != fmt.Sprint(page) {
			s.TB.Fatalf("page %d of %s: %d, %v of %d objects, page %v", page, at, a.Status, object["totalCount"], total, object["page"])
		}
		results := object["results"].([]any)
		for _, result := range results {
			names = append(names, name(result.(map[string]any)))
		}
		truncated, said := object["truncated"]
		warned := a.Header.Get("Warning")
		if said && truncated != true || said != (warned == pageEndsEarly) || !said && warned != "" {
			s.TB.Errorf("page %d of %s: truncated is %v, the header Warning %q", page, at, truncated, warned)
		}
		if len(a.Body) > maxPage+200 && len(results) > 1 {
			s.TB.Errorf("page %d of %s has %d bytes", page, at, len(a.Body))
		}
		if said {
			if early++; len(a.Body) < maxPage/2 {
				s.TB.Errorf("page %d of %s ends after %d bytes", page, at, len(a.Body))
			}
		}
		next, more := object["nextCursor"].(string)
		if !more {
			if said {
				s.TB.Errorf("page %d of %s ends early and leads nowhere", page, at)
			}
			return names, early
		}
		if cursor = next; len(results) == 0 || len(names) > 2*total {
			s.TB.Fatalf("page %d of %s has %d results and leads on", page, at, len(results))
		}
	}
}

func idOf(result map[string]any) string { return fmt.Sprint(result["id"]) }

// TestPagesEndEarly: a page ends where its answer would grow too large, says so
// in the body and in a header, and leads to what comes behind.
func TestPagesEndEarly(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testPagesEndEarly)
}

func testPagesEndEarly(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.New(t, fresh, papers)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const n = 23
	putPapers(s, token, n, 900_000)
	var all, backwards []string
	for i := range n {
		all = append(all, fmt.Sprintf("p%02d", i))
		backwards = append(backwards, fmt.Sprintf("p%02d", n-1-i))
	}
	const list = "/api/v1/papers?context=main"
	for path, c := range map[string]struct {
		want  []string
		early int
	}{
		list + "&pageSize=1000": {all, 2},
		list:                    {all, 2},
		list + "&pageSize=9":    {all, 0},
		list + "&pageSize=10":   {all, 2},
		list + "&orderBy=rank":  {all, 2},
		list + "&orderBy=rank&orderByDirection=DESCENDING": {backwards, 2},
		list + "&pageSize=1000&where=rank>=10":             {all[20:], 0},
		list + "&fields=id":                                {all, 0},
		list + "&fields=id,text&pageSize=12":               {all, 2},
	} {
		got, early := walk(s, token, path, len(c.want), idOf)
		if fmt.Sprint(got) != fmt.Sprint(c.want) || early != c.early {
			t.Errorf("%s: %d pages ended early, and all have %v", path, early, got)
		}
	}

	// Pages by number begin where they begin, whatever the one before has shown.
	second := s.Must(token, http.MethodGet, list+"&pageSize=12&page=1", "", http.StatusOK)
	if first := second["results"].([]any)[0].(map[string]any); idOf(first) != "p12" || second["truncated"] != true {
		t.Errorf("page 1 of 12 objects begins with %s; truncated: %v", idOf(first), second["truncated"])
	}
	// HEAD has the same header fields, and a compressed answer has them, too.
	get := s.Ask(token, http.MethodGet, list+"&count=false", "", nil)
	head := s.Ask(token, http.MethodHead, list+"&count=false", "", nil)
	packed := s.Ask(token, http.MethodGet, list+"&count=false", "", http.Header{"Accept-Encoding": {"gzip"}})
	if get.Header.Get("Content-Length") != strconv.Itoa(len(get.Body)) || strings.Contains(string(get.Body), "totalCount") {
		t.Errorf("%s bytes of %d", get.Header.Get("Content-Length"), len(get.Body))
	}
	for what, a := range map[string]*service.Answer{"GET": get, "HEAD": head, "compressed": packed} {
		if a.Status != http.StatusOK || a.Header.Get("Warning") != pageEndsEarly {
			t.Errorf("%s: %d, %q", what, a.Status, a.Header.Get("Warning"))
		}
	}
	if head.Header.Get("Content-Length") != get.Header.Get("Content-Length") || len(head.Body) > 0 {
		t.Errorf("HEAD: %s bytes and a body of %d", head.Header.Get("Content-Length"), len(head.Body))
	}
	if packed.Header.Get("Content-Encoding") != "gzip" || string(packed.Body) != string(get.Body) {
		t.Errorf("the compressed answer has %d bytes, the plain one %d", len(packed.Body), len(get.Body))
	}
}

// TestRenderedIsCounted: the size of a page is that of the rendered objects, with
// html made of a small object and the names of referenced ones, not the stored size.
func TestRenderedIsCounted(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testRenderedIsCounted)
}

func testRenderedIsCounted(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.New(t, fresh, papers)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	html := strings.Repeat("<p>Lorem ipsum dolor sit amet</p>", 50_000/33) + "<b>{{title}}</b>"
	s.Must(token, http.MethodPut, "/api/v1/layouts/large?context=main", fmt.Sprintf(`{"name": "Large", "html": %q, "textConstraints": [{"tag": "title"}]}`, html), http.StatusCreated)
	var creatives, teams, ids []string
	for i := range 400 {
		ids = append(ids, fmt.Sprintf("c%03d", i))
		creatives = append(creatives, fmt.Sprintf(`{"id": "c%03d", "name": "C", "layout": "large", "width": 300, "height": 250, "verifiedSafe": true, "constraintsToText": {"title": "%03d"}}`, i, i))
	}
	written := s.Must(token, http.MethodPost, "/api/v1/creatives?context=main", "["+strings.Join(creatives, ",")+"]", http.StatusOK)
	for i, result := range written["results"].([]any) {
		if shown := fmt.Sprint(result.(map[string]any)["renderedHtml"]); !strings.HasSuffix(shown, fmt.Sprintf("<b>%03d</b>", i)) {
			t.Fatalf("creative %d of the answer has %d bytes of html", i, len(shown))
		}
	}
	got, early := walk(s, token, "/api/v1/creatives?context=main&pageSize=1000", len(ids), func(result map[string]any) string {
		if shown, want := fmt.Sprint(result["renderedHtml"]), "<b>"+idOf(result)[1:]+"</b>"; !strings.HasSuffix(shown, want) {
			t.Errorf("%s has html of %d bytes", idOf(result), len(shown))
		}
		return idOf(result)
	})
	if fmt.Sprint(got) != fmt.Sprint(ids) || early != 2 {
		t.Errorf("%d pages ended early, and all have %v", early, got)
	}
	if got, early := walk(s, token, "/api/v1/creatives?context=main&pageSize=1000&fields=id", len(ids), idOf); fmt.Sprint(got) != fmt.Sprint(ids) || early != 0 {
		t.Errorf("%d pages ended early, and all have %v", early, got)
	}

	// Papers of 40 KB that refer to teams with long names.
	var of []string
	for i := range 500 {
		teams = append(teams, fmt.Sprintf(`{"id": "t%03d", "name": "%s%d"}`, i, strings.Repeat("n", 250), i))
		of = append(of, fmt.Sprintf(`"t%03d"`, i))
	}
	s.Must(token, http.MethodPost, "/api/v1/teams?context=main", "["+strings.Join(teams, ",")+"]", http.StatusOK)
	var list []string
	ids = nil
	for i := range 80 {
		ids = append(ids, fmt.Sprintf("p%02d", i))
		list = append(list, fmt.Sprintf(`{"id": "p%02d", "of": [%s]}`, i, strings.Join(of, ",")))
	}
	s.Must(token, http.MethodPost, "/api/v1/papers?context=main", "["+strings.Join(list, ",")+"]", http.StatusOK)
	got, early = walk(s, token, "/api/v1/papers?context=main&pageSize=1000", len(ids), func(result map[string]any) string {
		for i, team := range result["of"].([]any) {
			if name := fmt.Sprint(team.(map[string]any)["name"]); name != strings.Repeat("n", 250)+strconv.Itoa(i) {
				t.Fatalf("team %d is called %s", i, name)
			}
		}
		return idOf(result)
	})
	if fmt.Sprint(got) != fmt.Sprint(ids) || early != 1 {
		t.Errorf("%d pages ended early, and all have %v", early, got)
	}
}

// TestLargeObjectIsBounded: an object that refers to more than can be shown with
// names shows the rest as it is stored.
func TestLargeObjectIsBounded(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testLargeObjectIsBounded)
}

func testLargeObjectIsBounded(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.New(t, fresh, papers)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPut, "/api/v1/teams/t?context=main", `{"name": "T"}`, http.StatusCreated)
	s.Must(token, http.MethodPut, "/api/v1/teams/u?context=main", fmt.Sprintf(`{"name": %q}`, strings.Repeat("u", 255)), http.StatusCreated)
	for _, c := range []struct {
		id    string
		named int // at most
	}{{"t", 10_000}, {"u", 4 << 20 / 255}} {
		path := "/api/v1/papers/" + c.id + "?context=main"
		s.Must(token, http.MethodPut, path, `{"of": ["`+c.id+`"`+strings.Repeat(`, "`+c.id+`"`, 150_000)+`]}`, http.StatusCreated)
		a := s.Ask(token, http.MethodGet, path, "", nil)
		object, _ := a.JSON().(map[string]any)
		of, _ := object["of"].([]any)
		named := 0
		for i, team := range of {
			members := team.(map[string]any)
			if members["id"] != c.id || len(members) != 3 && len(members) != 1 || len(members) == 3 && i != named {
				t.Fatalf("reference %d is %v", i, members)
			}
			if len(members) == 3 {
				named++
			}
		}
		if len(of) != 150_001 || named == 0 || named > c.named || len(a.Body) > maxPage {
			t.Errorf("%d of %d references have names, in %d bytes", named, len(of), len(a.Body))
		}
		// Something else of the object can be changed.
		s.Must(token, http.MethodPut, path, `{"rank": 1}`, http.StatusOK)
	}
}

// TestHistoryEndsEarly: the pages of the history and of notifications are
// followed by cursors as those of lists are, and end early as they do.
func TestHistoryEndsEarly(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testHistoryEndsEarly)
}

func testHistoryEndsEarly(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	s := service.New(t, fresh, papers)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const n = 11
	var want []string
	for i := range n {
		text := strings.Repeat(string(rune('a'+i)), 900_000)
		s.Must(token, http.MethodPost, "/api/v1/papers/p?context=main", fmt.Sprintf(`{"text": %q}`, text), map[bool]int{true: http.StatusCreated, false: http.StatusOK}[i == 0])
		want = append([]string{fmt.Sprintf("papers p %d", i+1)}, want...)
	}
	entry := func(result map[string]any) string {
		params := result["params"].(map[string]any)
		return fmt.Sprint(params["type"], " ", params["id"], " ", result["version"])
	}
	const one = "/api/v1/audit?context=main&type=papers&id=p"
	for path, early := range map[string]int{one + "&pageSize=1000": 2, one: 2, one + "&pageSize=4": 0, one + "&pageSize=1": 0, "/api/v1/audit?context=main&type=papers": 2} {
		if got, n := walk(s, token, path, n, entry); fmt.Sprint(got) != fmt.Sprint(want) || n != early {
			t.Errorf("%s: %d pages ended early, and all have %v", path, n, got)
		}
	}
	second := s.Must(token, http.MethodGet, one+"&pageSize=7&page=1", "", http.StatusOK)
	if results := second["results"].([]any); entry(results[0].(map[string]any)) != want[7] || len(results) != 4 {
		t.Errorf("page 1 of 7 messages has %d", len(results))
	}
	head := s.Ask(token, http.MethodHead, one, "", nil)
	if head.Header.Get("Warning") != pageEndsEarly {
		t.Errorf("HEAD: %q", head.Header.Get("Warning"))
	}

	// Cursors hold for the list that they come from.
	next := s.Must(token, http.MethodGet, one+"&pageSize=2", "", http.StatusOK)["nextCursor"].(string)
	list := s.Must(token, http.MethodGet, "/api/v1/roles?context=main&pageSize=1", "", http.StatusOK)
	_ = list
	for _, path := range []string{one + "&page=1&cursor=" + next, one + "&cursor=", one + "&cursor=nonsense", "/api/v1/audit?context=main&cursor=" + next,
		"/api/v1/notifications?context=main&cursor=" + next, "/api/v1/papers?context=main&cursor=" + next} {
		if a := s.Ask(token, http.MethodGet, path, "", nil); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	// Writes meanwhile do not move the objects behind a cursor.
	s.Must(token, http.MethodPost, "/api/v1/papers/p?context=main", `{"rank": 5}`, http.StatusOK)
	behind := s.Must(token, http.MethodGet, one+"&pageSize=2&cursor="+next, "", http.StatusOK)
	if got := entry(behind["results"].([]any)[0].(map[string]any)); got != want[2] || fmt.Sprint(behind["totalCount"]) != fmt.Sprint(n+1) {
		t.Errorf("behind the cursor is %s; %v messages", got, behind["totalCount"])
	}
}

// TestNotificationCursors walks through notifications of which a change has
// several, in pages that end within them.
func TestNotificationCursors(t *testing.T) { service.EachStore(t, testNotificationCursors) }

func testNotificationCursors(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.Must(token, http.MethodPut, fmt.Sprintf("/api/v1/lineitems/l%d?context=main", i), `{"name": "L"}`, http.StatusCreated)
	}
	whole := s.Must(token, http.MethodGet, "/api/v1/notifications?context=main&pageSize=1000", "", http.StatusOK)
	notice := func(result map[string]any) string { return fmt.Sprint(result["params"]) }
	var want []string
	for _, result := range whole["results"].([]any) {
		want = append(want, notice(result.(map[string]any)))
	}
	if len(want) < 15 || whole["nextCursor"] != nil {
		t.Fatalf("there are %d notifications", len(want))
	}
	for _, size := range []int{1, 2, 3, 4, 7, len(want) - 1, len(want)} {
		got, _ := walk(s, token, fmt.Sprintf("/api/v1/notifications?context=main&pageSize=%d", size), len(want), notice)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d at a time: %v", size, got)
		}
	}
}

// TestArticleSearchEndsEarly: what a search shows of articles is bounded, too.
func TestArticleSearchEndsEarly(t *testing.T) { service.EachStore(t, testArticleSearchEndsEarly) }

func testArticleSearchEndsEarly(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	var categories []string
	for i := range 600 {
		categories = append(categories, fmt.Sprintf(`"%04d%s"`, i, strings.Repeat("c", 1000)))
	}
	for i := range 18 {
		s.PutArticle(token, fmt.Sprintf("a%02d", i), fmt.Sprintf(`{"url": "https://example.com/%d", "title": "Sailing %d", "text": "Sailing boats and the wind", "categories": [%s]}`,
			i, i, strings.Join(categories, ",")), http.StatusCreated)
	}
	a := s.Ask(token, http.MethodPost, service.ArticleSearch+"sailing", "", nil)
	object, _ := a.JSON().(map[string]any)
	results, _ := object["results"].([]any)
	if len(results) < 10 || len(results) > 14 || fmt.Sprint(object["totalCount"]) != "18" || object["truncated"] != true || a.Header.Get("Warning") != pageEndsEarly || len(a.Body) > maxPage+100 {
		t.Errorf("%d: %d articles of %v in %d bytes, truncated: %v, %q", a.Status, len(results), object["totalCount"], len(a.Body), object["truncated"], a.Header.Get("Warning"))
	}
	few := s.Ask(token, http.MethodPost, strings.Replace(service.ArticleSearch, "pageSize=1000", "pageSize=5", 1)+"sailing", "", nil)
	object, _ = few.JSON().(map[string]any)
	if object["truncated"] != nil || len(object["results"].([]any)) != 5 || few.Header.Get("Warning") != "" {
		t.Errorf("%d %s", few.Status, few.Body[:min(200, len(few.Body))])
	}
}
