package keyword

import "strconv"

// x-resource makes a schema a type. The loader compiles it itself.
var _ = Declare(Keyword{
	Name:        "x-resource",
	Meta:        `{"$ref": "#/$defs/resource"}`,
	Conditional: true, Parts: eachConditional,
	Definitions: `{"uniqueness": {
		"description": "Properties whose values are unique together, among the objects that match when.",
		"type": "object",
		"required": ["properties"],
		"additionalProperties": false,
		"properties": {
			"properties": {
				"type": "array",
				"items": {"type": "string", "minLength": 1},
				"minItems": 1,
				"maxItems": 8,
				"uniqueItems": true,
				"description": "The properties. An object that lacks one of them is not compared."
			},
			"when": {
				"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"$ref": "#/$defs/condition"}],
				"description": "What a stored object must match to be compared. It names the properties that it reads, and has no $ref.",
				"examples": [{"properties": {"returned": {"const": false}}, "required": ["returned"]}]
			}
		}
	},
	"paths": {
		"anyOf": [
			{"type": "string", "pattern": "^[^.\\s]+(\\.[^.\\s]+)*$"},
			{
				"type": "array",
				"items": {"type": "string", "pattern": "^[^.\\s]+(\\.[^.\\s]+)*$"},
				"minItems": 1,
				"uniqueItems": true
			}
		]
	},
	"resource": {
		"description": "Makes the schema a resource type of the service.",
		"type": "object",
		"required": ["path"],
		"additionalProperties": false,
		"properties": {
			"path": {
				"type": "string",
				"pattern": "^[a-z0-9]+$",
				"maxLength": 64,
				"description": "The name of the type: /api/v1/<path>."
			},
			"was": {
				"type": ["string", "array"],
				"pattern": "^[a-z0-9]+$",
				"maxLength": 64,
				"items": {"type": "string", "pattern": "^[a-z0-9]+$", "maxLength": 64},
				"minItems": 1,
				"maxItems": 10,
				"uniqueItems": true,
				"description": "The former path of the type, or all of them, the first one first. Objects stay stored under that one, and requests can use each.",
				"examples": ["wards", ["rooms", "wards"]]
			},
			"scope": {
				"enum": ["network", "global"],
				"default": "network",
				"description": "Whether objects belong to a network, and context is needed, or to the whole service."
			},
			"id": {
				"enum": ["generated", "required"],
				"default": "generated",
				"description": "Whether a missing id is made or refused."
			},
			"idProperty": {
				"type": "string",
				"minLength": 1,
				"not": {
					"enum": [
						"id", "objectState", "createTime", "createUser", "updateTime", "updateUser", "network",
						"validationWarnings", "url"
					]
				},
				"description": "A property that is another name of id. Not to be declared in properties."
			},
			"methods": {
				"type": "array",
				"items": {"enum": ["GET", "HEAD", "POST", "PUT", "DELETE"]},
				"minItems": 1,
				"uniqueItems": true,
				"default": ["GET", "HEAD", "POST", "PUT"],
				"description": "The methods that the type supports. PATCH of an object is supported where PUT is. DELETE removes an object to which no other refers."
			},
			"permission": {
				"type": "string",
				"description": "The permission that a role must hold to write objects of the type, as write in permissions. Without both, the default permission of the application is required.",
				"examples": ["MANAGE_WARDS"]
			},
			"permissions": {
				"type": "object",
				"minProperties": 1,
				"additionalProperties": false,
				"properties": {
					"read": {"$ref": "#/$defs/permission", "description": "The permission to see objects. Without it, any role shows them; who lacks it is answered as if there were no such type."},
					"write": {"$ref": "#/$defs/permission", "description": "The permission to write objects; without it, the default permission of the application."},
					"create": {"$ref": "#/$defs/permission", "description": "The permission to create objects; without it, that to write them."}
				},
				"description": "The permissions that a role must hold. A name consists of capitals, digits and _, and is declared by its use.",
				"examples": [{"write": "MANAGE_WARDS", "create": "OPEN_WARDS"}]
			},
			"label": {
				"type": "string",
				"minLength": 1,
				"default": "name",
				"description": "The property that is shown as name in references."
			},
			"search": {
				"type": "array",
				"items": {"type": "string", "minLength": 1},
				"uniqueItems": true,
				"description": "The properties whose words the parameter q finds."
			},
			"sort": {
				"type": "array",
				"items": {"type": "string", "minLength": 1},
				"uniqueItems": true,
				"description": "The properties that lists can be ordered by, besides the common fields."
			},
			"columns": {
				"type": "array",
				"items": {"type": "string", "minLength": 1},
				"minItems": 1,
				"maxItems": 30,
				"uniqueItems": true,
				"description": "The columns of lists in the console: properties at the top level and common fields."
			},
			"index": {
				"type": "array",
				"uniqueItems": true,
				"items": {
					"anyOf": [
						{"type": "string", "minLength": 1},
						{
							"type": "array",
							"items": {"type": "string", "minLength": 1},
							"minItems": 2,
							"maxItems": 2,
							"uniqueItems": true
						}
					]
				},
				"description": "Properties with an index; two names are an index that filters by the first and orders by the second. Every x-ref has one anyway.",
				"examples": [["name", ["order", "name"]]]
			},
			"unique": {
				"type": "array",
				"items": {
					"anyOf": [
						{"type": "string", "minLength": 1},
						{"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 2, "maxItems": 8, "uniqueItems": true},
						{"$ref": "#/$defs/uniqueness"}
					]
				},
				"maxItems": 100,
				"uniqueItems": true,
				"description": "Properties whose value is unique in the network; in the service, for a global type. Of an array of names, the values are unique together.",
				"examples": [["barcode", ["hall", "seat"]]]
			},
			"uniqueForm": {
				"type": "object",
				"additionalProperties": {"enum": ["UsernameCaseMapped"]},
				"description": "The form in which values of a unique property are compared, too: the profile UsernameCaseMapped of RFC 8265. A value is kept as it was written. One that is changed must conform, and be unique in its form; those that were stored before stay as they are.",
				"examples": [{"username": "UsernameCaseMapped"}]
			},
			"team": {
				"description": "The path to the team that an object belongs to, or to the object that teams refer to and that it belongs to; of several paths, the first that is set counts. A path ends at a reference to teams, or to a type that teams refer to; id is the object itself. Without it, all see the objects.",
				"$ref": "#/$defs/paths",
				"examples": ["team", ["team", "parent.team"]]
			},
			"owner": {
				"description": "The path to the user to whom an object belongs; of several paths, the first that is set counts. A path ends at a reference to users; id is the user with the id of the object. Roles of scope OWN show what belongs to the caller.",
				"$ref": "#/$defs/paths",
				"examples": ["user", ["user", "customer.user"]]
			},
			"public": {
				"type": "object",
				"additionalProperties": false,
				"properties": {
					"when": {
						"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"$ref": "#/$defs/condition"}],
						"description": "What a stored object must match. It names the properties that it reads, and has no $ref. Without it, anybody can read every object of the type."
					}
				},
				"description": "Lets anybody read the objects that match when, without a token: one by its id, lists and counts. Objects that are HIDDEN are not public.",
				"examples": [{"when": {"properties": {"state": {"const": "ON_SALE"}}, "required": ["state"]}}]
			},
			"group": {
				"type": "string",
				"minLength": 1,
				"maxLength": 64,
				"description": "A heading for documentation."
			},
			"page": {
				"type": "boolean",
				"default": true,
				"description": "false: list answers carry page and pageSize only if the request has one of them."
			},
			"accepts": {
				"type": "array",
				"maxItems": 100,
				"items": {
					"type": "object",
					"required": ["rule", "at", "reason"],
					"additionalProperties": false,
					"properties": {
						"rule": {"type": "string", "minLength": 1},
						"at": {"type": "string", "pattern": "^(/.*)?$"},
						"reason": {"type": "string", "minLength": 1}
					}
				},
				"description": "Intended differences from the previous version, which marquee schema diff prints as accepted: the rule of the difference, the JSON Pointer of its place or of one around it, and the reason. That another type is removed is accepted at its name: /wards.",
				"examples": [[{"rule": "property-removed", "at": "/properties/fax", "reason": "nobody has one"}]]
			},
			"paths": {
				"type": "array",
				"items": { "type": "string", "pattern": "^[a-z0-9]{1,64}$" },
				"description": "Fixed paths below the type: no object can have one of them as its id."
			},
			"parent": {
				"type": "string",
				"minLength": 1,
				"description": "A reference, x-immutable and required, whose id precedes that of the object in its path: /api/v1/<path>/<parent>/<id>."
			}
		}
	}}`,
})

// eachConditional calls visit for each part of x-resource that can have a condition: the
// entries of unique, and public.
func eachConditional(value any, visit func(at string, part map[string]any)) {
	resource, _ := value.(map[string]any)
	unique, _ := resource["unique"].([]any)
	for i, entry := range unique {
		if members, ok := entry.(map[string]any); ok {
			visit("/unique/"+strconv.Itoa(i), members)
		}
	}
	if members, ok := resource["public"].(map[string]any); ok {
		visit("/public", members)
	}
}
