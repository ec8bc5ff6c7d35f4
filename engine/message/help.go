package message

import (
	"slices"
	"strings"
)

// helps explain each kind of error, and say what a client can do about one.
var helps = map[Kind]string{
	Malformed:            "The request cannot be read, or one of its parameters, headers or ids is invalid. Correct it: the same request will be refused again.",
	Unauthenticated:      "The access token is missing or is not valid. Refresh it, sign in again, or use another token.",
	Forbidden:            "The caller may not do this, or has no role in the network. Somebody who manages the network can grant a role that allows it.",
	NotFound:             "The path, the type or the object does not exist, or the caller may not see it. Check the path, the id and the parameter context.",
	MethodNotAllowed:     "The path exists, but does not support the method. The header Allow lists the methods that it supports.",
	TooSlow:              "The body arrived too slowly, and nothing was stored. Send it again over a faster connection, or in smaller parts.",
	Conflict:             "The request conflicts with another one or with the state of the service. The message describes the conflict; try again later.",
	PreconditionFailed:   "A condition in the headers of the request does not hold. Read the object again, and repeat the request with its current ETag if it still makes sense.",
	TooLarge:             "The request, or what it would change, exceeds a limit. Send it in smaller parts, or send a smaller object or file.",
	HeadersExceeded:      "The request line and the headers exceed a limit. Shorten the URL, or send fewer or shorter headers.",
	UnsupportedMediaType: "The media type or the encoding of the body is not supported here. Change Content-Type or Content-Encoding, or send a file of another type.",
	NotSatisfiable:       "The file does not have the bytes that the header Range asks for. Ask for a range within its size, or for the whole file.",
	Invalid:              "An object of the request is not valid, and nothing was stored. The parameter field is a JSON Pointer to the value; index is the position of the object in the request, if it has several. Correct the object, and send the request again.",
	TooManyRequests:      "Too much was requested in a short time, or is in progress. Wait as long as the header Retry-After says, and try again.",
	Internal:             "The service failed unexpectedly. Report the request id (header X-Request-Id) to the operator, who can find the cause in the log.",
	Unavailable:          "The service cannot answer at present. Wait as long as the header Retry-After says, or a few seconds if there is none, and try again.",
}

// typeHelps explain the types of messages that are not errors.
var typeHelps = map[string]string{
	TypeWarning:      "The request was accepted. A warning about an object is in its validationWarnings until the cause is removed; the parameter field, if there is one, is a JSON Pointer to the value. A warning about a request is in the header Warning of the response.",
	TypeAudit:        "An entry of the history (/api/v1/audit), or the cause of one. Nothing needs to be done.",
	TypeNotification: "A notification to the user who created an object (/api/v1/notifications). It is kept after its cause is removed.",
}

// Help returns the explanation of a kind of error, and what a client can do about it.
// It is "" for None.
func (k Kind) Help() string { return helps[k] }

// Help returns what a message of this definition means, and what a client can do about
// it.
func (d *Definition) Help() string {
	if d.Kind != None {
		return d.Kind.Help()
	}
	return typeHelps[d.Type]
}

// Placeholders returns the names of the parameters in the text, each once, in the order
// in which they appear.
func (d *Definition) Placeholders() (names []string) {
	for _, placeholder := range placeholderForm.FindAllString(d.Text, -1) {
		if name := strings.Trim(placeholder, "{}"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
