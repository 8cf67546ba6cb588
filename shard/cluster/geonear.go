package cluster

import (
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// withGeoKey sets the field of a leading $geoNear from the geospatial
// indexes of the collection, and evaluates its arguments with the variables of env; other pipelines are returned unchanged.
// Manual: reference/operator/aggregation/geoNear#behavior.
//
// Errors: NamespaceNotFound, IndexNotFound for none or several candidates,
// NoQueryExecutionPlans for an index that cannot answer the point.
func withGeoKey(env *mql.Env, coll *catalog.Collection, p *agg.Pipeline) (*agg.Pipeline, error) {
	p, err := p.WithNear(env)
	if err != nil {
		return nil, err
	}
	g, ok := p.GeoNear()
	if !ok {
		return p, nil
	}
	if coll == nil {
		return nil, mongoerr.NoNamespace(p.NS.String())
	}
	flat, sphere := geoFields(coll)
	if g.Key != "" {
		flat, sphere = only(flat, g.Key), only(sphere, g.Key)
	}
	fields := sphere
	if len(flat) > 0 && (g.Key == "" || !g.Spherical && !g.GeoJSON) {
		fields = flat
	}
	switch {
	case len(flat)+len(sphere) == 0 && g.Key == "":
		return nil, mongoerr.New(mongoerr.IndexNotFound, "unable to find index for $geoNear query")
	case len(fields) > 1:
		return nil, mongoerr.New(mongoerr.IndexNotFound, "There is more than one geospatial index on %s; unsure which to use for $geoNear", p.NS)
	case len(flat)+len(sphere) == 0, len(sphere) == 0 && g.GeoJSON, len(flat) == 0 && !g.Spherical && !g.GeoJSON:
		return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, "error processing query: unable to find index for $geoNear query")
	}
	return p.WithGeoKey(fields[0]), nil
}

// geoFields lists the fields with a 2d and with a 2dsphere index.
func geoFields(coll *catalog.Collection) (flat, sphere []string) {
	for _, ix := range coll.Indexes {
		if ix.Hidden || ix.State != catalog.IndexReady {
			continue
		}
		for _, part := range ix.Parts {
			switch part.Plugin {
			case "2d":
				flat = append(flat, part.Name)
			case "2dsphere":
				sphere = append(sphere, part.Name)
			}
		}
	}
	return flat, sphere
}

// only returns the field if it is among fields.
func only(fields []string, field string) []string {
	for _, f := range fields {
		if f == field {
			return []string{f}
		}
	}
	return nil
}
