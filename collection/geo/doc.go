// Package geo is geometry as MongoDB sees it: GeoJSON objects and points of
// documents, the shapes of $geoWithin, $geoIntersects and $near, containment,
// intersection and distance.
//
//	stored value ── Stored ──► Geometry ◄── Covers, Meets, Distance ── Shape ◄── Parse… ── query
//
// There are two worlds. On the sphere edges are geodesics and distances are
// radians; GeoJSON lives there, with S2 underneath. In the plane distances are
// those of the coordinates; $box, $polygon and $center live there and know only
// points. A point belongs to both, if its coordinates are a longitude and a
// latitude.
//
// Glossary. Geometry: points, lines and polygons of one value. Shape: what a
// query compares with. Cap: a circle on the sphere. Ring: a closed line.
// Strict winding: a polygon whose inside is to the left of its only ring, which
// can be larger than half of the sphere.
//
// Source of the behaviour: Manual: reference/geojson,
// reference/operator/query-geospatial.
package geo
