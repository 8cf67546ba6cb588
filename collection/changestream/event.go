package changestream

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// eventBuilder builds event documents in memory that it reuses.
type eventBuilder struct {
	bson.Builder
	buf []byte
}

// keepBytesMax bounds the memory that a builder keeps between events.
const keepBytesMax = 1 << 20

func (b *eventBuilder) begin() {
	if cap(b.buf) > keepBytesMax {
		b.buf = nil
	}
	b.Reset(b.buf[:0])
}

func (b *eventBuilder) end() bson.Raw {
	b.buf = b.Finish()
	return bson.Raw(b.buf)
}

// event makes the next event of a record that was taken from the log, and the resume token of that event; nil if the
// record has no more events for this stream. The event is valid until the next call. Errors: NoMatchingDocument (47),
// NamespaceNotFound (26), changelog.ErrFormat, errors of Source.Lookup.
func (s *Stream) event(env *mql.Env, it *item) (bson.Raw, Token, error) {
	t := s.token(Token{Time: it.ts, Ordinal: uint32(it.ordinal)})
	s.time = it.own
	if it.cmd != nil {
		if s.tooEarly() {
			return nil, t, nil
		}
		t.Sub = it.sub
		it.sub++
		return s.commandEvent(it, t)
	}
	rec, err := changelog.Decode(it.rec)
	if err != nil {
		return nil, t, err
	}
	if rec.Multi {
		s.time = it.ts
	}
	if rec.Op == changelog.Delete && s.spec.Latest || s.tooEarly() {
		return nil, t, nil
	}
	if f := s.src.ImagesSince; f != nil && rec.Wall != 0 && rec.Wall < f() {
		rec.Pre = nil
		if rec.Op == changelog.Update {
			rec.Doc = nil
		}
	}
	doc, err := s.documentEvent(env, it.entry, &rec, t)
	return doc, t, err
}

// tooEarly reports whether the event to be made is before StartAt, a time that may lie between two records of one
// commit.
func (s *Stream) tooEarly() bool { return s.spec.HasStartAt && s.time < s.spec.StartAt }

// head begins an event with the fields that events of all kinds have; uuid, the collection's or nil, is shown only
// with Described. Manual: reference/change-events/create#example.
func (s *Stream) head(t Token, operation string, uuid []byte, rec *changelog.Record) *eventBuilder {
	b := &s.out
	b.begin()
	if e := s.expect; e != nil && e.Fragment > 0 && e.compare(t) == 0 {
		t.Fragment = e.Fragment // see FragmentOf
	}
	t.Append(&b.Builder, "_id")
	b.String("operationType", operation)
	b.Timestamp("clusterTime", s.time.Seconds(), s.time.Increment())
	if s.spec.Described && uuid != nil {
		b.Binary("collectionUUID", 4, uuid)
	}
	wall := rec.Wall
	if wall == 0 {
		wall = int64(s.time.Seconds()) * 1000
	}
	b.DateTime("wallTime", wall)
	if rec.Multi {
		b.Int64("txnNumber", rec.TxnNumber)
		b.BeginDoc("lsid")
		b.Binary("id", 4, rec.Session[:])
		b.Binary("uid", 0, rec.Owner[:])
		b.End()
	}
	return b
}

// operations holds the operationType of document events.
var operations = [...]string{changelog.Insert: "insert", changelog.Update: "update", changelog.Replace: "replace", changelog.Delete: "delete"}

// documentEvent makes the event of a changed document.
// Manual: reference/change-events/insert, …/update, …/replace, …/delete.
func (s *Stream) documentEvent(env *mql.Env, e *entry, rec *changelog.Record, t Token) (bson.Raw, error) {
	if s.spec.Latest {
		var err error
		if rec.Doc, err = s.src.Lookup(env, e.uuid, rec); err != nil || rec.Doc == nil || s.versions.wasDelivered(rec.Position, rec.ID, rec.Doc) {
			return nil, err
		}
	}
	b := s.head(t, operations[rec.Op], e.uuid[:], rec)
	if err := s.fullDocument(env, e, rec, t); err != nil {
		return nil, err
	}
	appendNamespace(b, "ns", e.ns)
	b.BeginDoc("documentKey")
	appendDocumentKey(b, e, rec)
	b.End()
	if rec.Op == changelog.Update {
		s.describeUpdate(rec.Delta)
	}
	if err := s.before(rec, t); err != nil {
		return nil, err
	}
	return b.end(), nil
}

// describeUpdate appends the changes of an update to an event, with RawUpdates as they stand in the oplog.
// Manual: reference/change-events/update.
func (s *Stream) describeUpdate(delta bson.Raw) {
	b := &s.out
	if s.spec.RawUpdates {
		b.BeginDoc("rawUpdateDescription")
		b.Int32("$v", 2)
		b.Raw("diff", diff(delta))
		b.End()
		return
	}
	b.BeginDoc("updateDescription")
	for it := delta.Iter(); it.Next(); {
		if string(it.Name) != "disambiguatedPaths" {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	if s.spec.Described {
		d, _ := delta.Get("disambiguatedPaths").Doc()
		if d == nil {
			d = bson.Empty
		}
		b.Raw("disambiguatedPaths", d)
	}
	b.End()
}

// fullDocument appends the field fullDocument to an event: with Latest the present version, else the new document of
// an insert or replacement, for an update, by the stream's mode, the post-image, the present version, null, or nothing,
// and for a delete nothing.
func (s *Stream) fullDocument(env *mql.Env, e *entry, rec *changelog.Record, t Token) error {
	b := &s.out
	switch {
	case s.spec.Latest, rec.Op == changelog.Insert, rec.Op == changelog.Replace: // with Latest it is the present version
		b.Raw("fullDocument", rec.Doc)
		return nil
	case rec.Op == changelog.Delete:
		return nil
	}
	doc := rec.Doc
	switch s.spec.FullDocument {
	case FullDefault:
		return nil
	case FullLookup:
		var err error
		if doc, err = s.src.Lookup(env, e.uuid, rec); err != nil {
			return err
		}
	case FullRequired:
		if doc == nil {
			return mongoerr.New(mongoerr.NoMatchingDocument, "Change stream was configured to require a post-image for all update events, "+
				"but the post-image was not found for event: %s", t.Document())
		}
	}
	if doc == nil {
		b.Null("fullDocument")
	} else {
		b.Raw("fullDocument", doc)
	}
	return nil
}

// before appends the document as it was before the change, null if it is not recorded; nothing for an insert, or if the
// spec does not request it. Errors: NoMatchingDocument if the spec requires it and it is not recorded.
func (s *Stream) before(rec *changelog.Record, t Token) error {
	if s.spec.Before == BeforeOff || rec.Op == changelog.Insert {
		return nil
	}
	switch {
	case rec.Pre != nil:
		s.out.Raw("fullDocumentBeforeChange", rec.Pre)
	case s.spec.Before == BeforeRequired:
		return mongoerr.New(mongoerr.NoMatchingDocument, "Change stream was configured to require a pre-image for all update, delete and replace events, "+
			"but the pre-image was not found for event: %s", t.Document())
	default:
		s.out.Null("fullDocumentBeforeChange")
	}
	return nil
}

// appendDocumentKey appends _id and shard key of the changed document.
func appendDocumentKey(b *eventBuilder, e *entry, rec *changelog.Record) {
	if rec.Op != changelog.Insert {
		b.Splice(rec.Key.Elements())
		return
	}
	e.key.AppendDocumentKey(&b.Builder, rec.Doc)
}

func appendNamespace(b *eventBuilder, name string, ns collection.Namespace) {
	b.BeginDoc(name)
	b.String("db", ns.DB)
	if ns.Coll != "" {
		b.String("coll", ns.Coll)
	}
	b.End()
}
