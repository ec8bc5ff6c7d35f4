package read

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"

	"marquee/engine/access"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Object is a rendered object.
type Object struct {
	// JSON is the response body.
	JSON []byte
	// Version is access.Version of the object.
	Version string
	ID      string
	// Path is the relative GET path.
	Path string
}

// ETag returns the strong entity tag: the version, and a hash of the rendered object.
func (o *Object) ETag() string {
	digest := sha256.Sum256(o.JSON)
	return `"` + o.Version + "-" + hex.EncodeToString(digest[:8]) + `"`
}

// Get renders one object. An object that does not exist or is not visible is an error
// of kind NotFound.
func (e *Reader) Get(ctx context.Context, caller *access.Caller, t *schema.Type, network, id string, projection Projection) (*Object, error) {
	var found *Object
	err := e.snapshot(ctx, func(s store.Snapshot) error {
		return e.look(ctx, s, caller, network, projection, func(v *view) error {
			found = nil // as this may run again
			visible, err := v.visible(ctx, s, t, network)
			if err != nil {
				return err
			}
			var record *store.Record
			err = access.GetVisible(ctx, s, store.Place{Collection: t.Name, Network: t.NetworkOf(network)}, []string{id}, visible, func(r *store.Record) error {
				record = r.Clone()
				return nil
			})
			if err != nil {
				return err
			}
			if record == nil {
				return message.ObjectNotFound.Error(message.Params{"type": t.Name, "id": id})
			}
			found, err = e.render(ctx, s, v, t, record)
			return err
		})
	})
	return found, store.Translate(err)
}

func (e *Reader) render(ctx context.Context, s store.Snapshot, v *view, t *schema.Type, r *store.Record) (*Object, error) {
	if err := v.completeTogether(ctx, s, t, []*store.Record{r}, true); err != nil {
		return nil, err
	}
	body, err := v.append(make([]byte, 0, len(r.Document)+1024), t, r)
	if err != nil {
		return nil, err
	}
	return v.object(t, r, body)
}

// object is a rendered record.
func (v *view) object(t *schema.Type, r *store.Record, body []byte) (*Object, error) {
	version, err := access.Version(v.caller, r, v.hide(t))
	return &Object{JSON: body, Version: version, ID: r.ID, Path: pathOf(t, r)}, err
}

func pathOf(t *schema.Type, r *store.Record) string {
	return Path(t, r.Network, document.MemberText(r.Document, t.Parent), r.ID)
}

// Path returns the relative GET path of an object. Parent is the id of its parent, for
// a type that has one.
func Path(t *schema.Type, network, parent, id string) string {
	if t.Parent != "" {
		parent = url.PathEscape(parent) + "/"
	} else {
		parent = ""
	}
	path := "/api/v1/" + t.Served().Name + "/" + parent + url.PathEscape(id)
	if t.Global {
		return path
	}
	return path + "?context=" + url.QueryEscape(network)
}
