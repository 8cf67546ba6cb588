package expr

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// Operator is a row of the table of operators.
type Operator struct {
	// Name with the dollar sign.
	Name string
	// Min and Max number of positional arguments; Max -1 is unbounded. Zero for
	// operators with named arguments.
	Min, Max int
	// Parse reads the operator's argument.
	Parse func(p *parser, op *Operator, arg bson.Value) (Expr, error)
	// Doc is the page of the manual.
	Doc string
}

// notImplemented is the parse function of operators that are known but refused.
func notImplemented(_ *parser, op *Operator, _ bson.Value) (Expr, error) {
	return nil, mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported", op.Name)
}

// Operators is the table of all expression operators, in alphabetical order.
var Operators = []Operator{
	{Name: "$abs", Min: 1, Max: 1, Parse: positional(abs), Doc: "reference/operator/aggregation/abs"},
	{Name: "$acos", Min: 1, Max: 1, Parse: positional(trig("$acos", math.Acos, decimal.Acos, withinOne, "[-1,1]")), Doc: "reference/operator/aggregation/acos"},
	{Name: "$acosh", Min: 1, Max: 1, Parse: positional(trig("$acosh", math.Acosh, decimal.Acosh, atLeastOne, "[1,inf]")), Doc: "reference/operator/aggregation/acosh"},
	{Name: "$add", Max: -1, Parse: positional(addAll), Doc: "reference/operator/aggregation/add"},
	{Name: "$allElementsTrue", Min: 1, Max: 1, Parse: positional(allElementsTrue), Doc: "reference/operator/aggregation/allElementsTrue"},
	{Name: "$and", Max: -1, Parse: parseJunction(false), Doc: "reference/operator/aggregation/and"},
	{Name: "$anyElementTrue", Min: 1, Max: 1, Parse: positional(anyElementTrue), Doc: "reference/operator/aggregation/anyElementTrue"},
	{Name: "$arrayElemAt", Min: 2, Max: 2, Parse: positional(elemAt), Doc: "reference/operator/aggregation/arrayElemAt"},
	{Name: "$arrayToObject", Min: 1, Max: 1, Parse: positional(arrayToObject), Doc: "reference/operator/aggregation/arrayToObject"},
	{Name: "$asin", Min: 1, Max: 1, Parse: positional(trig("$asin", math.Asin, decimal.Asin, withinOne, "[-1,1]")), Doc: "reference/operator/aggregation/asin"},
	{Name: "$asinh", Min: 1, Max: 1, Parse: positional(trig("$asinh", math.Asinh, decimal.Asinh, anything, "[-inf,inf]")), Doc: "reference/operator/aggregation/asinh"},
	{Name: "$atan", Min: 1, Max: 1, Parse: positional(trig("$atan", math.Atan, decimal.Atan, anything, "[-inf,inf]")), Doc: "reference/operator/aggregation/atan"},
	{Name: "$atan2", Min: 2, Max: 2, Parse: positional(atan2), Doc: "reference/operator/aggregation/atan2"},
	{Name: "$atanh", Min: 1, Max: 1, Parse: positional(trig("$atanh", math.Atanh, decimal.Atanh, withinOne, "[-1,1]")), Doc: "reference/operator/aggregation/atanh"},
	{Name: "$bitAnd", Max: -1, Parse: positional(bitwise("$bitAnd", -1, bitAnd)), Doc: "reference/operator/aggregation/bitAnd"},
	{Name: "$bitNot", Min: 1, Max: 1, Parse: positional(bitNot), Doc: "reference/operator/aggregation/bitNot"},
	{Name: "$bitOr", Max: -1, Parse: positional(bitwise("$bitOr", 0, bitOr)), Doc: "reference/operator/aggregation/bitOr"},
	{Name: "$bitXor", Max: -1, Parse: positional(bitwise("$bitXor", 0, bitXor)), Doc: "reference/operator/aggregation/bitXor"},
	{Name: "$ceil", Min: 1, Max: 1, Parse: positional(whole("$ceil", math.Ceil, decimal.Ceil)), Doc: "reference/operator/aggregation/ceil"},
	{Name: "$cmp", Min: 2, Max: 2, Parse: positional(compareValues), Doc: "reference/operator/aggregation/cmp"},
	{Name: "$concat", Max: -1, Parse: positional(concat), Doc: "reference/operator/aggregation/concat"},
	{Name: "$concatArrays", Max: -1, Parse: positional(concatArrays), Doc: "reference/operator/aggregation/concatArrays"},
	{Name: "$cond", Min: 3, Max: 3, Parse: parseCond, Doc: "reference/operator/aggregation/cond"},
	{Name: "$const", Parse: parseLiteral, Doc: "reference/operator/aggregation/literal"},
	{Name: "$convert", Parse: parseConvert, Doc: "reference/operator/aggregation/convert"},
	{Name: "$cos", Min: 1, Max: 1, Parse: positional(trig("$cos", math.Cos, decimal.Cos, finite, "(-inf,inf)")), Doc: "reference/operator/aggregation/cos"},
	{Name: "$cosh", Min: 1, Max: 1, Parse: positional(trig("$cosh", math.Cosh, decimal.Cosh, anything, "[-inf,inf]")), Doc: "reference/operator/aggregation/cosh"},
	{Name: "$degreesToRadians", Min: 1, Max: 1, Parse: positional(trig("$degreesToRadians", radians, decimal.DegreesToRadians, anything, "[-inf,inf]")), Doc: "reference/operator/aggregation/degreesToRadians"},
	{Name: "$divide", Min: 2, Max: 2, Parse: positional(divide), Doc: "reference/operator/aggregation/divide"},
	{Name: "$eq", Min: 2, Max: 2, Parse: positional(comparison(isEq)), Doc: "reference/operator/aggregation/eq"},
	{Name: "$exp", Min: 1, Max: 1, Parse: positional(analytic{op: "$exp", double: math.Exp, dec: decimal.Exp}.eval), Doc: "reference/operator/aggregation/exp"},
	{Name: "$filter", Parse: parseLoop(filterSignature), Doc: "reference/operator/aggregation/filter"},
	{Name: "$first", Min: 1, Max: 1, Parse: positional(first), Doc: "reference/operator/aggregation/first"},
	{Name: "$floor", Min: 1, Max: 1, Parse: positional(whole("$floor", math.Floor, decimal.FloorInt)), Doc: "reference/operator/aggregation/floor"},
	{Name: "$gt", Min: 2, Max: 2, Parse: positional(comparison(isGt)), Doc: "reference/operator/aggregation/gt"},
	{Name: "$gte", Min: 2, Max: 2, Parse: positional(comparison(isGte)), Doc: "reference/operator/aggregation/gte"},
	{Name: "$ifNull", Parse: parseIfNull, Doc: "reference/operator/aggregation/ifNull"},
	{Name: "$in", Min: 2, Max: 2, Parse: positional(in), Doc: "reference/operator/aggregation/in"},
	{Name: "$indexOfArray", Min: 2, Max: 4, Parse: positional(indexOfArray), Doc: "reference/operator/aggregation/indexOfArray"},
	{Name: "$indexOfBytes", Min: 2, Max: 4, Parse: positional(indexOfBytes), Doc: "reference/operator/aggregation/indexOfBytes"},
	{Name: "$indexOfCP", Min: 2, Max: 4, Parse: positional(indexOfCP), Doc: "reference/operator/aggregation/indexOfCP"},
	{Name: "$isArray", Min: 1, Max: 1, Parse: positional(isArray), Doc: "reference/operator/aggregation/isArray"},
	{Name: "$isNumber", Min: 1, Max: 1, Parse: positional(isNumber), Doc: "reference/operator/aggregation/isNumber"},
	{Name: "$last", Min: 1, Max: 1, Parse: positional(last), Doc: "reference/operator/aggregation/last"},
	{Name: "$let", Parse: parseLet, Doc: "reference/operator/aggregation/let"},
	{Name: "$literal", Parse: parseLiteral, Doc: "reference/operator/aggregation/literal"},
	{Name: "$ln", Min: 1, Max: 1, Parse: positional(analytic{"$ln", ln, decimal.Ln, positive, 28766, "$ln's argument must be a positive number, but is %s"}.eval), Doc: "reference/operator/aggregation/ln"},
	{Name: "$log", Min: 2, Max: 2, Parse: positional(logBase), Doc: "reference/operator/aggregation/log"},
	{Name: "$log10", Min: 1, Max: 1, Parse: positional(analytic{"$log10", log10, decimal.Log10, positive, 28761, "$log10's argument must be a positive number, but is %s"}.eval), Doc: "reference/operator/aggregation/log10"},
	{Name: "$lt", Min: 2, Max: 2, Parse: positional(comparison(isLt)), Doc: "reference/operator/aggregation/lt"},
	{Name: "$lte", Min: 2, Max: 2, Parse: positional(comparison(isLte)), Doc: "reference/operator/aggregation/lte"},
	{Name: "$ltrim", Parse: named(trimSignature, trim("$ltrim", true, false)), Doc: "reference/operator/aggregation/ltrim"},
	{Name: "$map", Parse: parseLoop(mapSignature), Doc: "reference/operator/aggregation/map"},
	{Name: "$mod", Min: 2, Max: 2, Parse: positional(mod), Doc: "reference/operator/aggregation/mod"},
	{Name: "$multiply", Max: -1, Parse: positional(multiplyAll), Doc: "reference/operator/aggregation/multiply"},
	{Name: "$ne", Min: 2, Max: 2, Parse: positional(comparison(isNe)), Doc: "reference/operator/aggregation/ne"},
	{Name: "$not", Min: 1, Max: 1, Parse: positional(not), Doc: "reference/operator/aggregation/not"},
	{Name: "$objectToArray", Min: 1, Max: 1, Parse: positional(objectToArray), Doc: "reference/operator/aggregation/objectToArray"},
	{Name: "$or", Max: -1, Parse: parseJunction(true), Doc: "reference/operator/aggregation/or"},
	{Name: "$pow", Min: 2, Max: 2, Parse: positional(pow), Doc: "reference/operator/aggregation/pow"},
	{Name: "$radiansToDegrees", Min: 1, Max: 1, Parse: positional(trig("$radiansToDegrees", degrees, decimal.RadiansToDegrees, anything, "[-inf,inf]")), Doc: "reference/operator/aggregation/radiansToDegrees"},
	{Name: "$range", Min: 2, Max: 3, Parse: positional(rangeArray), Doc: "reference/operator/aggregation/range"},
	{Name: "$reduce", Parse: parseReduce, Doc: "reference/operator/aggregation/reduce"},
	{Name: "$regexFind", Parse: parseRegex, Doc: "reference/operator/aggregation/regexFind"},
	{Name: "$regexFindAll", Parse: parseRegex, Doc: "reference/operator/aggregation/regexFindAll"},
	{Name: "$regexMatch", Parse: parseRegex, Doc: "reference/operator/aggregation/regexMatch"},
	{Name: "$replaceAll", Parse: named(replaceSignature, replace("$replaceAll", -1)), Doc: "reference/operator/aggregation/replaceAll"},
	{Name: "$replaceOne", Parse: named(replaceSignature, replace("$replaceOne", 1)), Doc: "reference/operator/aggregation/replaceOne"},
	{Name: "$reverseArray", Min: 1, Max: 1, Parse: positional(reverseArray), Doc: "reference/operator/aggregation/reverseArray"},
	{Name: "$round", Min: 1, Max: 2, Parse: positional(rounding("$round", math.RoundToEven, decimal.Round)), Doc: "reference/operator/aggregation/round"},
	{Name: "$rtrim", Parse: named(trimSignature, trim("$rtrim", false, true)), Doc: "reference/operator/aggregation/rtrim"},
	{Name: "$setDifference", Min: 2, Max: 2, Parse: positional(setDifference), Doc: "reference/operator/aggregation/setDifference"},
	{Name: "$setEquals", Max: -1, Parse: positional(setEquals), Doc: "reference/operator/aggregation/setEquals"},
	{Name: "$setIntersection", Max: -1, Parse: positional(setIntersection), Doc: "reference/operator/aggregation/setIntersection"},
	{Name: "$setIsSubset", Min: 2, Max: 2, Parse: positional(setIsSubset), Doc: "reference/operator/aggregation/setIsSubset"},
	{Name: "$setUnion", Max: -1, Parse: positional(setUnion), Doc: "reference/operator/aggregation/setUnion"},
	{Name: "$sigmoid", Parse: parseSigmoid, Doc: "reference/operator/aggregation/sigmoid"},
	{Name: "$sin", Min: 1, Max: 1, Parse: positional(trig("$sin", math.Sin, decimal.Sin, finite, "(-inf,inf)")), Doc: "reference/operator/aggregation/sin"},
	{Name: "$sinh", Min: 1, Max: 1, Parse: positional(trig("$sinh", math.Sinh, decimal.Sinh, anything, "[-inf,inf]")), Doc: "reference/operator/aggregation/sinh"},
	{Name: "$size", Min: 1, Max: 1, Parse: positional(size), Doc: "reference/operator/aggregation/size"},
	{Name: "$slice", Min: 2, Max: 3, Parse: positional(slice), Doc: "reference/operator/aggregation/slice"},
	{Name: "$sortArray", Parse: parseSortArray, Doc: "reference/operator/aggregation/sortArray"},
	{Name: "$split", Min: 2, Max: 2, Parse: positional(split), Doc: "reference/operator/aggregation/split"},
	{Name: "$sqrt", Min: 1, Max: 1, Parse: positional(analytic{"$sqrt", math.Sqrt, decimal.Sqrt, notNegative, 28714, "$sqrt's argument must be greater than or equal to 0, but is %s"}.eval), Doc: "reference/operator/aggregation/sqrt"},
	{Name: "$strLenBytes", Min: 1, Max: 1, Parse: positional(strLenBytes), Doc: "reference/operator/aggregation/strLenBytes"},
	{Name: "$strLenCP", Min: 1, Max: 1, Parse: positional(strLenCP), Doc: "reference/operator/aggregation/strLenCP"},
	{Name: "$strcasecmp", Min: 2, Max: 2, Parse: positional(strcasecmp), Doc: "reference/operator/aggregation/strcasecmp"},
	{Name: "$substr", Min: 3, Max: 3, Parse: positional(substrBytes), Doc: "reference/operator/aggregation/substr"},
	{Name: "$substrBytes", Min: 3, Max: 3, Parse: positional(substrBytes), Doc: "reference/operator/aggregation/substrBytes"},
	{Name: "$substrCP", Min: 3, Max: 3, Parse: positional(substrCP), Doc: "reference/operator/aggregation/substrCP"},
	{Name: "$subtract", Min: 2, Max: 2, Parse: positional(subtract), Doc: "reference/operator/aggregation/subtract"},
	{Name: "$switch", Parse: parseSwitch, Doc: "reference/operator/aggregation/switch"},
	{Name: "$tan", Min: 1, Max: 1, Parse: positional(trig("$tan", math.Tan, decimal.Tan, finite, "(-inf,inf)")), Doc: "reference/operator/aggregation/tan"},
	{Name: "$tanh", Min: 1, Max: 1, Parse: positional(trig("$tanh", math.Tanh, decimal.Tanh, anything, "[-inf,inf]")), Doc: "reference/operator/aggregation/tanh"},
	{Name: "$toBool", Parse: parseConvertTo(bson.TypeBool, -1, ""), Doc: "reference/operator/aggregation/toBool"},
	{Name: "$toDate", Parse: parseConvertTo(bson.TypeDateTime, -1, ""), Doc: "reference/operator/aggregation/toDate"},
	{Name: "$toDecimal", Parse: parseConvertTo(bson.TypeDecimal128, -1, ""), Doc: "reference/operator/aggregation/toDecimal"},
	{Name: "$toDouble", Parse: parseConvertTo(bson.TypeDouble, -1, ""), Doc: "reference/operator/aggregation/toDouble"},
	{Name: "$toInt", Parse: parseConvertTo(bson.TypeInt32, -1, ""), Doc: "reference/operator/aggregation/toInt"},
	{Name: "$toLong", Parse: parseConvertTo(bson.TypeInt64, -1, ""), Doc: "reference/operator/aggregation/toLong"},
	{Name: "$toLower", Min: 1, Max: 1, Parse: positional(toLower), Doc: "reference/operator/aggregation/toLower"},
	{Name: "$toObjectId", Parse: parseConvertTo(bson.TypeObjectID, -1, ""), Doc: "reference/operator/aggregation/toObjectId"},
	{Name: "$toString", Parse: parseConvertTo(bson.TypeString, -1, "auto"), Doc: "reference/operator/aggregation/toString"},
	{Name: "$toUUID", Parse: parseConvertTo(bson.TypeBinary, 4, "uuid"), Doc: "reference/operator/aggregation/toUUID"},
	{Name: "$toUpper", Min: 1, Max: 1, Parse: positional(toUpper), Doc: "reference/operator/aggregation/toUpper"},
	{Name: "$trim", Parse: named(trimSignature, trim("$trim", true, true)), Doc: "reference/operator/aggregation/trim"},
	{Name: "$trunc", Min: 1, Max: 2, Parse: positional(rounding("$trunc", math.Trunc, decimal.Trunc)), Doc: "reference/operator/aggregation/trunc"},
	{Name: "$type", Min: 1, Max: 1, Parse: positional(typeName), Doc: "reference/operator/aggregation/type"},
	{Name: "$zip", Parse: parseZip, Doc: "reference/operator/aggregation/zip"},
}
