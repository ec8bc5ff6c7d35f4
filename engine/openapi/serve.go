package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/schema"
)

// Documents serves the document of the types that an engine serves at the time.
type Documents struct {
	// Console is the path of pages that HomePath leads browsers to, and names to programs;
	// "" is none.
	Console string

	version, server string
	fragments       []Fragment

	mu sync.Mutex
	// types are those of made, which has documents by what they include: the names
	// of the types that can be written.
	types *schema.Registry
	made  map[string]*made
	// texts has the pages and the schemas of these types, by their paths.
	texts map[string]content
}

// maxMade is the number of documents that are kept. Each has the operations of one
// set of roles.
const maxMade = 16

// made is a document in its two formats.
type made struct{ json, yaml content }

type content struct {
	body []byte
	etag string
}

// NewDocuments returns the documents of a server of some version, with a URL as in
// Options, whose other routes the fragments document.
func NewDocuments(version, server string, fragments ...Fragment) *Documents {
	return &Documents{version: version, server: server, fragments: fragments}
}

// Routes returns the routes of the document, and of a page that shows it.
func (s *Documents) Routes() []rest.Route {
	read := []string{http.MethodGet, http.MethodHead}
	return slices.Concat(s.pageRoutes(), s.messageRoutes(), []rest.Route{
		{Path: "/api/openapi.json", Methods: read, Public: true, Operation: rest.OperationDocument, Serve: func(r *rest.Call) error {
			return s.serve(r, "application/json", func(m *made) (content, error) { return m.json, nil })
		}},
		{Path: "/api/openapi.yaml", Methods: read, Public: true, Operation: rest.OperationDocument, Serve: func(r *rest.Call) error {
			return s.serve(r, "application/yaml", s.asYAML)
		}},
		s.homeRoute(),
		{Path: "/api/schemas", Methods: read, Public: true, Operation: rest.OperationDocument, Serve: s.serveSchemas},
		{Path: "/api/schemas/{type}", Methods: read, Public: true, Operation: rest.OperationDocument, Serve: s.serveSchema},
	})
}

func (s *Documents) serve(r *rest.Call, mediaType string, format func(*made) (content, error)) error {
	parameters, mine, err := asked(r, "mine", "all")
	if err != nil {
		return err
	}
	all, err := parameters.Boolean("all")
	if err != nil {
		return err
	}
	c, err := s.document(r.Engine(), all, mine, format)
	if err != nil {
		return err
	}
	return serveFile(r, mediaType, c)
}

// document returns the document of the types that an engine serves, with all operations
// or without twins. It is made once for each set of types that can be written and erased.
func (s *Documents) document(e *engine.Engine, all bool, who audience, format func(*made) (content, error)) (content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	types, hidden := s.known(e, who)
	if len(s.made) >= maxMade {
		clear(s.made)
	}
	var written, erased []string
	for _, t := range types.Types() {
		if who.writes(t) {
			written = append(written, t.Name)
		}
		if t.Shape.HasPersonal && who.erases(t) {
			erased = append(erased, t.Name)
		}
	}
	key := fmt.Sprint(all, written, erased, hidden)
	if s.made[key] == nil {
		body, err := build(types, Options{Server: s.server, All: all}, who, s.fragments)
		if err != nil {
			return content{}, err
		}
		s.made[key] = &made{json: newContent(body)}
	}
	return format(s.made[key])
}

// follow returns the types that an engine serves, and forgets what was made of others.
func (s *Documents) follow(e *engine.Engine) *schema.Registry {
	if types := e.Registry(); s.types != types {
		s.types, s.made, s.texts = types, map[string]*made{}, map[string]content{}
	}
	return s.types
}

// ofType returns a function that renders the type with a name.
func ofType(name string, render func(*schema.Registry, *schema.Type) ([]byte, error)) func(*schema.Registry) ([]byte, error) {
	return func(types *schema.Registry) ([]byte, error) {
		t, ok := types.Named(name)
		if !ok {
			return nil, message.TypeUnknown.Error(message.Params{"type": name})
		}
		return render(types, t)
	}
}

// serveSchema answers with the schema of a type, in the form that is asked for.
func (s *Documents) serveSchema(r *rest.Call) error {
	parameters, mine, err := asked(r, "form", "mine")
	if err != nil {
		return err
	}
	form := writtenForm
	if value, given := parameters["form"]; given {
		if form = schemaForm(value); form != plainForm {
			return message.ParameterInvalid.Error(message.Params{"parameter": "form", "expected": string(plainForm)})
		}
	}
	name := r.PathValue("type")
	c, err := s.text(r, "/api/schemas/"+name+"?"+string(form), mine, ofType(name, func(types *schema.Registry, t *schema.Type) ([]byte, error) {
		parts, err := decode(s.fragments)
		if err != nil {
			return nil, err
		}
		return renderSchema(types, t, form, suppliedBy(parts)[t.Collection()])
	}))
	if err != nil {
		return err
	}
	markFormer(r, "/api/schemas/", name)
	return serveFile(r, "application/schema+json", c)
}

// markFormer sets the headers of a response about a type that a request has named by a former
// path, as a segment of its URL behind base.
func markFormer(r *rest.Call, base, name string) {
	if t, served := r.Engine().Registry().Named(name); served && t.Served().Name != name {
		r.Deprecate(t, base)
	}
}

// listed is a type as /api/schemas lists it.
type listed struct {
	Type   string `json:"type"`
	Title  string `json:"title,omitempty"`
	Digest string `json:"digest"`
	URL    string `json:"url"`
	// Group, Scope and Parent are those of x-resource; Scope is "" in a network.
	Group  string `json:"group,omitempty"`
	Scope  string `json:"scope,omitempty"`
	Parent string `json:"parent,omitempty"`
	// Writable reports whether the caller may write objects; it is left out for anybody.
	Writable bool `json:"writable,omitempty"`
}

// serveSchemas lists the types that the audience knows, each with a digest of its schema as
// the audience sees it, and the digest and the number of the set.
func (s *Documents) serveSchemas(r *rest.Call) error {
	parameters, mine, err := asked(r, "mine")
	if err != nil {
		return err
	}
	number := r.SchemaSet(r.Engine().Registry().Digest())
	writable := map[string]bool{}
	if mine.query != "" {
		for _, t := range r.Engine().Registry().Types() {
			writable[t.Served().Name] = t.Writable() && mine.writes(t)
		}
	}
	held := mine.holds(parameters["context"])
	c, err := s.text(r, fmt.Sprint("/api/schemas ", number, mine.query, writable, held), mine, func(types *schema.Registry) ([]byte, error) {
		list := []listed{}
		for _, t := range types.Types() {
			text, err := renderSchema(types, t, writtenForm, nil)
			if err != nil {
				return nil, err
			}
			scope := ""
			if t.Global {
				scope = "global"
			}
			list = append(list, listed{Type: t.Name, Title: t.Title, Digest: strings.Trim(newContent(text).etag, `"`), URL: "/api/schemas/" + t.Name + mine.query,
				Group: t.Group, Scope: scope, Parent: t.Parent, Writable: writable[t.Served().Name]})
		}
		return json.Marshal(struct {
			Set         int64    `json:"set,omitempty"`
			Digest      string   `json:"digest"`
			Permissions []string `json:"permissions,omitempty"`
			Types       []listed `json:"types"`
		}{r.SchemaSet(types.Digest()), types.Digest(), held, list})
	})
	if err != nil {
		return err
	}
	return serveFile(r, "application/json", c)
}

func (s *Documents) asYAML(m *made) (content, error) {
	if m.yaml.body == nil {
		body, err := toYAML(m.json.body)
		if err != nil {
			return content{}, err
		}
		m.yaml = newContent(body)
	}
	return m.yaml, nil
}

func newContent(body []byte) content {
	digest := sha256.Sum256(body)
	return content{body, `"` + hex.EncodeToString(digest[:16]) + `"`}
}
