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
		"summary":     "Get " + article(t.Title),
		"description": "By its id.",
		"parameters":  []any{refTo("parameters", "fields"), refTo("parameters", "includeHidden"), refTo("parameters", "position")},
		"responses": b.responses(reading, object{
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
	parameters = append(parameters, refTo("parameters", "position"))
	c := listing
	if t.Parent != "" {
		c = listingBelow
	}
	with := []string{"Link", "Marquee-Position", "Warning"}
	responses := object{}
	if t.Public != nil { // of which callers without a token get entity tags
		with = append(with, "ETag")
		responses["304"] = refTo("responses", "NotModified")
	}
	responses["200"] = answer("A page of objects.", refTo("schemas", name+"Page"), with...)
	return object{"summary": "List " + strings.ToLower(plural(t.Title)), "description": "Those that meet all conditions.", "parameters": parameters,
		"responses": b.responses(c, responses)}
}

// orderBy returns the parameter with the properties that lists of a type can be ordered by.
func orderBy(t *schema.Type) object {
	var fields []any
	for _, name := range slices.Concat(sortable, t.Sort) {
		if _, err := t.SortField(name); err == nil && !slices.Contains(fields, any(name)) {
			fields = append(fields, name)
		}
	}
	return object{"name": "orderBy", "in": "query", "description": "Ties are ordered by id.",
		"schema": object{"type": "string", "enum": fields, "default": "createTime"}}
}

// sortable are the common fields that lists can be ordered by.
var sortable = []string{"createTime", "updateTime", "id", "network", "objectState", "createUser", "updateUser"}

// save describes the write of an object.
func (b *builder) save(t *schema.Type, name string) object {
	return object{
		"summary":     "Create or update " + article(t.Title),
		"description": "Absent properties do not change.",
		"parameters":  []any{refTo("parameters", "fieldValidation"), refTo("parameters", "validateOnly"), refTo("parameters", "prefer")},
		"requestBody": jsonBody(refTo("schemas", name+request.suffix())),
		"responses": b.responses(writing, object{
			"200": refTo("responses", name+responseSuffix),
			"201": refTo("responses", name+responseSuffix),
			"204": refTo("responses", "Minimal"),
		}),
	}
}

// patch describes the merge patch of an object.
func (b *builder) patch(t *schema.Type, name string) object {
	operation := b.save(t, name)
	operation["summary"] = "Change members of " + article(t.Title)
	operation["description"] = "A merge patch (RFC 7396)."
	body := jsonBody(refTo("schemas", name+mergePatch.suffix()))
	content := body["content"].(object)
	content["application/merge-patch+json"] = content["application/json"]
	operation["requestBody"] = body
	delete(operation["responses"].(object), "201")
	return operation
}

// erase describes the erasure of an object, which can be refused with the codes of the
// schema that x-writes names. It needs a permission of its own, so that
// whoever may write the type may not be allowed to erase.
func (b *builder) erase(t *schema.Type, name string) object {
	return object{
		"tags":        []any{t.Title},
		"summary":     "Erase " + article(t.Title),
		"description": "Removes personal values, also from the history. Requires MANAGE_SYSTEM.",
		"responses":   b.responses(writing, object{"200": refTo("responses", "Erased"), "202": refTo("responses", "Erased")}),
		"x-writes":    refTo("schemas", name+request.suffix()),
	}
}

// remove describes the removal of an object.
func (b *builder) remove(t *schema.Type) object {
	return object{
		"summary":     "Remove " + article(t.Title),
		"description": "Refused while other objects refer to it. Its history remains.",
		"parameters":  []any{refTo("parameters", "validateOnly")},
		"responses":   b.responses(removing, object{"204": object{"description": "The object was removed."}}),
	}
}

// saveAll describes the write of several objects.
func (b *builder) saveAll(t *schema.Type, name string) object {
	one := refTo("schemas", name+request.suffix())
	return object{
		"summary":     "Create or update " + strings.ToLower(plural(t.Title)),
		"description": "One or several, in one transaction.",
		"parameters": []any{refTo("parameters", "fieldValidation"), refTo("parameters", "validateOnly"),
			refTo("parameters", "ifMatchWrite"), refTo("parameters", "ifNoneMatchWrite"), refTo("parameters", "prefer"), refTo("parameters", "idempotencyKey")},
		"requestBody": jsonBody(object{"oneOf": []any{object{"type": "array", "items": one, "maxItems": maxObjects}, one}, "x-codes": codesOf(ofCollections)}),
		"responses": b.responses(writing, object{
			"200": answer("Objects, or their ids.", refTo("schemas", name+"Results"), "Location", "Warning"),
		}),
	}
}

// maxObjects is the maximum number of objects a request can write.
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
	out := object{"description": description, "content": object{"application/json": object{"schema": schema}}}
	if len(with) > 0 {
		out["headers"] = headers(with...)
	}
	return out
}

func headers(names ...string) object {
	out := object{}
	for _, name := range names {
		out[name] = refTo("headers", name)
	}
	return out
}

// addShared adds the responses that operations of all types share.
func (b *builder) addShared() {
	b.answers["NotModified"] = object{"description": "The object has the entity tag in If-None-Match.", "headers": headers("ETag")}
	b.answers["Minimal"] = object{"description": "The request was carried out; Prefer was return=minimal.",
		"headers": headers("ETag", "Warning", "Preference-Applied")}
}

// responses adds those of refused requests to the others.
func (b *builder) responses(c class, others object) object {
	all := maps.Clone(others)
	maps.Copy(all, b.refusals(c, camel(string(c)), nil))
	return all
}
