package mongo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// A reader of the changes begins with the stored ones and continues with a
// change stream. The two meet at a horizon, a time before which every
// transaction has ended. Changes of transactions that began before the horizon
// are read from the collection, in the order of their ids, and skipped in the
// stream, which begins there. All others come from the stream, in commit order.
// The end of the changes is a position in the stream, without a horizon.
//
// The stream goes back as far as the oplog. A position that the oplog no longer has
// falls back to the stored changes, from the time before which every transaction had
// ended when the position was passed. The stream then follows from the time of the
// fallback. Changes that were committed meanwhile come from both, as nothing that is
// stored says which those are.
type position struct {
	horizon bson.Timestamp
	// repeats reports a fallback: all stored changes are read, and none is skipped in
	// the stream, which begins at the horizon.
	repeats bool
	// id is that of the last change read from the collection.
	id string
	// token is where the stream resumes; nil until it begins.
	token bson.Raw
}

// String returns the position in the form that clients keep.
func (p position) String() string {
	text := hexTime(p.horizon) + "."
	if p.repeats {
		text = repeating + text
	}
	if p.token == nil {
		text += p.id
	} else {
		text += "." + encodeToken(p.token)
	}
	return text
}

// of returns the position of a change, whose length depends only on the network: the token counts
// the changes of the transaction, which may have been those of several callers.
func (p position) of(network string, sharded bool) string {
	text, id := p.String(), base64.RawURLEncoding.EncodedLen(len(network))
	length := positionLength + id
	if sharded {
		length += shardKeyLength + id
	}
	return text + strings.Repeat(filling, max(0, length-len(text)))
}

const (
	// repeating is the prefix of positions after a fallback.
	repeating = "r"
	// positionLength is enough without the id of a network, for the tokens of MongoDB 8, too, which
	// are longer than those of MongoDB 6. On a sharded cluster, tokens also have the shard key.
	positionLength, shardKeyLength, filling = 212, 88, "~"
	// compact is the prefix of tokens that have nothing but their data, in hexadecimal digits.
	compact = "."
)

func encodeToken(token bson.Raw) string {
	text, _ := token.Lookup("_data").StringValueOK()
	data, err := hex.DecodeString(text)
	if err == nil && bytes.Equal(tokenOf(data), token) {
		return compact + base64.RawURLEncoding.EncodeToString(data)
	}
	return base64.RawURLEncoding.EncodeToString(token)
}

func decodeToken(text string) (token bson.Raw, ok bool) {
	text, short := strings.CutPrefix(text, compact)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if token = data; short {
		token = tokenOf(data)
	}
	return token, err == nil && token.Validate() == nil
}

func tokenOf(data []byte) bson.Raw {
	return bson.Raw(bsoncore.BuildDocument(nil, bsoncore.AppendStringElement(nil, "_data", strings.ToUpper(hex.EncodeToString(data)))))
}

func parsePosition(text string) (p position, ok bool) {
	text, p.repeats = strings.CutPrefix(strings.TrimRight(text, filling), repeating)
	at, rest, found := strings.Cut(text, ".")
	if p.horizon, ok = parseTime(at); !ok || !found || len(at) != timeDigits {
		return p, false
	}
	if encoded, streamed := strings.CutPrefix(rest, "."); streamed {
		p.token, ok = decodeToken(encoded)
		return p, ok
	}
	p.id = rest
	return p, true
}

// timeDigits is the length of a time in positions, and at the beginning of ids of changes.
const timeDigits = 16

// parseTime parses the time at the beginning of a text.
func parseTime(text string) (at bson.Timestamp, ok bool) {
	if len(text) < timeDigits {
		return at, false
	}
	seconds, err1 := strconv.ParseUint(text[:timeDigits/2], 16, 32)
	ordinal, err2 := strconv.ParseUint(text[timeDigits/2:timeDigits], 16, 32)
	return bson.Timestamp{T: uint32(seconds), I: uint32(ordinal)}, err1 == nil && err2 == nil
}

// within reports whether a change is before the horizon.
func (p position) within(id string) bool { return id <= hexTime(p.horizon) }

// Changes implements store.Store.
func (s *Store) Changes(ctx context.Context, after string, limit int, collections ...string) (changes []store.Change, next string, err error) {
	if ctx.Err() != nil {
		return nil, "", deadline(ctx)
	}
	if limit <= 0 {
		return nil, after, nil
	}
	err = s.inTerm(ctx, func(ctx context.Context) error {
		changes, next, err = s.changesAfter(ctx, after, limit, collections)
		return err
	})
	return changes, next, err
}

// inTerm runs a read without a view, which is cancelled when another primary is elected, and
// translates its error. It runs again after an error of no class; other errors are left to the
// caller, who asks again in any case.
func (s *Store) inTerm(ctx context.Context, read func(context.Context) error) error {
	for n := 0; ; n++ {
		term, done := s.leader.follow()
		within := during(ctx, term)
		again, err := s.translate(within, term, read(within))
		done()
		if again != unexplained || n == maxUnexplained || !pause(ctx, n, again) {
			return err
		}
	}
}

func (s *Store) changesAfter(ctx context.Context, after string, limit int, collections []string) ([]store.Change, string, error) {
	f := follower{s: s, limit: limit, collections: collections, begins: after == "", wait: store.EffortOf(ctx).Wait}
	if after == "" {
		session, now, err := s.present(ctx)
		if err != nil {
			return nil, "", err
		}
		session.EndSession(ctx)
		f.at.horizon = later(bson.Timestamp{T: max(now.at.T-horizonSeconds, s.created.T), I: s.created.I}, now.afterRemoved())
	} else {
		var ok bool
		if f.at, ok = parsePosition(after); !ok {
			return nil, "", badPosition(nil)
		}
	}
	err := f.read(ctx)
	if errors.Is(err, errForgotten) {
		if err = f.fallBack(ctx); err == nil {
			err = f.read(ctx)
		}
	}
	if errors.Is(err, errForgotten) { // the oplog is shorter than this call
		err = badPosition(nil)
	}
	if err == nil {
		err = f.rewritten(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	at := timeOf(f.at.token)
	s.leader.saw(&at) // as whoever has a change reads the object as it has become, after an election, too
	if len(f.found) == 0 && after == "" {
		return nil, after, nil // the position stays the beginning until something was written
	}
	return f.found, f.at.String(), nil
}

func badPosition(cause error) error {
	return &store.Error{Code: store.CodeBadPosition, Text: "the position does not come from this store, or is too old for MongoDB", Cause: cause}
}

// follower collects changes after a position.
type follower struct {
	s           *Store
	at          position
	limit       int
	collections []string // nil for all
	begins      bool     // with the oldest change that is kept
	found       []store.Change
	size        int // of what was found
	// wait is how long the stream waits for changes if there are none.
	wait time.Duration
	// inserted has, for the ids of changes that come from the stream, where they are in found, and
	// lastRewritten is the id of the last change that may have been rewritten since.
	inserted      map[string]int
	lastRewritten string
}

func (f *follower) take(c store.Change) {
	c.Position = f.at.of(c.Network, f.s.sharded)
	f.found = append(f.found, c)
	f.size += c.Size()
}

func (f *follower) full() bool { return len(f.found) >= f.limit || f.size >= store.MaxChangesBytes }

// read reads the changes after the position.
func (f *follower) read(ctx context.Context) error {
	if f.at.token == nil {
		if err := f.stored(ctx); err != nil {
			return err
		}
	}
	if f.full() {
		return nil
	}
	return f.streamed(ctx)
}

// errForgotten reports that the oplog no longer has the position.
var errForgotten = errors.New("mongo: the oplog no longer has the position")

// fallBack moves the position to the stored changes. What was found stays.
func (f *follower) fallBack(ctx context.Context) error {
	now, err := f.s.clusterTime(ctx)
	if err != nil {
		return err
	}
	to := position{horizon: now, repeats: true, id: f.at.id}
	if f.at.token != nil {
		to.id = startedBy(timeOf(f.at.token))
	} else if f.at.repeats {
		// Stored changes were passed while transactions that had begun before them went on.
		to.id = min(to.id, startedBy(f.at.horizon))
	}
	f.at = to
	return nil
}

// startedBy is an id before those of the changes of all transactions that end after a time.
func startedBy(at bson.Timestamp) string {
	if at.T <= horizonSeconds {
		return ""
	}
	return hexTime(bson.Timestamp{T: at.T - horizonSeconds, I: at.I})
}

// stored reads changes before the horizon.
func (f *follower) stored(ctx context.Context) error {
	from := f.at
	ids := bson.D{{Key: "$gt", Value: from.id}}
	if !from.repeats {
		ids = append(ids, bson.E{Key: "$lte", Value: hexTime(from.horizon)})
	}
	before, size := len(f.found), f.size
	err := f.s.Read(ctx, func(snapshot store.Snapshot) error {
		f.at, f.found, f.size = from, f.found[:before], size
		v := snapshot.(*view)
		v.latest = true
		if !f.begins || from.id != "" {
			if err := v.reaches(ctx, from.id); err != nil {
				return err
			}
		}
		filter := bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: record.KeyID, Value: ids}}
		if len(f.collections) > 0 {
			filter = append(filter, record.OfCollections("", f.collections))
		}
		return v.rows(ctx, changesCollection, filter, func(raw bson.Raw) error {
			c, err := record.Change(raw)
			if err == nil {
				f.at.id = c.Position
				f.take(c)
				if f.full() {
					return errFull
				}
			}
			return err
		}, options.Find().SetHint(plan.OwnIndex+"feed").SetSort(bson.D{{Key: record.KeyID, Value: 1}}).SetLimit(int64(f.limit-before)))
	})
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}

// errFull ends a read of stored changes when enough have been found.
var errFull = errors.New("mongo: enough has been read")

// pass moves the position on in the stream.
func (f *follower) pass(token bson.Raw) {
	f.at.token = token
	if at := timeOf(token); f.at.repeats || at.T > f.at.horizon.T+horizonSeconds { // nothing from before the horizon follows
		f.at = position{token: token}
	}
}

// End implements store.Store.
func (s *Store) End(ctx context.Context) (at string, err error) {
	err = s.inTerm(ctx, func(ctx context.Context) error {
		at, err = s.end(ctx)
		return err
	})
	return at, err
}

func (s *Store) end(ctx context.Context) (string, error) {
	session, now, err := s.present(ctx)
	if err != nil {
		return "", err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	// A stream without events returns how far it has read.
	none := mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "none"}}}}}
	opts := options.ChangeStream().SetMaxAwaitTime(patience).SetStartAtOperationTime(&now.at)
	stream, err := s.db.Collection(changesCollection).Watch(mongo.NewSessionContext(ctx, session), none, opts)
	if err != nil {
		return "", err
	}
	defer closeStream(ctx, session, stream)
	token := stream.ResumeToken()
	if token == nil {
		return "", &store.Error{Code: store.CodeUnavailable, Text: "MongoDB does not return the end of the changes"}
	}
	at := later(now.at, timeOf(token))
	s.leader.saw(&at) // as reads that begin later must see what is before it, after an election, too
	return position{token: token}.String(), nil
}

// failed recognises errors of the stream that concern the position. The server has many codes
// for a token that it does not know, or no longer knows.
func (f *follower) failed(err error) error {
	if err == nil {
		return nil
	}
	if hasCode(err, 286) || f.at.token != nil && hasCode(err, 280) {
		return errForgotten
	}
	if f.at.token != nil && hasCode(err, 2, 9, 14, 15, 260, 40415, 40647, 40649, 50811) {
		return badPosition(scrub(err))
	}
	return err
}

// reaches reports whether a token is at a time or after it. Tokens are opaque
// except for the beginning, which orders them: the type of the first value (82
// is a time) and that time. A token that begins otherwise counts as reaching
// it.
func reaches(token bson.Raw, at bson.Timestamp) bool {
	reached := timeOf(token)
	return reached.IsZero() || !reached.Before(at)
}

// timeOf returns the time at the beginning of a token, 0 for a token that begins otherwise.
func timeOf(token bson.Raw) bson.Timestamp {
	data, _ := token.Lookup("_data").StringValueOK()
	if len(data) < 18 || !strings.HasPrefix(data, "82") {
		return bson.Timestamp{}
	}
	n, _ := strconv.ParseUint(data[2:18], 16, 64)
	return bson.Timestamp{T: uint32(n >> 32), I: uint32(n)} // #nosec G115 -- the two halves
}
