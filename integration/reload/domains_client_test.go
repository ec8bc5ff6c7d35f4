package reload

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"marquee/engine/schema/diff"
	"marquee/integration/service"
)

// client sends the requests of the client of the first day, and reads the answers with its
// schemas. What fails is in the comparison with the first day.
func (d *domain) client(n int) {
	d.Helper()
	now := d.Engine.Registry()
	found, lacking := diff.Sets(d.first, now), map[string]bool{}
	for _, request := range d.requests {
		request = strings.ReplaceAll(request, "{{n}}", fmt.Sprint(n))
		head, body, _ := strings.Cut(request, "\n")
		method, path, _ := strings.Cut(head, " ")
		kind, _, _ := strings.Cut(strings.Split(path, "/")[3], "?")
		if lacking[path] {
			continue // the object could not be created
		}
		a := d.Ask(d.token, method, path, body, nil)
		if a.Status > 299 {
			d.excused++
			lacking[path] = method == http.MethodPost
			if !slices.ContainsFunc(words.FindAllString(request, -1), func(name string) bool { return concerns(found, d.first, now, diff.Request, kind, name) }) {
				d.Errorf("after change %d, of which the comparison says nothing, the client of the first day sends\n%s\nand gets %d %s\n%s", n, request, a.Status, a.Body, lines(found))
			}
			continue
		}
		misread := false
		for _, property := range d.misread(kind, a) {
			misread = true
			if !concerns(found, d.first, now, diff.Response, kind, property) {
				d.Errorf("after change %d, of which the comparison says nothing, the client of the first day sends\n%s\nand does not understand %q of %s\n%s", n, request, property, a.Body, lines(found))
			}
		}
		if misread {
			d.excused++
		} else {
			d.held++
		}
	}
}

var words = regexp.MustCompile(`\w+`)

// misread returns the properties of an answer that differ from the schema of the first day.
func (d *domain) misread(kind string, a *service.Answer) (properties []string) {
	d.Helper()
	body, _ := a.JSON().(map[string]any)
	objects := []any{body}
	if list, is := body["results"].([]any); is {
		objects = list
	}
	for _, object := range objects {
		if len(a.Body) == 0 {
			continue
		}
		err := d.plain[kind].Validate(object)
		wrong, is := err.(*jsonschema.ValidationError)
		if err != nil && !is {
			d.Fatal(err)
		}
		for _, fault := range leaves(wrong) {
			name, _, _ := strings.Cut(strings.TrimPrefix(fault.InstanceLocation, "/"), "/")
			if name != "" {
				properties = append(properties, name)
				continue
			}
			for _, missing := range quoted.FindAllStringSubmatch(fault.Message, -1) {
				properties = append(properties, missing[1])
			}
		}
	}
	return properties
}

// quoted is a name in a message of the validation, such as of a missing property.
var quoted = regexp.MustCompile(`'([^']+)'`)

// leaves returns the faults without the ones that consist of others.
func leaves(fault *jsonschema.ValidationError) (all []*jsonschema.ValidationError) {
	if fault == nil {
		return nil
	}
	if len(fault.Causes) == 0 {
		return []*jsonschema.ValidationError{fault}
	}
	for _, cause := range fault.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}
