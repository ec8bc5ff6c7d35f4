package read

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// A position in the history counts the changes of all callers and networks. Cursors with one
// are encrypted, so that they do not show how much others write.

// CursorKeys is the collection of the key that encrypts cursors, which the servers of a store
// share. It is there in plain text: whoever reads the store finds what it protects beside it.
var CursorKeys = store.Collection{Name: "engine_cursor_keys"}

// cursorKeyBytes is the length of the key, and cursorBlock that of which the length of an encrypted
// position is a multiple: otherwise, it would show the number of digits.
const cursorKeyBytes, cursorBlock = 32, 128

// OpenCursors reads the key that encrypts cursors, and creates it if the store has none. It
// must return before there is a page of a history or of notifications.
func (e *Reader) OpenCursors(ctx context.Context) error {
	var stored struct {
		Key []byte `json:"key"`
	}
	err := e.Store.Write(ctx, func(tx store.Tx) error {
		stored.Key = nil
		was, err := store.ReadOne(ctx, tx, CursorKeys.Name, store.Key{ID: "1"}, &stored)
		if err != nil || stored.Key != nil {
			return err
		}
		stored.Key = make([]byte, cursorKeyBytes)
		rand.Read(stored.Key)
		return store.PutInternal(ctx, tx, CursorKeys.Name, was, "ACTIVE", stored, e.Now())
	})
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(stored.Key)
	if err != nil {
		return err
	}
	e.cursors, err = cipher.NewGCM(block)
	return err
}

// EndCursors makes the cursors of a store that nobody serves invalid, and the positions of its
// changes. Those that were made before the store was replaced by an older one lead elsewhere
// in it once there have been as many changes.
func EndCursors(ctx context.Context, s store.Store) error {
	if err := s.EnsureCollections(ctx, []store.Collection{CursorKeys}); err != nil {
		return err
	}
	return s.Write(ctx, func(tx store.Tx) error {
		return store.Drop(ctx, tx, CursorKeys.Name, []store.Key{{ID: "1"}})
	})
}

// sealCursor returns the cursor of a position that openCursor accepts with the same mark, which
// names the list, its parameters and the caller. The length of the plain text is a multiple of a block.
func (e *Reader) sealCursor(mark string, at *query.Position, page, block int) string {
	text := document.Append(nil, map[string]any{"k": at.Key, "i": at.ID, "p": int64(page)})
	for len(text)%block != 0 {
		text = append(text, ' ')
	}
	nonce := make([]byte, e.cursors.NonceSize())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(e.cursors.Seal(nonce, nonce, text, []byte(mark)))
}

// openCursor decrypts a cursor. One that was not made for the mark is an error.
func (e *Reader) openCursor(text, mark string) (cursor, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	// The decoder ignores line breaks and bits of the last character.
	exact := err == nil && base64.RawURLEncoding.EncodeToString(sealed) == text
	if size := e.cursors.NonceSize(); exact && len(sealed) > size {
		if plain, err := e.cursors.Open(nil, sealed[:size], sealed[size:], []byte(mark)); err == nil {
			if members, err := document.DecodeObject(plain, document.Limits{Depth: 2}); err == nil {
				return cursorOf(members)
			}
		}
	}
	return cursor{}, message.CursorInvalid.Error(message.Params{"parameter": "cursor"})
}
