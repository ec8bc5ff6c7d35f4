package openapi

import (
	"maps"
	"slices"
	"strings"

	"marquee/engine/query"
	"marquee/engine/schema"
)

// get describes the read of an object.
func (b *builder) get(t *schema.Type, name string) object {
	return object{
		"summary":    "Get " + article(t.Title),
		"parameters": []any{refTo("parameters", "fields"), refTo("parameters", "includeHidden"), refTo("parameters", "ifMatchRead"), refTo("parameters", "ifNoneMatchRead")},
		"responses": b.responses(reading, t, object{
			"200": refTo("responses", name+responseSuffix),
			"304": refTo("responses", "NotModified"),
		}),
	}
}

// list describes the list of objects.
func (b *builder) list(t *schema.Type, name string) object {
	parameters := []any{refTo("parameters", "fields")}
	for _, parameter := range query.Parameters {
		switch {
		case parameter == "orderBy":
			parameters = append(parameters, orderBy(t))
		case parameter != "q" || len(t.Searched()) > 0:
			parameters = append(parameters, refTo("parameters", parameter))
		}
	}
	responses := b.responses(listing, t, object{"200": answer("A page of objects.", refTo("schemas", name+"Page"), "Link", "Warning")})
	if t.Parent != "" {
		responses["404"] = b.refusals(reading, t)["404"]
	}
	return object{"summary": "List " + strings.ToLower(plural(t.Title)), "parameters": parameters, "responses": responses}
}

// orderBy returns the parameter with the properties that lists of a type can be ordered by.
func orderBy(t *schema.Type) object {
	var fields []any
	for _, name := range slices.Concat(sortable, t.Sort) {
		if _, err := t.SortField(name); err == nil && !slices.Contains(fields, any(name)) {
			fields = append(fields, name)
		}
	}
	return object{"name": "orderBy", "in": "query", "description": "The property to order by, then by id.",
		"schema": object{"type": "string", "enum": fields, "default": "createTime"}}
}

// sortable are the common fields that lists can be ordered by.
var sortable = []string{"createTime", "updateTime", "id", "network", "objectState", "createUser", "updateUser"}

// save describes the write of an object.
func (b *builder) save(t *schema.Type, name string) object {
	return object{
		"summary": "Create or update " + article(t.Title),
		"parameters": []any{refTo("parameters", "fieldValidation"), refTo("parameters", "validateOnly"),
			refTo("parameters", "ifMatchWrite"), refTo("parameters", "ifNoneMatchWrite"), refTo("parameters", "prefer")},
		"requestBody": jsonBody(refTo("schemas", name+request.suffix())),
		"responses": b.responses(writing, t, object{
			"200": refTo("responses", name+responseSuffix),
			"201": refTo("responses", name+responseSuffix),
			"204": refTo("responses", "Minimal"),
		}),
		"x-permission": t.Permission,
	}
}

// patch describes the merge patch of an object.
func (b *builder) patch(t *schema.Type, name string) object {
	operation := b.save(t, name)
	operation["summary"] = "Change members of " + article(t.Title)
	operation["description"] = "Changes the members of a merge patch (RFC 7396) at every depth. The object must exist."
	body := jsonBody(refTo("schemas", name+mergePatch.suffix()))
	content := body["content"].(object)
	content["application/merge-patch+json"] = content["application/json"]
	operation["requestBody"] = body
	delete(operation["responses"].(object), "201")
	return operation
}

// saveAll describes the write of several objects.
func (b *builder) saveAll(t *schema.Type, name string) object {
	one := refTo("schemas", name+request.suffix())
	return object{
		"summary":     "Create or update " + strings.ToLower(plural(t.Title)),
		"description": "Writes one object or, in one transaction, all of an array.",
		"parameters": []any{refTo("parameters", "fieldValidation"), refTo("parameters", "validateOnly"),
			refTo("parameters", "ifMatchWrite"), refTo("parameters", "ifNoneMatchWrite"), refTo("parameters", "prefer")},
		"requestBody": jsonBody(object{"oneOf": []any{object{"type": "array", "items": one, "maxItems": maxObjects}, one}}),
		"responses": b.responses(writing, t, object{
			"200": answer("The objects, or their ids if Prefer was return=minimal.", refTo("schemas", name+"Results"), "Location", "Warning"),
		}),
		"x-permission": t.Permission,
	}
}

// maxObjects is how many objects a request can write.
const maxObjects = 1000

// article is a title in a sentence, with its indefinite article.
func article(title string) string {
	lower := strings.ToLower(title)
	if strings.ContainsAny(lower[:min(1, len(lower))], "aeio") {
		return "an " + lower
	}
	return "a " + lower
}

func jsonBody(schema object) object {
	return object{"required": true, "content": object{"application/json": object{"schema": schema}}}
}

// answer is a response with a JSON body.
func answer(description string, schema object, with ...string) object {
	return object{"description": description, "content": object{"application/json": object{"schema": schema}}, "headers": headers(with...)}
}

func headers(names ...string) object {
	out := object{}
	for _, name := range names {
		out[name] = refTo("headers", name)
	}
	return out
}

// addShared adds the responses that operations of all types share. Those of each class
// come first, so that they have its name.
func (b *builder) addShared() {
	for _, c := range classes {
		b.refusals(c, nil)
	}
	b.answers["NotModified"] = object{"description": "The object has the entity tag in If-None-Match.", "headers": headers("ETag")}
	b.answers["Minimal"] = object{"description": "The request was carried out; Prefer was return=minimal.",
		"headers": headers("ETag", "Warning", "Preference-Applied")}
	other := b.refusalOf("500", otherwise)
	other["description"] = "The request was refused for a reason that does not depend on what it asks for, or failed."
	other["headers"] = headers("Allow", "Retry-After", "RateLimit", "RateLimit-Policy")
	b.answers["Problem"] = other
}

// responses adds those of refused requests to the others.
func (b *builder) responses(c class, t *schema.Type, others object) object {
	all := maps.Clone(others)
	maps.Copy(all, b.refusals(c, t))
	return all
}
