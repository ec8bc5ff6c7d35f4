package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee"
	"marquee/engine/openapi"
	"marquee/engine/schema"
)

// contract is an OpenAPI document that answers are compared with.
type contract struct {
	document map[string]any
	paths    []pathTemplate

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// pathTemplate is a path of the document, in segments.
type pathTemplate struct {
	path     string
	segments []string
	item     map[string]any
}

// contracts has those of applications without types of a case's own. They take 10 MB
// each, and a second to make. The advertising application is nil.
var contracts = struct {
	sync.Mutex
	of map[*marquee.Application]*contract
}{of: map[*marquee.Application]*contract{}}

// contractCache is the contract of the types that a service had last.
type contractCache struct {
	sync.Mutex
	types    *schema.Registry
	contract *contract
}

// ContractOf returns the contract of the types that the service serves.
func (s *Service) ContractOf(types *schema.Registry) (*contract, error) {
	s.contracts.Lock()
	defer s.contracts.Unlock()
	if s.contracts.types == types {
		return s.contracts.contract, nil
	}
	shared := len(s.Schemas) == 0
	var c *contract
	if shared {
		contracts.Lock()
		defer contracts.Unlock()
		c = contracts.of[s.Plain]
	}
	if c == nil {
		text, err := s.documentOf(types)
		if err != nil {
			return nil, err
		}
		if c, err = newContract(text); err != nil {
			return nil, err
		}
	}
	if shared {
		contracts.of[s.Plain] = c
	}
	s.contracts.types, s.contracts.contract = types, c
	return c, nil
}

// documentOf is the whole OpenAPI document of types that the service serves.
func (s *Service) documentOf(types *schema.Registry) ([]byte, error) {
	if slices.ContainsFunc(types.Types(), isHidden) { // which the public document does not have
		app := s.application()
		return app.Document(types, openapi.Options{All: true})
	}
	response, err := http.Get(s.Server.URL + "/api/openapi.json?all=true")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET /api/openapi.json: %d", response.StatusCode)
	}
	return text, err
}

const documentURL = "openapi:///document.json"

func newContract(text []byte) (*contract, error) {
	c := &contract{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(text, &c.document); err != nil {
		return nil, err
	}
	paths, _ := c.document["paths"].(map[string]any)
	for path, item := range paths {
		c.paths = append(c.paths, pathTemplate{path, strings.Split(strings.TrimSuffix(path, "/"), "/"), item.(map[string]any)})
	}
	// Of templates that match, the one with fewer parameters is meant.
	slices.SortFunc(c.paths, func(a, b pathTemplate) int {
		return strings.Count(a.path, "{") - strings.Count(b.path, "{")
	})
	components, _ := c.document["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	extended := map[string]bool{}
	extendedBy(schemas, extended)
	for name, s := range schemas {
		if !extended["#/components/schemas/"+name] {
			closeObjects(s)
		}
	}
	closed, err := json.Marshal(c.document)
	if err != nil {
		return nil, err
	}
	c.compiler.Draft = jsonschema.Draft2020
	// Durations are those of ISO 8601, whose seconds can have fractions.
	c.compiler.Formats["duration"] = func(any) bool { return true }
	return c, c.compiler.AddResource(documentURL, bytes.NewReader(closed))
}

// extendedBy finds the schemas that others extend, whose objects can have more
// properties.
func extendedBy(value any, found map[string]bool) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			extendedBy(item, found)
		}
	case map[string]any:
		all, _ := v["allOf"].([]any)
		for _, part := range all {
			if s, ok := part.(map[string]any); ok {
				ref, _ := s["$ref"].(string)
				found[ref] = true
			}
		}
		for _, member := range v {
			extendedBy(member, found)
		}
	}
}

// closeObjects makes schemas refuse the properties that they do not declare, so that
// an answer with such a property is found.
func closeObjects(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	case map[string]any:
		_, is := v["properties"].(map[string]any)
		if is && v["additionalProperties"] == nil && v["patternProperties"] == nil && v["$ref"] == nil {
			v["additionalProperties"] = false
		}
		if v["allOf"] != nil {
			v["unevaluatedProperties"] = false
		}
		for name, member := range v {
			if name != "allOf" && name != "dependentSchemas" {
				closeObjects(member)
			}
		}
	}
}

// find returns the path of the document that a request was for, or nil.
func (c *contract) find(path string) *pathTemplate {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, p := range c.paths {
		rest := p.path == "/delivery/{path}" && len(segments) > len(p.segments)
		if len(segments) != len(p.segments) && !rest {
			continue
		}
		matches := true
		for j, segment := range p.segments {
			matches = matches && (segment == segments[j] || strings.HasPrefix(segment, "{") && segments[j] != "")
		}
		if matches {
			return &c.paths[i]
		}
	}
	return nil
}

// Breaches lists how an answer differs from the document.
func (c *contract) Breaches(method, path string, a *Answer) []string {
	found := c.find(path)
	refused := a.Status >= 400
	switch {
	case method == http.MethodOptions:
		return nil
	case found == nil && (refused || strings.HasPrefix(path, "/console/") || strings.HasPrefix(path, "/api/console/")): // what the console alone asks for
		return nil
	case found == nil:
		return []string{fmt.Sprintf("OpenAPI: there is no path for %s %s, which is answered with %d", method, path, a.Status)}
	}
	operation, _ := found.item[strings.ToLower(method)].(map[string]any)
	if operation == nil {
		if refused {
			return nil
		}
		return []string{fmt.Sprintf("OpenAPI: %s has no operation %s, which is answered with %d", found.path, method, a.Status)}
	}
	responses, _ := operation["responses"].(map[string]any)
	status := fmt.Sprint(a.Status)
	if responses[status] == nil && refused {
		status = "default"
	}
	pointer := "/paths/" + strings.ReplaceAll(found.path, "/", "~1") + "/" + strings.ToLower(method) + "/responses/" + status
	response, _ := responses[status].(map[string]any)
	if response == nil {
		return []string{fmt.Sprintf("OpenAPI: %s %s has no response %d: %.300s", method, found.path, a.Status, a.Body)}
	}
	if ref, ok := response["$ref"].(string); ok {
		pointer = ref[1:]
		response = LookUp(c.document, pointer)
	}
	return c.bodyBreaches(method+" "+found.path, pointer, response, []any{operation["requestBody"], operation["x-writes"]}, a)
}

// codesOf returns the codes that the schemas of a body have, with which writes of what
// they describe can be refused.
func (c *contract) codesOf(value any, seen map[string]bool) (codes []any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			codes = append(codes, c.codesOf(item, seen)...)
		}
	case map[string]any:
		codes, _ = v["x-codes"].([]any)
		codes = slices.Clone(codes)
		if ref, ok := v["$ref"].(string); ok && !seen[ref] {
			seen[ref] = true
			codes = append(codes, c.codesOf(LookUp(c.document, ref[1:]), seen)...)
		}
		for name, member := range v {
			if name != "x-codes" {
				codes = append(codes, c.codesOf(member, seen)...)
			}
		}
	}
	return codes
}

// LookUp returns the object at a JSON Pointer in a document, nil if there is none.
func LookUp(document map[string]any, pointer string) map[string]any {
	for _, token := range strings.Split(pointer, "/")[1:] {
		document, _ = document[strings.ReplaceAll(token, "~1", "/")].(map[string]any)
	}
	return document
}

func (c *contract) bodyBreaches(operation, pointer string, response map[string]any, written []any, a *Answer) []string {
	content, _ := response["content"].(map[string]any)
	omitted := content == nil || a.Method == http.MethodHead || a.Header.Get("Preference-Applied") == "return=minimal"
	if len(a.Body) == 0 && omitted || content["*/*"] != nil {
		return nil
	}
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if content[media] == nil {
		return []string{fmt.Sprintf("OpenAPI: the response %d of %s has no content %q", a.Status, operation, media)}
	}
	var wrong []string
	if strings.HasSuffix(media, "json") {
		s, err := c.schema(pointer + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema")
		if err != nil {
			return []string{"OpenAPI: " + err.Error()}
		}
		if body := a.JSON(); depthOf(body) > maxJudgedDepth || hasFaults(body) {
			return nil
		} else if err := s.Validate(body); err != nil {
			wrong = append(wrong, fmt.Sprintf("OpenAPI: the response %d of %s is not what the document says: %#v", a.Status, operation, err))
		}
	}
	codes, listed := response["x-codes"].([]any)
	problem, _ := a.JSON().(map[string]any)
	messages, _ := problem["messages"].([]any)
	for _, m := range messages {
		code := m.(map[string]any)["code"]
		if listed && !slices.Contains(codes, code) && !slices.Contains(c.codesOf(written, map[string]bool{}), code) {
			wrong = append(wrong, fmt.Sprintf("OpenAPI: the response %d of %s lacks the code %s", a.Status, operation, code))
		}
	}
	return wrong
}

// hasFaults reports whether an object has faults that were tolerated, because an earlier
// schema allowed what the document excludes.
func hasFaults(body any) bool {
	object, _ := body.(map[string]any)
	warnings, _ := object["validationWarnings"].([]any)
	return slices.ContainsFunc(warnings, func(warning any) bool {
		code, _ := warning.(map[string]any)["code"].(string)
		return strings.HasPrefix(code, "error.")
	})
}

func (c *contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.compiled[pointer]; s != nil {
		return s, nil
	}
	s, err := c.compiler.Compile(documentURL + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	if err == nil {
		c.compiled[pointer] = s
	}
	return s, err
}

// judge fails the test if an answer is not as the document of the types says that
// were served when the request was sent.
func (s *Service) judge(types *schema.Registry, path string, a *Answer) {
	s.TB.Helper()
	if RaceDetector || !s.Judged || types != s.Engine.Registry() {
		return
	}
	c, err := s.ContractOf(types)
	if err != nil {
		return // the server is being stopped, or is full
	}
	for _, wrong := range c.Breaches(a.Method, path, a) {
		s.TB.Error(wrong)
	}
}

// maxJudgedDepth is how deep bodies are judged. The library's validation takes a time
// that doubles with each level where a schema applies itself twice, as those of
// schema-costs.txtar do; the service has a limit for that.
const maxJudgedDepth = 20

// depthOf returns how deep a value is nested.
func depthOf(value any) int {
	depth := 0
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			depth = max(depth, 1+depthOf(member))
		}
	case []any:
		for _, item := range v {
			depth = max(depth, 1+depthOf(item))
		}
	}
	return depth
}

// plainSchemas has the compiled plain schemas, by their texts.
var plainSchemas sync.Map

// PlainSchema returns the plain schema of a type that the service serves.
func (s *Service) PlainSchema(kind string) (*jsonschema.Schema, error) {
	response, err := http.Get(s.Server.URL + "/api/schemas/" + kind + "?form=plain")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the plain schema of %s: %d %s %w", kind, response.StatusCode, text.String(), err)
	}
	if known, ok := plainSchemas.Load(text.String()); ok {
		return known.(*jsonschema.Schema), nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.LoadURL = nil
	if err := compiler.AddResource("plain.json", &text); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile("plain.json")
	if err == nil {
		plainSchemas.Store(text.String(), compiled)
	}
	return compiled, err
}

// isHidden reports whether the public documents lack a type, or some of its properties.
func isHidden(t *schema.Type) bool { return t.Secluded() || len(t.Readable()) > 0 }

// JudgePlainly returns an error for a body that has created an object, or what was
// returned of it, if the plain schema of its type refuses that.
func (s *Service) JudgePlainly(path string, body []byte, a *Answer) error {
	below, isObject := strings.CutPrefix(path, "/api/v1/")
	kind, _, one := strings.Cut(below, "/")
	value, err := Decode(body)
	if _, is := value.(map[string]any); err != nil || !is || !isObject || !one || a.Status != http.StatusCreated || RaceDetector || depthOf(value) > maxJudgedDepth {
		return nil
	}
	if t, known := s.Marquee.Engine().Registry().Type(kind); known && isHidden(t) {
		return nil
	}
	compiled, err := s.PlainSchema(kind)
	if err != nil {
		return err
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("the plain schema of %s refuses what was sent: %#v", kind, err)
	}
	if returned := a.JSON(); len(a.Body) > 0 {
		if err := compiled.Validate(returned); err != nil {
			return fmt.Errorf("the plain schema of %s refuses what was returned: %#v", kind, err)
		}
	}
	return nil
}
