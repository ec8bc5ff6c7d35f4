package access

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"marquee/engine/document"
	"marquee/engine/store"
)

// Version returns what identifies the state of a record in entity tags. It is the number
// of the version, unless hide, which may be nil, hides parts of the records of the type:
// the number would reveal how often these have changed. Then it is a hash of the rest, with
// the id and the time of creation, so that it is not that of another object.
func Version(caller *Caller, r *store.Record, hide func(*Caller, *store.Record) error) (string, error) {
	if hide == nil {
		return strconv.FormatInt(r.Version, 10), nil
	}
	shown := *r
	if err := hide(caller, &shown); err != nil {
		return "", err
	}
	object, err := document.DecodeObject(shown.Document, document.Limits{Depth: 1000})
	if err != nil {
		return "", err
	}
	text := append(document.Append(nil, []any{r.Network, r.ID, document.FormatTime(r.CreateTime), r.State}), document.Append(nil, object)...)
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:8]), nil
}
