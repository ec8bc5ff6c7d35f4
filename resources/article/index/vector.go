package index

import "math"

// vector has length 1, or is zero.
type vector []float32

// newVector returns the direction of an embedding.
func newVector(embedding []float64) vector {
	var square float64
	for _, x := range embedding {
		square += x * x
	}
	unit := make(vector, len(embedding))
	if square > 0 {
		for i, x := range embedding {
			unit[i] = float32(x / math.Sqrt(square))
		}
	}
	return unit
}

// dotProduct returns the product of two vectors of one dimension, with an error of at
// most maxError. Searches spend their time in it: four independent sums run in parallel.
func dotProduct(a, b vector) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0]*b[0] + a[4]*b[4]
		s1 += a[1]*b[1] + a[5]*b[5]
		s2 += a[2]*b[2] + a[6]*b[6]
		s3 += a[3]*b[3] + a[7]*b[7]
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// maxError returns the maximum error of dotProduct for a dimension, as each addition
// rounds a sum of at most 1.
func maxError(dimension int) float64 { return float64(dimension+8) / (1 << 23) }

// cosine returns the exact score of two vectors.
func cosine(a, b vector) float64 {
	var product, squareA, squareB float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		product += x * y
		squareA += x * x
		squareB += y * y
	}
	if product <= 0 {
		return 0
	}
	return rounded(product / (math.Sqrt(squareA) * math.Sqrt(squareB)))
}
