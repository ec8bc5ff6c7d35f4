package openapi

import (
	"maps"
	"strings"
)

// twin is the member of an operation that names another method of its path that does
// the same, such as put for a post. A get without the member has the twin head.
const twin = "x-twin"

// finish removes the names of twins from the operations of a document, and adds the twins
// if all are wanted.
func finish(whole object, all bool) {
	for _, value := range whole["paths"].(object) {
		item := value.(object)
		for method, value := range maps.Clone(item) {
			operation, is := value.(object)
			if !is {
				continue // parameters
			}
			other, given := operation[twin].(string)
			if !given && method == "get" {
				other = "head"
			}
			delete(operation, twin)
			if all && other != "" {
				item[strings.ToLower(other)] = twinOf(operation, strings.ToLower(other))
			}
		}
	}
}

// twinOf returns the operation of another method that does the same as one.
func twinOf(operation object, method string) object {
	out := maps.Clone(operation)
	id := operation["operationId"].(string)
	out["operationId"] = method + strings.ToUpper(id[:1]) + id[1:]
	if method != "head" {
		return out
	}
	out["summary"] = "Headers: " + operation["summary"].(string)
	responses := object{}
	for status, value := range operation["responses"].(object) {
		response := maps.Clone(value.(object))
		delete(response, "content")
		responses[status] = response
	}
	out["responses"] = responses
	return out
}

// locate makes the paths of a document on its own server absolute, if the URL of the
// server is known.
func locate(whole object, server string) {
	if server == "" {
		whole["servers"] = []any{object{"url": "/"}}
		return
	}
	whole["servers"] = []any{object{"url": server}}
	absolute := func(o object) {
		for _, name := range []string{"url", "tokenUrl", "refreshUrl"} {
			if at, is := o[name].(string); is && strings.HasPrefix(at, "/") {
				o[name] = server + at
			}
		}
	}
	eachObject(whole["tags"], absolute)
	eachObject(whole["components"].(object)["securitySchemes"], absolute)
}
