//go:build !race

package service

// RaceDetector builds the program as the tests are built.
const RaceDetector = false
