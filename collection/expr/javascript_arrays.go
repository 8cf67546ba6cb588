package expr

// arraysSource is JavaScript that each new VM runs after preludeSource. It replaces methods of arrays whose library
// versions differ from those of MongoDB's engine or have no bound, and limits the size of typed arrays, which the
// library allocates in one step.
const arraysSource = `
(function(global) {
	"use strict";
	var max = 16 * 1024 * 1024, most = 1024 * 1024, A = Array.prototype;
	function define(o, name, f) { Object.defineProperty(o, name, {value: f, writable: true, configurable: true}); }

	// MongoDB's engine sorts by merging, and exchanges two values if the comparator's result is greater than 0.
	// So a comparator that returns a boolean sorts, too.
	function mergeSort(a, compare) {
		for (var n = a.length, b = new Array(n), width = 1; width < n; width *= 2) {
			for (var low = 0; low < n; low += 2 * width) {
				var mid = Math.min(low + width, n), high = Math.min(low + 2 * width, n), i = low, j = mid, k = low;
				while (i < mid && j < high) b[k++] = compare(a[i], a[j]) > 0 ? a[j++] : a[i++];
				while (i < mid) b[k++] = a[i++];
				while (j < high) b[k++] = a[j++];
			}
			var t = a;
			a = b;
			b = t;
		}
		return a;
	}
	function sorts(proto) {
		var native = proto.sort;
		define(proto, "sort", function sort(compare) {
			if (compare === undefined) return native.call(this);
			if (typeof compare !== "function") throw new TypeError("sort: the comparator is no function");
			var list = [], n = this.length, missing = 0, i;
			if (n > max) throw new RangeError("sort: array too large");
			for (i = 0; i < n; i++) {
				if (!(i in this)) continue;
				if (this[i] === undefined) missing++;
				else list.push(this[i]);
			}
			list = mergeSort(list, compare);
			for (i = 0; i < list.length; i++) this[i] = list[i];
			for (; missing > 0; missing--) this[i++] = undefined;
			for (; i < n; i++) delete this[i];
			return this;
		});
	}
	sorts(A);

	function append(out, x) { if (out.push(x) > max) throw new RangeError("flat: result too large"); }
	function flatten(out, a, depth) {
		for (var i = 0, n = a.length; i < n; i++) {
			if (!(i in a)) continue;
			if (depth >= 1 && Array.isArray(a[i])) flatten(out, a[i], depth - 1);
			else append(out, a[i]);
		}
		return out;
	}
	define(A, "flat", function flat(depth) { return flatten([], this, depth === undefined ? 1 : +depth); });
	define(A, "flatMap", function flatMap(f, self) {
		if (typeof f !== "function") throw new TypeError("flatMap: the argument is no function");
		for (var i = 0, n = this.length, out = []; i < n; i++) {
			if (!(i in this)) continue;
			var x = f.call(self, this[i], i, this);
			if (Array.isArray(x)) flatten(out, x, 0);
			else append(out, x);
		}
		return out;
	});

	// The values of an object that is no array, at most most.
	function listed(o) {
		var out = [];
		if (typeof o[Symbol.iterator] === "function") for (var x of o) limited(out.push(x));
		else for (var i = 0, n = limited(o.length >>> 0); i < n; i++) out.push(o[i]);
		return out;
	}
	function limited(n) {
		if (n > most) throw new RangeError("typed arrays and buffers have at most " + most + " elements");
		return n;
	}
	function bounded(name, proper) {
		var Native = global[name];
		function Bounded() {
			if (new.target === undefined) throw new TypeError(name + " requires new");
			var args = A.slice.call(arguments);
			if (args.length > 0) args[0] = proper(args[0]);
			return Reflect.construct(Native, args, new.target === Bounded ? Native : new.target);
		}
		Object.getOwnPropertyNames(Native).forEach(function(key) {
			Object.defineProperty(Bounded, key, Object.getOwnPropertyDescriptor(Native, key));
		});
		Object.setPrototypeOf(Bounded, Object.getPrototypeOf(Native));
		define(Native.prototype, "constructor", Bounded);
		define(global, name, Bounded);
	}
	sorts(Object.getPrototypeOf(Int8Array.prototype));
	bounded("ArrayBuffer", function(n) { return limited(+n); });
	["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array",
	 "Float64Array"].forEach(function(name) {
		bounded(name, function(x) {
			if (typeof x !== "object" || x === null) return limited(+x);
			if (x instanceof ArrayBuffer || ArrayBuffer.isView(x)) return x;
			if (!Array.isArray(x)) return listed(x);
			limited(x.length);
			return x;
		});
	});
	["getBigInt64", "getBigUint64", "setBigInt64", "setBigUint64"].forEach(function(name) { delete DataView.prototype[name]; });
})(this);
`
