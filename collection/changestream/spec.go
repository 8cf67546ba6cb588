package changestream

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
)

// FullDocument selects the fullDocument of update events.
type FullDocument uint8

// The modes of fullDocument. Manual: reference/operator/aggregation/changeStream.
const (
	FullDefault       FullDocument = iota // none
	FullLookup                            // updateLookup: the document at the time of reading the event
	FullWhenAvailable                     // the post-image, or null
	FullRequired                          // the post-image, or an error
)

// Before selects the fullDocumentBeforeChange of events.
type Before uint8

// The modes of fullDocumentBeforeChange.
const (
	BeforeOff           Before = iota
	BeforeWhenAvailable        // the pre-image, or null
	BeforeRequired             // the pre-image, or an error
)

// Spec is the argument of $changeStream.
type Spec struct {
	FullDocument FullDocument
	Before       Before
	Cluster      bool // allChangesForCluster
	Expanded     bool // showExpandedEvents
	// Described adds collectionUUID, disambiguatedPaths and operationDescription to the events.
	Described bool
	// Kinds adds nsType to the events of create.
	Kinds bool
	// RawUpdates is showRawUpdateDescription: updates are described as in the oplog.
	RawUpdates bool
	System     bool // showSystemEvents
	// Resume is the token after which to continue; nil = not given. StartAfter means that it was given as
	// startAfter, which may name the event that ended a stream.
	Resume     *Token
	StartAfter bool
	// StartAt is startAtOperationTime: the first time to deliver.
	StartAt    storage.Timestamp
	HasStartAt bool
	// Latest delivers only the latest versions of existing documents, like the change feed of Azure
	// Cosmos DB: no deletes, and of several changes of a document between two polls only the last
	// version. After a drop or rename of the collection the stream fails with NamespaceNotFound.
	// Source: Azure Cosmos DB for MongoDB, "change-streams".
	Latest bool
	// Filter is the condition at the head of the pipeline; nil = none that the stream can evaluate.
	Filter *Filter

	oldest bool // begin with the oldest record: see Oplog
}

// ParseSpec parses the argument of $changeStream, for a client of release r. Manual: reference/operator/aggregation/changeStream. Errors:
// TypeMismatch (14), BadValue (2), IDLUnknownField (40415), IDLDuplicateField (40413), Location50865, Location40674,
// InvalidResumeToken (260), errors of ParseToken.
func ParseSpec(d bson.Raw, r release.Release) (*Spec, error) {
	s := &Spec{Described: r.Has(release.DescribedEvents), Kinds: r.Has(release.CreatedKind)}
	var resume, start bson.Raw
	seen := map[string]bool{}
	for name, v := range d.Fields() {
		n := string(name)
		if seen[n] {
			return nil, mongoerr.RepeatedField("$changeStream." + n)
		}
		seen[n] = true
		var err error
		switch n {
		case "fullDocument":
			err = enum(v, n, []string{"default", "updateLookup", "whenAvailable", "required"}, func(i int) { s.FullDocument = FullDocument(i) })
		case "fullDocumentBeforeChange":
			err = enum(v, n, []string{"off", "whenAvailable", "required"}, func(i int) { s.Before = Before(i) })
		case "allChangesForCluster":
			s.Cluster, err = boolean(v, n)
		case "showExpandedEvents":
			s.Expanded, err = boolean(v, n)
			s.Described = s.Described || s.Expanded
		case "showSystemEvents":
			s.System, err = boolean(v, n)
		case "showMigrationEvents", "allowToRunOnConfigDB", "allowToRunOnSystemNS",
			"matchCollectionUUIDForUpdateLookup", "ignoreRemovedShards":
			_, err = boolean(v, n)
		case "showRawUpdateDescription":
			s.RawUpdates, err = boolean(v, n)
		case "version": // of the reader that a mongos chooses
			err = enum(v, n, []string{"v1", "v2"}, func(int) {})
		case "resumeAfter":
			resume, err = object(v, n)
		case "startAfter":
			start, err = object(v, n)
		case "startAtOperationTime":
			if v.IsNullish() {
				break
			}
			t, i, ok := v.Timestamp()
			if !ok {
				return nil, wrongType(n, v, "timestamp")
			}
			s.StartAt, s.HasStartAt = storage.MakeTimestamp(t, i), true
		default:
			err = mongoerr.UnknownField("$changeStream." + n)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, s.resume(resume, start)
}

// resume sets Resume and StartAfter by the tokens of resumeAfter (after) and startAfter (start), and checks that the
// options for the beginning are consistent.
func (s *Spec) resume(after, start bson.Raw) error {
	if after != nil && start != nil {
		return mongoerr.New(50865, "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage")
	}
	token := after
	if s.StartAfter = start != nil; s.StartAfter {
		token = start
	}
	if token == nil {
		return nil
	}
	t, err := ParseToken(token)
	if err != nil {
		return err
	}
	if s.HasStartAt {
		return mongoerr.New(40674, "Only one type of resume option is allowed, but multiple were found.")
	}
	if t.Invalidate && !s.StartAfter {
		return mongoerr.New(mongoerr.InvalidResumeToken, "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.")
	}
	s.Resume = &t
	return nil
}

func wrongType(name string, v bson.Value, want string) error {
	return mongoerr.WrongType("$changeStream."+name, v.Type.String(), want)
}

func boolean(v bson.Value, name string) (bool, error) {
	yes, ok := v.Boolean()
	if !ok {
		return false, wrongType(name, v, "bool")
	}
	return yes, nil
}

func object(v bson.Value, name string) (bson.Raw, error) {
	if v.IsNullish() {
		return nil, nil
	}
	if v.Type != bson.TypeDocument {
		return nil, wrongType(name, v, "object")
	}
	d, _ := v.Doc()
	return d, nil
}

// enum finds a string among the names of a mode.
func enum(v bson.Value, name string, values []string, set func(int)) error {
	if v.IsNullish() {
		return nil
	}
	if v.Type != bson.TypeString {
		return wrongType(name, v, "string")
	}
	s, _ := v.Str()
	for i, x := range values {
		if x == s {
			set(i)
			return nil
		}
	}
	return mongoerr.BadEnum("$changeStream."+name, s)
}
