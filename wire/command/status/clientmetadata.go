package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/operations"
)

// clientMetadataMax is the maximum length in bytes of the metadata of a client.
// Spec: mongodb-handshake (Limitations).
const clientMetadataMax = 512

// setClientMetadata checks and stores the client metadata in the first hello of a connection, with the names of the
// application and of the driver.
// Errors: TypeMismatch (14), ClientMetadataMissingField (183), ClientMetadataAppNameTooLarge (184),
// ClientMetadataDocumentTooLarge (185), ClientMetadataCannotBeMutated (186).
func setClientMetadata(c *command.Call, v bson.Value) error {
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return mongoerr.New(mongoerr.TypeMismatch, "The client metadata document must be a document")
	}
	if c.ConnState.Client.Load() != nil {
		return mongoerr.New(mongoerr.ClientMetadataCannotBeMutated, "The client metadata document may only be sent in the first hello")
	}
	if len(d) > clientMetadataMax {
		return mongoerr.New(mongoerr.ClientMetadataDocumentTooLarge,
			"The client metadata document must be less then or equal to %d bytes", clientMetadataMax)
	}
	// An empty document is accepted: since 7.6 Node's driver sends one if it cannot load a module, as in the
	// environments of Jest. mongod refuses it, which would only make such tests fail.
	if d.IsEmpty() {
		return nil
	}
	app := ""
	if v, ok := d.Lookup("application"); ok {
		sub, ok := v.Doc()
		if !ok {
			return mongoerr.New(mongoerr.TypeMismatch, "The 'application' field is required to be a BSON document in the client metadata document")
		}
		if n, ok := sub.Lookup("name"); ok {
			if app, ok = n.Str(); !ok {
				return mongoerr.New(mongoerr.TypeMismatch, "The 'application.name' field must be a string in the client metadata document")
			}
			if len(app) > command.AppNameMax {
				return mongoerr.New(mongoerr.ClientMetadataAppNameTooLarge,
					"The 'application.name' field in the client metadata document must be less then or equal to %d bytes", command.AppNameMax)
			}
		}
	}
	driver, err := metadataFields(d, "driver", "name", "version")
	if err != nil {
		return err
	}
	if _, err := metadataFields(d, "os", "type"); err != nil {
		return err
	}
	c.ConnState.AppName = app
	c.ConnState.Client.Store(&operations.Client{AppName: app, Driver: driver, Doc: d.Clone()})
	return nil
}

// metadataFields checks that a part of the client metadata, such as driver, has the required string fields, and
// returns the first of them.
func metadataFields(d bson.Raw, part string, names ...string) (first string, err error) {
	v, ok := d.Lookup(part)
	if !ok {
		return "", mongoerr.New(mongoerr.ClientMetadataMissingField, "Missing required sub-document '%s' in the client metadata document", part)
	}
	sub, ok := v.Doc()
	if !ok {
		return "", mongoerr.New(mongoerr.TypeMismatch, "The '%s' field is required to be a BSON document in the client metadata document", part)
	}
	for i, name := range names {
		v, ok := sub.Lookup(name)
		if !ok {
			return "", mongoerr.New(mongoerr.ClientMetadataMissingField, "Missing required field '%s.%s' in the client metadata document", part, name)
		}
		s, ok := v.Str()
		if !ok {
			return "", mongoerr.New(mongoerr.TypeMismatch, "The '%s.%s' field must be a string in the client metadata document", part, name)
		}
		if i == 0 {
			first = s
		}
	}
	return first, nil
}
