// Package geo implements MongoDB's geometry: GeoJSON objects and points of documents, the shapes of
// $geoWithin, $geoIntersects and $near, containment, intersection and distance.
//
//	stored value ── Stored ──► Geometry ◄── Covers, Meets, Distance ── Shape ◄── Parse… ── query
//
// There are two geometries. On the sphere, edges are geodesics and distances are in radians or metres; GeoJSON,
// $centerSphere and $nearSphere use it, implemented by S2. In the plane, distances are those of the coordinates;
// $box, $polygon, $center and $near with a legacy pair use it and support only points. A point can be used in both if
// its coordinates are a longitude and a latitude.
//
// Glossary. Geometry: points, lines and polygons of one value. Shape: the geometry of a query. Cap: a
// circle on the sphere. Ring: a closed line. Strict winding: a polygon whose inside is to the left of
// its only ring, which can be larger than half of the sphere.
//
// Source of the behaviour: Manual: reference/geojson, reference/operator/query-geospatial.
package geo
