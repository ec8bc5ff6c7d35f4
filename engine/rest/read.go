package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/read"
	"marquee/engine/rest/header"
	"marquee/engine/schema"
)

func (o *objects) get() error {
	if err := o.parameters.onlyRead(o.caller, "fields", "includeHidden", "position"); err != nil {
		return err
	}
	// Hidden objects are returned by id in any case, but the value is checked.
	if _, err := o.parameters.Boolean("includeHidden"); err != nil {
		return err
	}
	network, err := o.Network(o.t)
	if err != nil {
		return err
	}
	projection, err := o.projection(o.s.Engine.Seen(o.caller, o.t, network))
	if err != nil {
		return err
	}
	position, err := o.position(network, o.id)
	if err != nil {
		return err
	}
	if position != "" {
		o.Header().Set(positionHeader, position)
	}
	object, err := o.s.Engine.Get(o.followed(position), o.caller, o.t, network, o.id, projection)
	if err != nil {
		return err
	}
	if object.Path != read.Path(o.t, network, o.parent, o.id) {
		return message.ObjectNotFound.Error(message.Params{"type": o.t.Name, "id": o.id})
	}
	etag := object.ETag()
	if err := checkMatch(o.c.Request.Header, etag, o.id); err != nil {
		return err
	}
	return sendTagged(o.c, o.caller, etag, object.JSON)
}

// sendTagged sends JSON with its entity tag, unless the client has it already. Shared
// caches must not keep it, unless it is for everybody.
func sendTagged(c *gin.Context, caller *engine.Caller, etag string, body ...[]byte) error {
	cacheControl(c.Writer.Header(), caller)
	c.Header("ETag", etag)
	if tags, given := header.List(c.Request.Header, "If-None-Match"); given && header.NotModified(tags, etag) {
		c.Header("ETag", header.Held(tags, etag))
		return empty(c, http.StatusNotModified)
	}
	write(c, http.StatusOK, jsonType, body...)
	return nil
}

func (o *objects) projection(seen *schema.Type) (engine.Projection, error) {
	text, given := o.parameters["fields"]
	if !given {
		return nil, nil
	}
	projection, err := read.ParseProjection(seen, text)
	if err == nil {
		err = checkPublic(o.caller, seen, projection)
	}
	return projection, err
}

func (o *objects) list() error {
	if err := o.parameters.onlyRead(o.caller, append([]string{"fields", "position"}, query.Parameters...)...); err != nil {
		return err
	}
	network, err := o.Network(o.t)
	if err != nil {
		return err
	}
	seen := o.s.Engine.Seen(o.caller, o.t, network)
	projection, err := o.projection(seen)
	if err != nil {
		return err
	}
	fields := &publicFields{Fields: o.s.Engine.Fields(seen), t: seen, anonymous: o.caller.Anonymous}
	list, err := query.ParseList(o.parameters, fields, o.caller.User, o.s.Engine.Now())
	if err != nil {
		return err
	}
	if err := o.narrow(&list); err != nil {
		return err
	}
	if o.t.Parent != "" {
		if err := o.checkParent(network); err != nil {
			return err
		}
		above, err := o.t.Field("", o.t.Parent)
		if err != nil {
			return err
		}
		list.Below(above, o.parent)
	}
	o.Spend(list.PageSize)
	position, err := o.position(network, "")
	if err != nil {
		return err
	}
	page, err := o.s.Engine.List(o.followed(position), o.caller, seen, network, engine.Listing{List: list, Projection: projection,
		Withheld: fields.withheld(o.parameters), Followed: position != ""})
	if errors.Is(err, read.ErrOvertaken) {
		path, parent := o.t.Served().Name, o.t.Parent
		if o.t, err = o.s.Engine.Type(o.t.Name); err == nil {
			err = mustKnow(o.s.Engine.Access, o.caller, o.t, path, o.parameters["context"])
		}
		if err == nil && o.t.Parent != parent { // for which the path of the request was read
			err = message.PathUnknown.Error(nil)
		}
		if err != nil {
			return err
		}
		return o.list()
	}
	if err == nil && position != "" {
		if position, err = o.s.Engine.Noted(o.caller, o.t.NetworkOf(network), position, page.Doubt); err == nil {
			o.Header().Set(positionHeader, position)
			o.parameters["position"] = position // of the link to the next page
		}
	}
	if err != nil {
		return err
	}
	return o.Page(page)
}

// narrow restricts a list of a global type to the network that the parameter context
// names, if objects of the type belong to networks in some way.
func (o *objects) narrow(list *query.List) error {
	within := o.s.Engine.Access.Within(o.caller, o.t, o.parameters["context"])
	if !o.t.Global || within == nil {
		return nil
	}
	network, err := contextNetwork(o.Context(), o.s.Engine.Store, o.caller, o.parameters["context"])
	if err == nil && network != "" {
		list.Narrow(within, network)
	}
	return err
}

func listHistory(r *Call) error {
	if err := r.parameters.Only("type", "id", "page", "pageSize", "cursor", "count"); err != nil {
		return err
	}
	network, err := r.Network(nil)
	if err != nil {
		return err
	}
	page := engine.HistoryPage{Network: network}
	if name, given := r.parameters["type"]; given {
		if name == "" {
			return message.ParameterInvalid.Error(message.Params{"parameter": "type", "expected": "a type"})
		}
		if page.Type, err = r.typeNamed(name); err != nil {
			return err
		}
	}
	if id, given := r.parameters["id"]; given {
		if page.Type == nil {
			return message.ParameterMissing.Error(message.Params{"parameter": "type"})
		}
		if err := checkID(page.Type, id); err != nil {
			return err
		}
		page.ID = id
	}
	if page.Paging, err = query.ParsePaging(r.parameters); err != nil {
		return err
	}
	r.Spend(page.PageSize)
	listed, err := r.s.Engine.History(r.Context(), r.caller, page)
	if err != nil {
		return err
	}
	return r.Page(listed)
}

// truncatedWarning is the Warning header (code 299, persistent) of a truncated page.
const truncatedWarning = `299 marquee "the page ends early, as its answer would be larger than 8 MiB"`

// Page sends a page of a list, and counts its objects. Shared caches must not keep it, unless
// it is for everybody; such a page has an entity tag.
func (r *Call) Page(page engine.Page) error {
	r.Spend(page.Items)
	if page.Truncated {
		r.Header().Add("Warning", truncatedWarning)
	}
	if page.Next != "" {
		r.LinkNext("cursor", page.Next)
	}
	if !anonymous(r.caller) {
		cacheControl(r.Header(), r.caller)
		write(r.c, http.StatusOK, jsonType, page.Body...)
		return nil
	}
	digest := sha256.New()
	for _, part := range page.Body {
		digest.Write(part)
	}
	return sendTagged(r.c, r.caller, `"`+hex.EncodeToString(digest.Sum(nil)[:16])+`"`, page.Body...)
}

// maxLink is the maximum number of bytes a link to the next page can have: proxies refuse responses
// whose headers are much larger.
const maxLink = 2048

// LinkNext adds a link to the next page (RFC 8288), which the parameter page or cursor
// names, without the token of the request.
func (r *Call) LinkNext(parameter, value string) {
	query := url.Values{parameter: {value}}
	for name, value := range r.parameters {
		if name != "auth_token" && name != "page" && name != "cursor" {
			query.Set(name, value)
		}
	}
	if link := "<" + r.c.Request.URL.EscapedPath() + "?" + query.Encode() + `>; rel="next"`; len(link) <= maxLink {
		r.Header().Add("Link", link)
	}
}

// listNotifications sends the notifications of the caller in a network.
func listNotifications(r *Call) error {
	if err := r.parameters.Only("page", "pageSize", "cursor", "count"); err != nil {
		return err
	}
	network, err := r.Network(nil)
	if err != nil {
		return err
	}
	paging, err := query.ParsePaging(r.parameters)
	if err != nil {
		return err
	}
	r.Spend(paging.PageSize)
	page, err := r.s.Engine.Notifications(r.Context(), r.caller, network, paging)
	if err != nil {
		return err
	}
	return r.Page(page)
}

// listDefinitions sends the messages of what the caller knows: types, and properties that the
// caller reads in some network.
func listDefinitions(r *Call) error {
	if err := r.parameters.Only(); err != nil {
		return err
	}
	access := r.s.Engine.Access
	readsNowhere := func(t *schema.Type, permission string) bool {
		for network := range r.caller.Grants {
			if access.MayReadProperty(r.caller, t, network, permission) {
				return false
			}
		}
		return !r.caller.System
	}
	known := r.s.Engine.Registry().Without(func(t *schema.Type) bool { return !access.Knows(r.caller, t, "") }, readsNowhere)
	all := known.Catalogue().All()
	body, err := json.Marshal(map[string]any{"results": all, "totalCount": len(all)})
	if err != nil {
		return err
	}
	return sendTagged(r.c, r.caller, fmt.Sprintf(`"%x"`, sha256.Sum256(body)), body)
}
