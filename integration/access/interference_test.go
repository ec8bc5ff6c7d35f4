package access

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// twins are two services that hold the same as far as one user sees, and else
// differ as much as they can: the second has other names and descriptions of
// what the user does not see, a longer history of it, and more of it, also in
// networks and users of which the first has nothing.
type twins struct {
	tb     testing.TB
	worlds [2]*twin
	seed   uint64
	caller string
	seen   world // what the first holds
	extras map[string][]string
	now    time.Time
	// reloads counts those of the schemas.
	reloads int
}

// twin is one of two services, and what the next requests take from its
// answers.
type twin struct {
	*service.Service
	token, admin           string
	etag, cursor, position string
	stream                 *followed // nil for none
	// taken is what an administrator has taken from the caller, with the former value, by path.
	taken map[string]string
	// events counts those of streams, by what they have.
	events map[string]int
}

// newTwins makes the worlds of a seed. They differ in nothing but what
// the caller does not see.
func newTwins(tb testing.TB, fresh service.NewStore, seed uint64) *twins {
	tb.Helper()
	m := maker{Rand: rand.New(rand.NewPCG(seed, 1))}
	scope := callerScope(seed)
	p := &twins{tb: tb, seed: seed, extras: map[string][]string{}, now: time.Date(2031, 3, 1, 12, 0, 0, 0, time.UTC)}
	for p.caller == "" {
		m.made = nil
		m.populate()
		for range 12 {
			m.change()
		}
		p.caller = m.middling(scope)
	}
	for _, role := range m.world.list("users", p.caller, "roles") {
		permissions := []string{}
		for _, permission := range []string{"MANAGE_BUSINESS", "MANAGE_LAYOUTS", "MANAGE_SYSTEM", "READ_LETTERS", "WRITE_LETTERS", "OPEN_LETTERS"} {
			if m.chance(75) {
				permissions = append(permissions, permission)
			}
		}
		m.put("roles", role, "", map[string]any{"permissions": permissions})
	}
	p.seen = m.world
	first := m.made
	second, late := p.other(&m)
	for i, made := range [][]service.Placed{first, second} {
		s := &service.Service{TB: tb, URI: fresh(tb), Schemas: []fs.FS{worldSchemas(true)}, Clock: &service.Clock{}, UserID: "administrator"}
		s.Clock.Stop(p.now)
		s.Deadline = time.Minute // on a busy machine, both are answered
		w := &twin{Service: service.StartNew(s), taken: map[string]string{}, events: map[string]int{}}
		p.worlds[i] = w
		admin, err := s.SignIn(service.Admin)
		if err != nil {
			tb.Fatal(err)
		}
		w.admin = admin
		s.Must(admin, http.MethodPost, "/api/v1/networks/other", `{"name": "Other"}`, http.StatusCreated)
		if i == 1 {
			s.Must(admin, http.MethodPost, "/api/v1/networks/third", `{"name": "Third"}`, http.StatusCreated)
			s.Must(admin, http.MethodPost, "/api/v1/batch?context=third", `{"operations": [
				{"type": "sites", "object": {"id": "sites-0", "name": "north"}}, {"type": "roles", "object": {"id": "r", "name": "R", "scope": "NETWORK"}},
				{"type": "users", "object": {"id": "ghost", "username": "ghost", "userRoles": {"rolesByNetwork": [{"network": "third", "roles": [{"role": "r"}]}]}}}]}`, http.StatusOK)
			s.Must(admin, http.MethodPost, "/api/v1/sites/alien?context=other", `{"name": "north"}`, http.StatusCreated)
		}
		s.Write(admin, formerly(made)...)
		if err := s.Swap(s.Engine, worldSchemas(false)); err != nil {
			tb.Fatal(err)
		}
		if i == 1 {
			s.Clock.Stop(p.now.Add(time.Millisecond))
			s.Write(admin, late...)
		}
		if w.token, err = s.SignIn(p.caller); err != nil {
			tb.Fatal(err)
		}
	}
	return p
}

// callerScope is the scope of the roles of the user who sends the requests of a seed.
func callerScope(seed uint64) string { return []string{"OWN", "TEAM"}[seed%2] }

// middling gives a user of a scope alone to whom a part of each is hidden, or "".
func (m *maker) middling(scope string) string {
	kinds := map[string][]string{"TEAM": {"sites", "orders", "lineitems", "creatives", "segments"}, "OWN": {"parcels", "stickers"}}[scope]
	for _, user := range slices.Sorted(maps.Keys(m.world["users"])) {
		if held := m.world.roles(user, ""); len(held) == 0 || len(held) > len(m.world.roles(user, scope)) {
			continue
		}
		good := true
		for _, kind := range kinds {
			seen := 0
			for id := range m.world[kind] {
				if m.world.sees(user, kind, id) {
					seen++
				}
			}
			good = good && seen > 0 && seen < len(m.world[kind])
		}
		if good {
			return user
		}
	}
	return ""
}

// other is the history of the second world. What comes late does not happen at the same
// time as all else.
func (p *twins) other(m *maker) (made, late []service.Placed) {
	second := maker{Rand: m.Rand, world: m.world.clone()}
	hidden := func(kind, id string) bool { return !second.world.shows(p.caller, kind, id) }
	for _, made := range m.made {
		posted := maps.Clone(made.Posted)
		if made.Kind == "users" && made.Posted["username"] != nil && made.ID != p.caller && m.chance(50) {
			posted["elsewhere"] = "third"
		}
		if made.Posted["name"] != nil && hidden(made.Kind, made.ID) {
			posted["name"] = m.name("other")
		}
		made.Posted = posted
		second.made = append(second.made, made)
	}
	for _, of := range worldTypes {
		for i := 0; i < of.n && of.kind != "assets"; i++ {
			id := fmt.Sprintf("extra-%s-%d", of.kind, i)
			object := second.object(of.kind, id)
			delete(object, "libraryCreative") // with it, a change of what all see is refused
			for property, removable := range map[string]string{"parcel": "parcels", "letter": "letters"} {
				if to, _ := object[property].(string); second.world.sees(p.caller, removable, to) {
					delete(object, property) // which could not be removed because of it, as docs/security.md says
				}
			}
			second.world.put(of.kind, id, object)
			if slices.Contains([]string{"roles", "users", "teams"}, of.kind) || !hidden(of.kind, id) {
				delete(second.world[of.kind], id)
				continue
			}
			p.extras[of.kind] = append(p.extras[of.kind], id)
			second.made = append(second.made, service.Placed{Kind: of.kind, ID: id, Creator: pick(m.Rand, slices.Sorted(maps.Keys(m.world["users"]))), Posted: object})
			if m.chance(50) {
				second.made = append(second.made, service.Placed{Kind: of.kind, ID: id, Creator: "", Posted: map[string]any{"name": m.name("again")}})
			}
		}
	}
	for _, user := range slices.Sorted(maps.Keys(second.world["users"])) {
		if user != p.caller && m.chance(50) {
			late = append(late, service.Placed{Kind: "users", ID: user, Creator: "", Posted: map[string]any{"roles": second.world.list("users", user, "roles"), "elsewhere": "third"}})
		}
	}
	return second.made, late
}

// programmed is a request. {etag}, {tag}, which is that without its quotes, {cursor} and {position}
// stand for what the world that is asked has answered last.
type programmed struct {
	method, path string
	header       map[string]string
	body         string
	anonymous    bool // without a token
	act          act  // "" for a request of the caller
}

func (r programmed) reads() bool {
	return r.act == "" && !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.method)
}

// curl is how to send the request.
func (r programmed) curl() string {
	var b strings.Builder
	if r.act != "" {
		fmt.Fprintf(&b, "# %s: ", r.act)
	}
	fmt.Fprintf(&b, "curl -X %s \"$BASE\"%q", r.method, r.path)
	if !r.anonymous {
		b.WriteString(` -H "Authorization: Bearer $TOKEN"`)
	}
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		fmt.Fprintf(&b, " -H %q", name+": "+r.header[name])
	}
	if r.body != "" {
		fmt.Fprintf(&b, " -d '%s'", strings.ReplaceAll(r.body, "'", `'\''`))
	}
	return b.String()
}

// send sends the request to one world.
func (w *twin) sendProgrammed(r programmed) (*service.Answer, error) {
	fill := strings.NewReplacer("{etag}", w.etag, "{tag}", strings.Trim(w.etag, `"`), "{cursor}", w.cursor, "{position}", w.position)
	header := http.Header{}
	if !r.anonymous {
		header.Set("Authorization", "Bearer "+w.token)
	}
	for name, value := range r.header {
		header.Set(name, fill.Replace(value))
	}
	a, err := w.Send(r.method, fill.Replace(r.path), header, strings.NewReader(fill.Replace(r.body)))
	if err != nil {
		return nil, err
	}
	if tag := a.Header.Get("ETag"); tag != "" {
		w.etag = tag
	}
	if found := cursorMember.FindSubmatch(a.Body); found != nil {
		w.cursor = string(found[1])
	}
	if found := positionMember.FindAllSubmatch(a.Body, -1); found != nil {
		w.position = string(found[len(found)-1][1])
	}
	return a, nil
}

var (
	cursorMember = regexp.MustCompile(`"nextCursor": ?"([^"]*)"`)
	// positions are sealed, each time in another form.
	positionMember = regexp.MustCompile(`"position":"([^"]*)"`)
	sealedInLink   = regexp.MustCompile(`\b(cursor|position)=[^&>]*`)
	generatedID    = regexp.MustCompile(`\b[a-z0-9]{16}\b`)
	deliveryPath   = regexp.MustCompile(`/delivery/[^"]*`)
	entityTag      = regexp.MustCompile(`-[^"]*"`)
)

// comparableText is an answer without the parts that may differ: positions, the names of
// files that nobody can guess, generated ids, and tags that are made of them.
func comparableText(r programmed, a *service.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", a.Status)
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		if name == "Date" || name == "X-Request-Id" || name == "Content-Length" || name == "Marquee-Position" {
			continue
		}
		values := slices.DeleteFunc(slices.Clone(a.Header[name]), func(value string) bool {
			return strings.Contains(value, `"warning.owners.in.doubt:`) // its end is a matter of time
		})
		if len(values) == 0 {
			continue
		}
		value := strings.Join(values, "\n")
		if name == "Etag" && (strings.Contains(r.path, "/assets/") || generatedID.Match(a.Body)) {
			value = entityTag.ReplaceAllString(value, `"`)
		}
		if name == "Link" {
			value = sealedInLink.ReplaceAllString(value, "$1=…")
		}
		fmt.Fprintf(&b, "%s: %s\n", name, generatedID.ReplaceAllString(value, "ID"))
	}
	b.Write(comparableBody(a.Body))
	return b.String()
}

func comparableBody(body []byte) []byte {
	body = cursorMember.ReplaceAll(body, []byte(`"nextCursor":"…"`))
	body = positionMember.ReplaceAll(body, []byte(`"position":"…"`))
	body = deliveryPath.ReplaceAll(body, []byte("/delivery/…"))
	return generatedID.ReplaceAll(body, []byte("ID"))
}

// ask does the same in both worlds at the same time of their clocks, and returns how the answers
// differ, and the streams that are open, or "".
func (p *twins) ask(r programmed) (string, int) {
	p.now = p.now.Add(time.Millisecond)
	var got [2]string
	status := 0
	for i, w := range p.worlds {
		w.Clock.Stop(p.now)
		if r.act != "" {
			got[i] = p.perform(i, r)
		} else {
			a, err := w.sendProgrammed(r)
			if err != nil {
				p.tb.Fatalf("%s: %v", r.curl(), err)
			}
			if got[i], status = comparableText(r, a), a.Status; a.Status >= 500 {
				return got[i], status
			}
		}
	}
	if !r.reads() { // so that events show what there is now
		for i, w := range p.worlds {
			got[i] += w.receive()
		}
	}
	if got[0] == got[1] {
		return "", status
	}
	return firstDifferenceOf(got[0], got[1]), status
}

// firstDifferenceOf shows where two texts differ.
func firstDifferenceOf(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-300)
	return fmt.Sprintf("first:  …%.700s\nsecond: …%.700s", a[from:], b[from:])
}

// TestNonInterference sends random programs of requests of every kind to two
// worlds that differ only in what their sender may not see: the answers are the
// same, byte for byte. MARQUEE_INTERFERENCE is the number of requests.
func TestNonInterference(t *testing.T) { service.EachStore(t, testNonInterference) }

// programLength is the number of requests sent to one pair of worlds, at most.
const programLength = 1250

func testNonInterference(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	// The same programs in each run, but for those that run for long.
	seed, total := uint64(1), 10_000
	if os.Getenv("MARQUEE_INTERFERENCE") != "" || os.Getenv("MARQUEE_SEED") != "" {
		seed = service.TestSeed(t)
	}
	switch text := os.Getenv("MARQUEE_INTERFERENCE"); {
	case text != "":
		var err error
		if total, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	case testing.Short():
		total /= 10
	case !strings.HasSuffix(t.Name(), "sqlite"): // where each takes several times as long
		total = 2 * programLength
	}
	statuses, events := map[int]int{}, map[string]int{}
	began := time.Now()
	sent := 0
	for n := uint64(0); sent < total && !t.Failed(); n++ {
		t.Run(strconv.FormatUint(seed+n, 10), func(t *testing.T) {
			sent += runProgram(t, fresh, seed+n, min(programLength, total/2, total-sent), statuses, events)
		})
	}
	t.Logf("%d requests to each of two worlds in %v: %v; events of streams: %v", sent, time.Since(began).Round(time.Second), statuses, events)
	for _, kind := range []string{"created", "changed", "left", "reset"} {
		if events[kind] == 0 {
			t.Errorf("no stream had an event with %s", kind)
		}
	}
	asked := sent - statuses[0] // which is of no request
	if answered := statuses[200] + statuses[201]; answered < asked/3 {
		t.Errorf("only %d of %d requests were answered with something", answered, asked)
	}
}

func runProgram(t *testing.T, fresh service.NewStore, seed uint64, length int, statuses map[int]int, events map[string]int) int {
	p := newTwins(t, fresh, seed)
	p.worlds[0].events, p.worlds[1].events = events, map[string]int{}
	program := p.program(seed, length)
	for i, r := range program {
		difference, status := p.ask(r)
		statuses[status]++
		if difference != "" {
			t.Logf("as %s, request %d: %s\n%s", p.caller, i, r.curl(), difference)
			least := shrink(t, fresh, seed, program[:i+1])
			var b strings.Builder
			for _, r := range least {
				b.WriteString(r.curl() + "\n")
			}
			t.Errorf("MARQUEE_SEED=%d: as %s, request %d of a program, which is reached by these:\n%s%s", seed, p.caller, i, b.String(), difference)
			return i + 1
		}
	}
	return length
}

// shrink leaves out what a program does not need for its last request to be
// answered differently.
func shrink(t *testing.T, fresh service.NewStore, seed uint64, program []programmed) []programmed {
	left := 40 // attempts, each of which makes two worlds
	differs := func(candidate []programmed) (yes bool) {
		if left--; left < 0 {
			return false
		}
		t.Run(fmt.Sprintf("shrink-%d", left), func(t *testing.T) {
			p := newTwins(t, fresh, seed)
			for i, r := range candidate {
				if difference, _ := p.ask(r); difference != "" {
					yes = i == len(candidate)-1
					break
				}
			}
		})
		return yes
	}
	last := program[len(program)-1]
	before := program[:len(program)-1]
	writes := slices.DeleteFunc(slices.Clone(before), programmed.reads)
	for _, candidate := range [][]programmed{nil, before[max(0, len(before)-3):], writes} {
		if differs(append(slices.Clone(candidate), last)) {
			before = candidate
			break
		}
	}
	for size := (len(before) + 1) / 2; size > 0 && len(before) > 0; size /= 2 {
		for from := 0; from < len(before); {
			without := slices.Delete(slices.Clone(before), from, min(from+size, len(before)))
			if differs(append(slices.Clone(without), last)) {
				before = without
			} else {
				from += size
			}
		}
	}
	return append(slices.Clone(before), last)
}

// TestTwinsDiffer shows that the worlds are not alike for who sees all: what
// finds no difference otherwise proves nothing.
func TestTwinsDiffer(t *testing.T) {
	process.SkipSequential(t)
	t.Parallel()
	p := newTwins(t, service.NewSQLite, service.TestSeed(t)|1) // scope TEAM, which shows all tiers
	for _, w := range p.worlds {
		token, err := w.SignIn(service.Admin)
		if err != nil {
			t.Fatal(err)
		}
		w.token = token
	}
	different := 0
	program := p.program(1, 200)
	for _, r := range program {
		if difference, _ := p.ask(r); r.reads() && difference != "" {
			different++
		}
	}
	if different < 20 {
		t.Errorf("only %d of %d requests are answered differently to an administrator", different, len(program))
	}
	if difference, _ := p.ask(programmed{method: http.MethodGet, path: "/api/v1/tiers?context=main"}); difference != "" {
		t.Errorf("what all see differs: %s", difference)
	}
}
